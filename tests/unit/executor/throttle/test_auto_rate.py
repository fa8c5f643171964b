"""The automatic throttle: a table of observations and resulting rates, and the observations that it uses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from kafkabal.errors import NotAuthorizedError, UnreachableError
from kafkabal.executor import Goal
from kafkabal.executor.execute_run import apply
from kafkabal.executor.observe.cluster_load import (
    ClusterLoad,
    load_between,
    measure_load,
    moves_of_plan,
    moves_of_run,
    take_sample,
)
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.throttle import auto_rate
from kafkabal.executor.throttle.auto_rate import AutoRate, StepImpact, first_rate, next_rate
from kafkabal.model.cluster_state import CommittedOffsets
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import Placement
from kafkabal.telemetry.lagging_groups import groups_behind

MB = 10**6
A0 = TopicPartition("a", 0)


@pytest.mark.parametrize(
    ("incoming", "carried", "expected"),
    [(0, 0, 10 * MB), (4 * MB, 0, 10 * MB), (40 * MB, 0, 60 * MB), (0, 200 * MB, 50 * MB), (40 * MB, 80 * MB, 60 * MB)],
)
def test_first_rate(incoming: float, carried: float, expected: int) -> None:
    """It starts above the write rate, with a part of the brokers' load, and with a little in any case."""
    assert first_rate(incoming, carried) == expected


def _planned(start: tuple[int, ...], replicas: tuple[int, ...]) -> RunPartition:
    placement = Placement(replicas=start, leader=start[0], log_dirs=("/d0",) * len(start))
    dirs = ("any",) * len(replicas)
    return RunPartition(topic="a", partition=0, previous=placement, replicas=replicas, log_dirs=dirs, copy_bytes=1)


BUSY = StepImpact(used_fraction=0.9)


@pytest.mark.parametrize(
    ("rate", "impact", "expected"),
    [
        pytest.param(20 * MB, BUSY, 25 * MB, id="used and borne: a quarter more"),
        pytest.param(20 * MB, StepImpact(used_fraction=0.7), 25 * MB, id="used enough"),
        pytest.param(20 * MB, StepImpact(used_fraction=0.5), None, id="not used: it stays"),
        pytest.param(20 * MB, replace(BUSY, fell_out=2), 10 * MB, id="replicas fell out: half"),
        pytest.param(20 * MB, replace(BUSY, behind=frozenset("g")), 10 * MB, id="consumer groups fall behind: half"),
        pytest.param(20 * MB, replace(BUSY, still_out=1), None, id="not all back in sync: no more than now"),
        pytest.param(20 * MB, replace(BUSY, fell_out=1, incoming_bytes_per_s=8 * MB), 12 * MB, id="half, but above"),
        pytest.param(12 * MB, replace(BUSY, fell_out=1, incoming_bytes_per_s=8 * MB), None, id="never below"),
        pytest.param(12 * MB, replace(BUSY, behind=frozenset("g"), incoming_bytes_per_s=8 * MB), None, id="nor so"),
        pytest.param(
            12 * MB, StepImpact(incoming_bytes_per_s=10 * MB), 15 * MB, id="producers write more: up to the margin"
        ),
        pytest.param(1_200_000, replace(BUSY, fell_out=1), MB, id="Kafka keeps nothing below 1 MB/s"),
    ],
)
def test_next_rate(rate: int, impact: StepImpact, expected: int | None) -> None:
    """One step at a time: up by a quarter, down by half, never below the write rate with a margin."""
    judged = next_rate(rate, impact)
    assert (judged[0] if judged else None) == expected
    assert judged is None or judged[1]


def test_load_of_brokers(scene: Any) -> None:
    """Two observations give the write rate of moving partitions, by sender and receiver, and each broker's total
    load."""
    parts = scene.memory.kafka.parts
    parts.partition(A0).growth_bytes_per_s = 2.0 * MB
    parts.partition(TopicPartition("b", 1)).growth_bytes_per_s = 1.0 * MB
    load = measure_load(scene.memory, scene.memory.kafka.clock, [1])
    incoming = load.incoming_bytes_per_s(moves_of_plan(scene.plan.partitions))
    # a-0 goes from its leader 1 to 4; b-1 stays where it is, in another order
    assert incoming == pytest.approx({1: 2 * MB, 4: 2 * MB}, rel=0.01)
    # 1 leads a-0 for two followers; 3 follows both
    assert load.carried_bytes_per_s([1, 4]) == pytest.approx(6 * MB, rel=0.01)
    assert load.carried_bytes_per_s([3]) == pytest.approx(3 * MB, rel=0.01)
    assert load.carried_bytes_per_s([5]) == 0.0
    assert moves_of_run([_planned((1, 2, 3), (4, 2, 3))]) == {("a", 0): [4]}
    assert moves_of_run([_planned((1, 2, 3), (4, 2, 3))], Goal.ROLL_BACK) == {("a", 0): [1]}
    assert load.brokers_of(moves_of_plan(scene.plan.partitions)) == {1, 2, 3, 4, 5}


def _with_commits(state: Any, offsets: dict[str, int], end: int) -> Any:
    """The state in which groups have committed this much in a-0, of which so much was written."""
    ends = np.where(np.arange(len(state.partitions)) == 0, end, -1)
    committed = CommittedOffsets(
        groups=tuple(offsets),
        group=np.arange(len(offsets), dtype=np.int32),
        partition=np.zeros(len(offsets), np.int32),
        offset=np.array(list(offsets.values()), np.int64),
    )
    partitions = replace(state.partitions, start_offset=np.zeros_like(ends), end_offset=ends)
    return state.replace(partitions=partitions, committed=committed)


