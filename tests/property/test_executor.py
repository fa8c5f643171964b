"""Whatever the cluster, plan and faults, the plan is executed or rolled back, and nothing is left behind."""

from __future__ import annotations

import copy
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import CallOutcome, FaultyCluster
from kafkabal.errors import OperationError
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import RunOutcome as End
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, cluster, partition

BROKERS = range(1, 7)
DIRS = ("/d0", "/d1")
LISTS = ("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")
RATES = ("leader.replication.throttled.rate", "follower.replication.throttled.rate")


class Crash(BaseException):
    """The process dies."""


@dataclass
class Case:
    """A cluster, a plan for it, and how it is executed."""

    memory: InMemoryCluster
    plan: Plan
    options: RunOptions

    def placement(self) -> dict[TopicPartition, Any]:
        """The placement of all partitions."""
        return {
            p.name: (tuple(p.replicas), p.leader, {b: log.log_dir for b, log in p.logs.items()})
            for p in self.memory.kafka.catch_up().partitions()
        }

    def configs(self) -> Any:
        """All configs that are set."""
        parts = self.memory.kafka.parts
        own = [dict(b.own_configs) for b in parts.brokers.values()]
        return copy.deepcopy((own, [dict(t.configs) for t in parts.topics.values()], parts.default_configs))

    def is_as_planned(self) -> bool:
        """Whether replicas, leaders and log dirs are those of the plan."""
        found = self.placement()
        return all(
            found[TopicPartition(c.topic, c.partition)][:2] == (c.replicas, c.replicas[0])
            and all(
                found[TopicPartition(c.topic, c.partition)][2][b] == d
                for b, d in zip(c.replicas, c.log_dirs, strict=True)
                if d != ANY_DIR
            )
            for c in self.plan.partitions
        )

    def is_quiet(self) -> bool:
        """Whether nothing is in flight."""
        parts = self.memory.kafka.catch_up()
        return not parts.moving and not parts.copying


_replicas = st.lists(st.sampled_from(BROKERS), min_size=1, max_size=4, unique=True)
_entries = st.sampled_from([None, "*", "0:1", "9:9,0:2", "1:3,0:1"])
_rates = st.sampled_from([None, "1000000", "20000000", "900000000"])


@st.composite
def cases(draw: DrawFn) -> Case:
    """Draw a small cluster with other people's throttles, and a plan that changes some of its partitions."""
    memory = InMemoryCluster.of(cluster(brokers(6, dirs=2), []), FakeClock())
    changes = []
    for name in draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)):
        rows = []
        for number in range(draw(st.integers(1, 3))):
            held = tuple(draw(_replicas))
            dirs = [draw(st.integers(0, 1)) for _ in held]
            leader = draw(st.sampled_from(held))
            rows.append(partition(number, held, draw(st.integers(0, 60_000_000)), leader=leader, log_dirs=dirs))
            if draw(st.booleans()):
                previous = Placement(replicas=held, leader=leader, log_dirs=tuple(DIRS[d] for d in dirs))
                changes.append(_change(draw, name, number, previous))
        memory.kafka.add_topic(TopicRow(topic=name, partitions=rows))
    parts = memory.kafka.parts
    for topic in parts.topics.values():
        topic.configs.update({key: value for key in LISTS if (value := draw(_entries)) is not None})
    for broker in parts.brokers.values():
        broker.own_configs.update({key: value for key in RATES if (value := draw(_rates)) is not None})
    parts.default_configs.update({key: value for key in RATES if (value := draw(_rates)) is not None})
    ordered = tuple(sorted(changes, key=lambda c: (c.topic, c.partition)))
    return Case(memory, Plan(partitions=ordered, cluster_id="simulated"), draw(_options()))


def _change(draw: DrawFn, topic: str, number: int, previous: Placement) -> PartitionChange:
    target = tuple(draw(_replicas))
    return PartitionChange(
        topic=topic,
        partition=number,
        replicas=target,
        log_dirs=tuple(draw(st.sampled_from((ANY_DIR, *DIRS))) for _ in target),
        previous=previous,
    )


@st.composite
def _options(draw: DrawFn) -> RunOptions:
    rate = draw(st.sampled_from([None, 10_000_000, 50_000_000]))
    return RunOptions(
        throttle=Throttle(bytes_per_s=rate, log_dir_bytes_per_s=rate, override=draw(st.booleans())),
        limits=RunLimits(
            moves_in_per_broker=draw(st.integers(1, 3)),
            moves_out_per_broker=draw(st.integers(1, 3)),
            one_replica_at_a_time=draw(st.booleans()),
            partitions_per_request=draw(st.sampled_from([1, 1000])),
        ),
        timeouts=Timeouts(poll_s=draw(st.sampled_from([1.0, 5.0]))),
    )


def _workplace(case: Case, cluster: Any, folder: str) -> RunEnvironment:
    return RunEnvironment(
        cluster=cluster, state_dir=Path(folder), clock=case.memory.kafka.clock, run_suffix=lambda: "x"
    )


@given(cases())
def test_there_and_back(case: Case) -> None:
    """A plan is applied in full and rolled back to the start, with every config as before at both ends."""
    start, configs = case.placement(), case.configs()
    with tempfile.TemporaryDirectory() as folder:
        result = apply(_workplace(case, case.memory, folder), case.plan, case.options)
        assert case.is_as_planned()
        assert case.is_quiet()
        assert case.configs() == configs
        if result is not None:
            assert result.outcome is End.COMPLETE
            assert roll_back(_workplace(case, case.memory, folder)).outcome is End.COMPLETE
    assert case.placement() == start
    assert case.configs() == configs


@settings(deadline=None)
@given(
    cases(),
    st.integers(1, 120),
    st.booleans(),
    st.booleans(),
    st.lists(st.tuples(st.integers(1, 120), st.sampled_from(list(CallOutcome))), max_size=3),
)
def test_crash_among_faults(
    case: Case, dies_at: int, before: bool, back: bool, faults: list[tuple[int, CallOutcome]]
) -> None:
    """A run that meets faults and then dies is resumed or rolled back by another host, from the cluster's record."""
    start, configs = case.placement(), case.configs()
    faulty = FaultyCluster(case.memory)
    for number, outcome in faults:
        faulty.fail_call(number, outcome)

    def die(call: Any) -> None:
        if call.number == dies_at:
            raise Crash

    (faulty.before if before else faulty.after).append(die)
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        with suppress(Crash, OperationError):
            apply(_workplace(case, faulty, one), case.plan, case.options)
        case.memory.stop()
        case.memory.kafka.clock.sleep(31.0)
        case.memory = case.memory.connect("two")
        environment = _workplace(case, case.memory, two)
        if find_run(environment) is None:
            assert case.placement() == start or case.is_as_planned()
        elif back:
            roll_back(environment)
            assert case.placement() == start
        else:
            with suppress(RunClosedError):
                resume(environment)
            assert case.is_as_planned()
    assert case.is_quiet()
    assert case.configs() == configs
