"""A small cluster with everything that a run can meet, and a plan that needs every kind of step."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import PartitionStatus, Reassignment, ReplicaLog, ReplicaOn
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import Call, FaultyCluster
from kafkabal.executor.execute_run import apply
from kafkabal.executor.observe.observation import Observation
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Event
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.executor.safety.lock_holder import LockHolder
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunPartition, RunRecord
from kafkabal.executor.state.run_states import RunState
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

MB = 10**6
LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"


class Crash(BaseException):
    """The process dies; nothing may catch this."""


@dataclass
class Recorder:
    """Keeps every event."""

    events: list[Event] = field(default_factory=list)

    def on_event(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        """Events of one kind, in order."""
        return [e for e in self.events if isinstance(e, kind)]


def planned_partition(
    previous: tuple[int, ...],
    target: tuple[int, ...],
    dirs: tuple[str, ...] | None = None,
    *,
    number: int = 0,
    size: int = GB,
) -> RunPartition:
    """A partition of topic ``t``, whose replicas are in /d0 at the start."""
    return RunPartition(
        topic="t",
        partition=number,
        previous=Placement(replicas=previous, leader=previous[0], log_dirs=("/d0",) * len(previous)),
        replicas=target,
        log_dirs=dirs or (ANY_DIR,) * len(target),
        copy_bytes=size,
    )


def observation_of(
    replicas: tuple[int, ...] | None,
    running: Reassignment | None = None,
    logs: dict[int, ReplicaLog] | None = None,
) -> Observation:
    """The observed state of partition ``t-0``; None if its topic is gone."""
    name = TopicPartition("t", 0)
    status = {name: PartitionStatus(leader=replicas[0], replicas=replicas, isr=replicas)} if replicas else {}
    return Observation(
        brokers=frozenset(range(1, 9)),
        reassignments={name: running} if running else {},
        status=status,
        logs={ReplicaOn(*name, b): log for b, log in (logs or {}).items()},
        no_response={},
    )


def change(
    name: str, replicas: tuple[int, ...], previous: tuple[int, ...], dirs: dict[int, str] | None = None, leader: int = 0
) -> PartitionChange:
    """One planned partition, whose replicas were in /d0 before."""
    topic, _, number = name.rpartition("-")
    return PartitionChange(
        topic=topic,
        partition=int(number),
        replicas=replicas,
        log_dirs=tuple((dirs or {}).get(b, ANY_DIR) for b in replicas),
        previous=Placement(replicas=previous, leader=leader or previous[0], log_dirs=("/d0",) * len(previous)),
    )


def lopsided() -> InMemoryCluster:
    """Five brokers with two log dirs, three topics, and an operator's throttles of every kind."""
    topics = [
        TopicRow(
            topic="a",
            partitions=[
                partition(0, [1, 2, 3], 60 * MB),
                partition(1, [1, 2, 3], 40 * MB, leader=2),
                partition(2, [2, 1, 3], 20 * MB),
                partition(3, [1, 3, 2], 0),
            ],
            configs={LEADER_REPLICAS: "3:1,7:7", "retention.ms": "1"},
        ),
        TopicRow(topic="b", partitions=[partition(0, [1, 2], 30 * MB), partition(1, [2, 3], 50 * MB)]),
        TopicRow(topic="c", partitions=[partition(0, [3, 1], 10 * MB)], configs={FOLLOWER_REPLICAS: "*"}),
    ]
    made = InMemoryCluster.of(cluster(brokers(5, dirs=2), []), FakeClock())
    for row in topics:
        made.kafka.add_topic(row)
    parts = made.kafka.parts
    parts.default_configs[LEADER_RATE] = str(900 * MB)
    parts.brokers[1].own_configs[LEADER_RATE] = str(800 * MB)
    parts.brokers[2].own_configs[FOLLOWER_RATE] = str(3 * MB)
    parts.brokers[4].own_configs[FOLLOWER_RATE] = str(700 * MB)
    parts.brokers[3].static_configs["log.retention.hours"] = "1"
    return made


PLAN = Plan(
    partitions=(
        change("a-0", (4, 2, 3), (1, 2, 3), {4: "/d1"}),
        change("a-1", (3, 5, 4), (1, 2, 3), leader=2),
        change("a-2", (2, 1, 4), (2, 1, 3)),
        change("a-3", (5, 3, 2), (1, 3, 2)),
        change("b-0", (1, 2), (1, 2), {2: "/d1"}),
        change("b-1", (3, 2), (2, 3)),
        change("c-0", (3, 1, 5), (3, 1), {5: "/d1"}),
    ),
    cluster_id="simulated",
)

OPTIONS = RunOptions(
    throttle=Throttle(bytes_per_s=10 * MB, log_dir_bytes_per_s=10 * MB),
    limits=RunLimits(moves_in_per_broker=1, moves_out_per_broker=2),
    timeouts=Timeouts(poll_s=2.0),
)


