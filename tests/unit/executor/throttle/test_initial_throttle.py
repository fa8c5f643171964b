"""The throttle that a run begins with: as given, or by what the brokers have to spare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace as replace_field

from kafkabal.clusters import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.observe.cluster_load import SAMPLE_S, ClusterLoad
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.throttle.initial_throttle import initial_throttle, measured_throttle
from kafkabal.model import TopicPartition
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from tests.unit.executor.conftest import MB, change

_MOVES = {TopicPartition("t", 0): (3,)}


def _load(in_bytes_per_s: float, out_bytes_per_s: float = np.nan) -> ClusterLoad:
    """One partition on brokers 1 and 2; a group that was behind before."""
    state = cluster(brokers(3), [topic("t", [1, 2])])
    partitions = replace(
        state.partitions, in_bytes_per_s=np.array([in_bytes_per_s]), out_bytes_per_s=np.array([out_bytes_per_s])
    )
    return ClusterLoad(state.replace(partitions=partitions), frozenset({"h", "g"}))


@pytest.mark.parametrize(("log_dirs", "expected"), [(None, 7 * MB), (3 * MB, 3 * MB)])
@pytest.mark.parametrize("load", [None, _load(100.0 * MB)])
def test_a_rate_that_is_given(load: ClusterLoad | None, log_dirs: int | None, expected: int) -> None:
    """It is not adapted, and no group matters to it; between log dirs it is the same unless another is given."""
    throttle = initial_throttle(7 * MB, _MOVES, load, log_dir_bytes_per_s=log_dirs)
    assert throttle == Throttle(bytes_per_s=7 * MB, log_dir_bytes_per_s=expected)
    assert initial_throttle(7 * MB, _MOVES, load, override=True).override


@pytest.mark.parametrize(
    ("load", "moves", "rate", "behind"),
    [
        (None, _MOVES, 10 * MB, ()),
        (_load(0.0), _MOVES, 10 * MB, ("g", "h")),
        # producers write as much: half as much again
        (_load(20.0 * MB), _MOVES, 30 * MB, ("g", "h")),
        # a quarter of what the leader takes, gives to its follower and to consumers
        (_load(10.0 * MB, 180.0 * MB), _MOVES, 50 * MB, ("g", "h")),
        # nothing is copied: brokers that take no part do not count
        (_load(10.0 * MB, 180.0 * MB), {}, 10 * MB, ("g", "h")),
    ],
)
def test_an_automatic_rate(load: ClusterLoad | None, moves: Any, rate: int, behind: tuple[str, ...]) -> None:
    """It begins low where the load is unknown; groups that were behind before are kept, in order."""
    expected = Throttle(bytes_per_s=rate, is_auto=True, behind=behind, log_dir_bytes_per_s=rate, is_log_dir_auto=True)
    assert initial_throttle("auto", moves, load) == expected
    given = initial_throttle("auto", moves, load, log_dir_bytes_per_s=3 * MB)
    assert (given.log_dir_bytes_per_s, given.is_log_dir_auto) == (3 * MB, False)


@pytest.mark.parametrize(
    ("rate", "offsets", "copies", "is_measured"),
    [
        (None, True, True, False),
        (7 * MB, True, True, False),
        ("auto", True, True, True),
        ("auto", False, True, False),
        ("auto", True, False, False),
    ],
)
def test_the_load_is_measured_only_if_it_matters(
    scene: Any, rate: Any, offsets: bool, copies: bool, is_measured: bool
) -> None:
    """For an automatic rate, where offsets can be read, and if anything is copied; within the timeout of a broker."""
    scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=[] if offsets else [Capability.OFFSETS])
    changes = scene.plan.partitions if copies else [change("b-1", (3, 2), (2, 3))]
    scene.memory.kafka.parts.partition(TopicPartition("a", 0)).growth_bytes_per_s = 40.0 * MB
    began_s = scene.memory.kafka.clock.monotonic()
    throttle = measured_throttle(scene.environment(broker_timeout_s=3.0), changes, rate)
    took_s = scene.memory.kafka.clock.monotonic() - began_s
    assert took_s == (SAMPLE_S if is_measured else 0.0)
    assert {c.arguments[0].deadline_s for c in scene.faulty.calls if c.method == "read"} == (
        {3.0} if is_measured else set()
    )
    if rate is None:
        assert throttle == Throttle()
    elif is_measured:
        assert throttle.bytes_per_s == pytest.approx(60 * MB, rel=0.01)
    else:
        assert throttle.bytes_per_s == (7 * MB if rate == 7 * MB else 10 * MB)


def test_the_load_is_measured_before_copies_between_log_dirs(scene: Any) -> None:
    """Their automatic rate is lowered for consumers, but not for groups that were behind before."""
    changes = [replace_field(change("b-0", (1, 2), (1, 2), {2: "/d1"}), log_dir_bytes=1)]
    began_s = scene.memory.kafka.clock.monotonic()
    throttle = measured_throttle(scene.environment(), changes, "auto")
    assert scene.memory.kafka.clock.monotonic() - began_s == SAMPLE_S
    assert throttle.is_log_dir_auto