@pytest.mark.parametrize(
    ("read", "leaders", "expected"),
    [(500, [1], {"g"}), (800, [1], set()), (0, [1], set()), (1500, [1], set()), (500, [2, 3], set()), (-5, [1], set())],
)
def test_groups_behind(scene: Any, read: int, leaders: list[int], expected: set[str]) -> None:
    """A group is behind if it reads clearly less than is written to those leaders, not if it has stopped or catches
    up."""
    state = take_sample(scene.memory, scene.memory.kafka.clock).state
    before, after = _with_commits(state, {"g": 100}, 2000), _with_commits(state, {"g": 100 + read}, 3000)
    assert groups_behind(before, after, leaders) == expected


def test_groups_that_may_not_be_seen(scene: Any) -> None:
    """Without permission for consumer groups everything else is still observed."""
    read = scene.faulty.read

    def refuse(request: Any) -> Any:
        if request.group_offsets:
            raise NotAuthorizedError("no groups")
        return read(request)

    scene.faulty.read = refuse
    before = take_sample(scene.faulty, scene.memory.kafka.clock)
    scene.memory.kafka.clock.sleep(1.0)
    assert not before.has_groups
    assert load_between(before, take_sample(scene.faulty, scene.memory.kafka.clock), [1]).behind == frozenset()


def test_steps(scene: Any) -> None:
    """A step every half minute; partitions out of sync before do not count, new ones count once."""
    parts, clock = scene.memory.kafka.parts, scene.memory.kafka.clock
    parts.partition(A0).growth_bytes_per_s = 2.0 * MB
    parts.partition(TopicPartition("a", 1)).isr = [2, 3]
    auto = AutoRate(scene.memory, clock, behind_before=(), broker_timeout_s=10.0)
    assert auto.is_step_over()
    assert auto.observe({A0: (4,)}, [1], 0.5) is None
    assert not auto.is_step_over()
    clock.sleep(31.0)
    assert auto.is_step_over()
    parts.partition(A0).isr = [1, 3]
    impact = auto.observe({A0: (4,)}, [1], 0.5)
    assert impact is not None
    assert (impact.fell_out, impact.still_out, impact.used_fraction) == (1, 1, 0.5)
    assert impact.incoming_bytes_per_s == pytest.approx(2 * MB, rel=0.01)
    clock.sleep(31.0)
    impact = auto.observe({A0: (4,)}, [1], 0.5)
    assert impact is not None
    assert (impact.fell_out, impact.still_out) == (0, 1)


def test_observations_use_the_timeout_of_the_run(scene: Any) -> None:
    """How long a broker may take to respond is a setting, also during a run."""
    options = msgspec.structs.replace(scene.options, throttle=Throttle(bytes_per_s=MB, is_auto=True))
    apply(scene.environment(broker_timeout_s=3.0), scene.plan, options)
    reads = [call.arguments[0] for call in scene.faulty.calls if call.method == "read"]
    assert {request.deadline_s for request in reads if request.offsets} == {3.0}


def test_reading_takes_a_small_part_of_the_time(scene: Any) -> None:
    """A twentieth at most: on a large cluster, the steps get longer."""
    clock, reads_s = scene.memory.kafka.clock, iter([0.5, 3.0, 0.0])
    clock.sleep(1000.0)
    scene.faulty.before.append(lambda call: clock.sleep(next(reads_s)) if call.method == "read" else None)
    auto = AutoRate(scene.faulty, clock, behind_before=(), broker_timeout_s=10.0)
    for step_s in (30.0, 60.0, 30.0):
        began_s = clock.monotonic()
        auto.observe({A0: (4,)}, [1], 0.5)
        clock.sleep(step_s - 0.5 - (clock.monotonic() - began_s))
        assert not auto.is_step_over()
        clock.sleep(0.5)
        assert auto.is_step_over()


def test_an_observation_that_fails_is_not_repeated_at_once(scene: Any) -> None:
    """The next one is due a step later: a cluster in trouble is not asked again at every poll."""
    clock = scene.memory.kafka.clock
    auto = AutoRate(scene.faulty, clock, behind_before=(), broker_timeout_s=10.0)

    def fail(call: Any) -> None:
        if call.method == "read":
            raise UnreachableError("no broker")

    scene.faulty.before.append(fail)
    with pytest.raises(UnreachableError):
        auto.observe({A0: (4,)}, [1], 0.5)
    assert not auto.is_step_over()
    clock.sleep(30.0)
    assert auto.is_step_over()


def test_groups_that_were_behind_before_do_not_count(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of those that are behind now, only the others."""
    clock = scene.memory.kafka.clock
    load = ClusterLoad(take_sample(scene.memory, clock).state, frozenset({"old", "new"}))
    monkeypatch.setattr(auto_rate, "load_between", lambda *_: load)
    auto = AutoRate(scene.memory, clock, behind_before=["old"], broker_timeout_s=10.0)
    auto.observe({A0: (4,)}, [1], 0.5)
    impact = auto.observe({}, [1], 0.5)
    assert impact is not None
    assert (impact.behind, impact.incoming_bytes_per_s) == ({"new"}, 0.0)