def placement_of(memory: InMemoryCluster) -> dict[TopicPartition, tuple[Any, ...]]:
    """Replicas, leader and log dirs of every partition."""
    return {
        p.name: (tuple(p.replicas), p.leader, {b: log.log_dir for b, log in p.logs.items()})
        for p in memory.kafka.catch_up().partitions()
    }


def configs_of(memory: InMemoryCluster) -> dict[str, dict[str, str]]:
    """All configs that are set, by owner."""
    parts = memory.kafka.parts
    own = {f"broker {b.id}": dict(b.own_configs) for b in parts.brokers.values()}
    topics = {f"topic {t.name}": dict(t.configs) for t in parts.topics.values()}
    return copy.deepcopy({"default": parts.default_configs, **own, **topics})


class Scene:
    """A cluster, a plan for it, and processes that work on it and may die."""

    Crash = Crash

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.memory = lopsided()
        self.faulty = FaultyCluster(self.memory)
        self.recorder = Recorder()
        self.placement = placement_of(self.memory)
        self.configs = configs_of(self.memory)
        self.plan = PLAN
        self.options = OPTIONS

    def environment(self, cluster: Any = None, host: str = "one", **changes: Any) -> RunEnvironment:
        """A place to work on the cluster from."""
        return RunEnvironment(
            cluster=cluster or self.faulty,
            state_dir=self.folder / host,
            clock=self.memory.kafka.clock,
            listener=self.recorder,
            host=host,
            holder=LockHolder(host, 1),
            run_suffix=lambda: "x",
            **changes,
        )

    def next_process(self, host: str = "one") -> RunEnvironment:
        """A new process, once the lock of the dead one has expired."""
        self.memory.stop()
        self.memory.kafka.clock.sleep(31.0)
        self.memory = self.memory.connect("next")
        self.faulty = FaultyCluster(self.memory)
        return self.environment(host=host)

    def crash_at(self, call: int) -> RunEnvironment:
        """Let a run of the plan die before the call of that number; returns the next process's environment."""
        return self.crash_where(lambda made: made.number == call)

    def crash_before(self, method: str) -> RunEnvironment:
        """Let a run of the plan die before its first call of that method; returns the next process's environment."""
        return self.crash_where(lambda made: made.method == method)

    def crash_where(self, dies: Callable[[Call], bool], host: str = "one") -> RunEnvironment:
        """Let a run of the plan die before the first call that matches; otherwise like :meth:`crash_at`."""

        def die(made: Call) -> None:
            if dies(made):
                raise Crash

        self.faulty.before.append(die)
        with pytest.raises(Crash):
            apply(self.environment(), self.plan, self.options)
        return self.next_process(host)

    def configs_now(self) -> dict[str, dict[str, str]]:
        """All configs that are set."""
        return configs_of(self.memory)

    def placement_now(self) -> dict[TopicPartition, tuple[Any, ...]]:
        """Replicas, leader and log dirs of every partition."""
        return placement_of(self.memory)

    def assert_as_planned(self) -> None:
        """Every partition is placed and led as planned, and every config is as it was found."""
        found = placement_of(self.memory)
        for c in self.plan.partitions:
            replicas, leader, dirs = found[TopicPartition(c.topic, c.partition)]
            assert replicas == c.replicas, c.name
            assert leader == c.replicas[0], c.name
            assert all(dirs[b] == d for b, d in zip(c.replicas, c.log_dirs, strict=True) if d != ANY_DIR), c.name
        self.assert_clean()

    def assert_as_at_start(self) -> None:
        """Every partition is placed and led as at the start, and every config is as it was found."""
        assert placement_of(self.memory) == self.placement
        self.assert_clean()

    def assert_clean(self) -> None:
        """Nothing is in flight, and every config is as it was found, value and source."""
        assert not self.memory.kafka.catch_up().moving
        assert not self.memory.kafka.parts.copying
        assert configs_of(self.memory) == self.configs

    def journal(self, host: str = "one") -> Path:
        """The journal of the run."""
        return next((self.folder / host).glob("*/*.jsonl"))


@pytest.fixture
def make_scene(tmp_path: Path) -> Callable[[], Scene]:
    """Create unbalanced clusters, each with its own folder."""
    number = count()
    return lambda: Scene(tmp_path / str(next(number)))


@pytest.fixture
def scene(make_scene: Callable[[], Scene]) -> Scene:
    """The unbalanced cluster, unchanged."""
    return make_scene()


def run_record(*planned: RunPartition, **changes: Any) -> RunRecord:
    """The record of a run of these partitions."""
    given = {"run_id": "r", "plan_id": "p", "cluster_id": "simulated", "started_at": "", "host": "h", **changes}
    return RunRecord(partitions=planned, **{"options": RunOptions(), **given})


def found_run(*planned: RunPartition, state: RunState, **changes: Any) -> FoundRun:
    """A run of these partitions in a state, as the cluster's record of it is found without a journal."""
    return FoundRun(run_record(*planned, **changes), state, None)
