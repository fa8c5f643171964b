"""The load of brokers: what producers write to moving partitions, and what the brokers carry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from kafkabal.clusters import Capability, InFlight
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import UnreachableError
from kafkabal.executor.observe import cluster_load
from kafkabal.executor.observe.cluster_load import (
    SAMPLE_S,
    ClusterLoad,
    incoming_bytes_per_s,
    load_between,
    measure_load,
    take_sample,
)
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, topic

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))


def _state(rates: list[float], out: list[float] | None = None) -> ClusterState:
    """Partition 0 on 1, 2, 3; partition 1 on 2, 3; partition 2 on 3, 1 without a leader; with these rates."""
    state = cluster(brokers(4), [topic("t", [1, 2, 3], [2, 3], [3, 1])])
    partitions = replace(
        state.partitions,
        leader=np.array([0, 1, -1], state.partitions.leader.dtype),
        in_bytes_per_s=np.array(rates),
        out_bytes_per_s=np.array(out or [np.nan] * 3),
    )
    return state.replace(partitions=partitions)


@pytest.mark.parametrize(
    ("rates", "moves", "expected"),
    [
        # the leader sends one stream to each new replica
        ([10.0, 5.0, 2.0], {T0: (4, 3)}, {4: 10.0, 3: 10.0, 1: 20.0}),
        ([10.0, 5.0, 2.0], {T0: (4,), T1: (4,)}, {4: 15.0, 1: 10.0, 2: 5.0}),
        ([10.0, 5.0, 2.0], {T0: (2,), T1: (4,)}, {1: 10.0, 2: 15.0, 4: 5.0}),
        ([10.0, 5.0, 2.0], {T2: (4,)}, {4: 2.0}),
        ([10.0, 5.0, 2.0], {T0: ()}, {}),
        ([0.0, np.nan, 2.0], {T0: (4,), T1: (4,)}, {}),
        ([0.5, 5.0, 2.0], {T0: (4,), TopicPartition("gone", 0): (4,)}, {4: 0.5, 1: 0.5}),
    ],
)
def test_what_producers_write_to_moving_partitions(
    rates: list[float], moves: dict[TopicPartition, tuple[int, ...]], expected: dict[int, float]
) -> None:
    """Each receiver once, the leader once for each receiver; unknown rates and unknown partitions count nothing."""
    state = _state(rates)
    assert incoming_bytes_per_s(state, moves) == expected
    assert ClusterLoad(state, frozenset()).incoming_bytes_per_s(moves) == expected


def test_brokers_that_take_part() -> None:
    """The receivers, and the leaders that there are."""
    load = ClusterLoad(_state([1.0, 1.0, 1.0]), frozenset())
    assert load.brokers_of({T0: (4,), T2: (3,)}) == {1, 3, 4}
    assert load.brokers_of({}) == frozenset()


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        # 1 leads t-0: takes 10, gives 10 to each of two followers and 7 to consumers; it follows t-2: takes 2
        ((1,), 10.0 + 2 * 10.0 + 7.0 + 2.0),
        # 2 follows t-0, and leads t-1 with one follower
        ((2,), 10.0 + 5.0 + 5.0),
        ((3,), 10.0 + 5.0 + 2.0),
        ((2, 3), 20.0),
        ((4,), 0.0),
        ((), 0.0),
    ],
)
def test_what_brokers_carry(of: tuple[int, ...], expected: float) -> None:
    """In and out, replication and consumers; the highest of the brokers counts."""
    load = ClusterLoad(_state([10.0, 5.0, 2.0], [7.0, np.nan, 1.0]), frozenset())
    assert load.carried_bytes_per_s(of) == expected


def test_replicas_out_of_sync_are_sent_nothing() -> None:
    """Only those in sync count as followers; a partition without any sends to consumers alone."""
    state = _state([10.0, 5.0, 2.0])
    in_sync = state.replicas.in_sync.copy()
    in_sync[state.replicas.partition == 0] = [True, False, False]
    in_sync[state.replicas.partition == 1] = False
    load = ClusterLoad(state.replace(replicas=replace(state.replicas, in_sync=in_sync)), frozenset())
    assert load.carried_bytes_per_s([1]) == 12.0
    assert load.carried_bytes_per_s([2]) == 15.0


@pytest.mark.parametrize("has_groups", [True, False])
def test_what_is_read(scene: Any, has_groups: bool) -> None:
    """Offsets always; groups where the cluster has them; within the timeout of a broker; twice, some seconds apart."""
    without = [] if has_groups else [Capability.GROUP_OFFSETS]
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=without)
    clock = scene.memory.kafka.clock
    began_s = clock.monotonic()
    sample = take_sample(scene.faulty, clock, 3.0)
    assert (sample.has_groups, sample.at_s) == (has_groups, began_s)
    measure_load(scene.faulty, clock, [1], 4.0)
    assert clock.monotonic() - began_s == SAMPLE_S
    take_sample(scene.faulty, clock)
    requests = [call.arguments[0] for call in scene.faulty.calls if call.method == "read"]
    assert [r.deadline_s for r in requests] == [3.0, 4.0, 4.0, 10.0]
    assert all(r.offsets and r.group_offsets == has_groups for r in requests)


def test_a_controller_that_does_not_respond_is_waited_for_once(scene: Any) -> None:
    """A dry run measures the load without it; a run fails."""
    scene.memory.kafka.parts.controller_responds = False
    clock = scene.memory.kafka.clock
    began_s = clock.monotonic()
    load = measure_load(scene.faulty, clock, [1], 4.0, InFlight.IF_KNOWN)
    assert not load.state.reassignments_known
    assert clock.monotonic() - began_s == 4.0 + SAMPLE_S
    with pytest.raises(UnreachableError, match="no controller responded"):
        measure_load(scene.faulty, clock, [1], 4.0)


@pytest.mark.parametrize(
    ("before", "after", "is_compared"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_groups_are_compared_only_if_both_samples_have_them(
    scene: Any, monkeypatch: pytest.MonkeyPatch, before: bool, after: bool, is_compared: bool
) -> None:
    """One sample without groups proves nothing about any group; rates are those between the times of the samples."""
    asked: list[Any] = []
    monkeypatch.setattr(cluster_load, "groups_behind", lambda *_: frozenset({"g"}))
    monkeypatch.setattr(cluster_load, "with_rates", lambda *times, **groups: asked.append((times[2], groups)))
    clock = scene.memory.kafka.clock
    clock.sleep(5.0)
    first = replace(take_sample(scene.memory, clock), has_groups=before)
    clock.sleep(7.0)
    second = replace(take_sample(scene.memory, clock), has_groups=after)
    assert load_between(first, second, [1]).behind == (frozenset({"g"}) if is_compared else frozenset())
    assert asked == [(7.0, {"group_offsets": is_compared})]
