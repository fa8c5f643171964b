"""Everything outside the tool: two partitions on three brokers, operators' settings, and the disks of the hosts.

A world can be packed and unpacked, so that many processes can start in the same one. Replication takes no time here: a
copy completes when the search says so, which represents every possible speed.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kafkabal.clusters.simulated import controller
from kafkabal.clusters.simulated.cluster_parts import SimulatedPartition
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.executor.run_options import RunLimits, RunOptions, Throttle, Timeouts
from kafkabal.model import (
    FOLLOWER_RATE,
    LEADER_RATE,
    LEADER_REPLICAS,
    TopicPartition,
    TopicRow,
)
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, partition

CLUSTER_ID = "model"
SESSION_S = 30.0
CLOCK_STARTS_S = 1e9
"""Larger than every duration, so that times and durations can be told apart by size."""
P0, P1 = TopicPartition("a", 0), TopicPartition("a", 1)
STARTS: dict[TopicPartition, tuple[int, ...]] = {P0: (1, 2), P1: (2, 3)}
TARGETS: dict[TopicPartition, tuple[int, ...]] = {P0: (3, 2), P1: (3, 1)}
"""One partition gets a new replica and a new leader; the other replaces a replica, and an existing one leads."""
FOREIGN: dict[TopicPartition, tuple[int, ...]] = {P0: (1, 3), P1: (2, 1)}
"""Where another tool would move them."""

OPTIONS = RunOptions(
    throttle=Throttle(bytes_per_s=100),
    limits=RunLimits(moves_in_per_broker=1),
    # every pause is 15 s, so that few states differ only in time
    timeouts=Timeouts(
        poll_s=15.0, unreachable_s=60.0, refusals=3, broker_grace_s=30.0, broker_return_s=45.0, stall_s=60.0, attempts=2
    ),
    session_s=SESSION_S,
)
PLAN = Plan(
    partitions=tuple(
        PartitionChange(
            topic=name.topic,
            partition=name.partition,
            replicas=TARGETS[name],
            log_dirs=(ANY_DIR,) * 2,
            previous=Placement(replicas=STARTS[name], leader=STARTS[name][0], log_dirs=("/d0",) * 2),
        )
        for name in (P0, P1)
    ),
    cluster_id=CLUSTER_ID,
)

Configs = dict[str, dict[str, str]]


@dataclass
class World:
    """A cluster, the files of the hosts, and the remaining budget of disturbances."""

    kafka: SimulatedKafka
    plan: Plan
    options: RunOptions
    foreign: dict[TopicPartition, tuple[int, ...]]
    """Where another tool would move partitions."""
    operators: Configs
    """Configs set by operators; ours are temporary changes to these."""
    budget: int
    replication_factors: dict[TopicPartition, int]
    touched: set[TopicPartition] = field(default_factory=set)
    """Partitions that another tool has moved."""
    operators_rate: str = "777"
    """The rate that an operator sets on a broker during a run."""
    flows: bool = False
    """Whether replication takes time; if not, copies complete on command."""
    is_ordinary: bool = False
    """Whether only the disturbances in ``disturbances.ORDINARY`` happen."""
    has_late_requests: bool = True
    """Whether a request may be sent, and a run be rolled back by another host, while the tool stands still."""
    is_disk_full: bool = False
    is_output_gone: bool = False
    clocks_off_s: dict[str, float] = field(default_factory=dict)
    """Error of each host's clock."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Files of all hosts, by path below the folder they are restored to."""

    def pack(self) -> bytes:
        """Serialise the world."""
        return pickle.dumps(self, pickle.HIGHEST_PROTOCOL)

    @classmethod
    def unpack(cls, packed: bytes) -> World:
        """Deserialise a world."""
        world: World = pickle.loads(packed)
        return world

    def partitions(self) -> Iterator[SimulatedPartition]:
        """Both partitions."""
        return self.kafka.parts.partitions()

    def arriving(self) -> list[TopicPartition]:
        """Partitions whose copies can complete now: they have a leader, and the receiving brokers are alive."""
        if self.flows:
            return []
        parts = self.kafka.parts
        return [
            name
            for name, p in sorted(parts.moving.items())
            if p.leader >= 0 and all(parts.brokers[b].registered for b in (p.leader, *p.adding))
        ]

    def arrive(self, name: TopicPartition) -> None:
        """Complete the copies of a partition."""
        parts = self.kafka.parts
        p = parts.moving[name]
        for broker in p.adding:
            p.logs[broker].copied_bytes = p.size_bytes
            if broker not in p.isr:
                p.isr.append(broker)
        controller.settle_reassignments(parts, p)

    def configs(self) -> Configs:
        """All configs that are set, by owner."""
        return configs_of(self.kafka)

    def calm(self) -> None:
        """Stop all disturbances: all brokers are back, and the disk has room."""
        self.budget, self.is_disk_full, self.is_output_gone = 0, False, False
        for broker in self.kafka.parts.brokers.values():
            if not broker.responds:
                self.kafka.start(broker.id)

    def end_session(self) -> None:
        """Wait until the lock of a dead process has expired."""
        self.kafka.clock.sleep(SESSION_S + 1.0)
        self.kafka.parts.locks.clear()


def first_world(budget: int, *, is_ordinary: bool = False) -> World:
    """The initial world: all replicas in sync, and operators' throttles of every kind."""
    clock = FakeClock()
    clock.sleep(CLOCK_STARTS_S)
    rows = [partition(name.partition, held, 1000) for name, held in STARTS.items()]
    topic = TopicRow(topic="a", partitions=rows, configs={LEADER_REPLICAS: "0:9", "retention.ms": "1"})
    kafka = SimulatedKafka(
        brokers(3), [topic], clock, cluster_id=CLUSTER_ID, bandwidth_bytes_per_s=0.0, disk_bytes_per_s=0.0
    )
    own = {broker.id: broker.own_configs for broker in kafka.parts.brokers.values()}
    own[1][LEADER_RATE] = "50"  # below the run's throttle: kept
    own[2][LEADER_RATE] = "900"  # above it: replaced during the run
    kafka.parts.default_configs[FOLLOWER_RATE] = "800"
    factors = dict.fromkeys(STARTS, 2)
    return World(kafka, PLAN, OPTIONS, FOREIGN, configs_of(kafka), budget, factors, is_ordinary=is_ordinary)


def configs_of(kafka: SimulatedKafka) -> Configs:
    """All configs set in a cluster, by owner."""
    parts = kafka.parts
    own = {f"broker {b.id}": b.own_configs for b in parts.brokers.values()}
    topics = {f"topic {t.name}": t.configs for t in parts.topics.values()}
    whole = {"default": parts.default_configs, **own, **topics}
    return {whose: dict(configs) for whose, configs in whole.items()}


def read_files(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def write_files(folder: Path, files: dict[str, bytes]) -> None:
    """Make these the only files in a folder."""
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
