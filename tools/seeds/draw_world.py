"""Draws a cluster, operators' throttles on it, a plan, and execution options."""

from __future__ import annotations

from random import Random

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.executor.run_options import OnInterrupt, RunLimits, RunOptions, Throttle
from kafkabal.model import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
    PartitionRow,
    TopicPartition,
    TopicRow,
)
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, partition
from tools.model_check.world import CLUSTER_ID, SESSION_S, World, configs_of

_DIRS = ("/d0", "/d1")
_TOPICS = ("a", "b", "c")
_LARGEST_BYTES = 60_000_000


def draw_world(random: Random, *, disturbances: int) -> World:
    """Draw a world in which replication takes time, with a budget of disturbances."""
    clock = FakeClock()
    ids = range(1, random.randint(3, 6) + 1)
    topics: list[TopicRow] = []
    changes: list[PartitionChange] = []
    foreign: dict[TopicPartition, tuple[int, ...]] = {}
    for name in _TOPICS[: random.randint(1, 3)]:
        rows = []
        for number in range(random.randint(1, 3)):
            row = _row(random, number, ids)
            rows.append(row)
            others = _replicas(random, ids, len(row.replicas))
            if random.random() < 0.7:
                changes.append(_change(random, name, row, ids))
                foreign[TopicPartition(name, number)] = others
        topics.append(TopicRow(topic=name, partitions=rows, configs=_lists(random)))
    kafka = SimulatedKafka(brokers(len(ids), racks=2, dirs=2), topics, clock, cluster_id=CLUSTER_ID)
    _set_rates(random, kafka)
    return World(
        kafka=kafka,
        plan=Plan(partitions=tuple(changes), cluster_id=CLUSTER_ID),
        options=_options(random),
        foreign=foreign,
        operators=configs_of(kafka),
        budget=disturbances,
        replication_factors={
            p.name: len(p.replicas) for topic in kafka.parts.topics.values() for p in topic.partitions.values()
        },
        operators_rate="7700000",
        flows=True,
    )


def _replicas(random: Random, ids: range, number: int) -> tuple[int, ...]:
    return tuple(random.sample(ids, number))


def _row(random: Random, number: int, ids: range) -> PartitionRow:
    replicas = _replicas(random, ids, random.randint(1, 3))
    return partition(
        number,
        replicas,
        random.choice((0, random.randrange(_LARGEST_BYTES))),
        leader=random.choice(replicas),
        log_dirs=[random.randrange(2) for _ in replicas],
    )


def _change(random: Random, topic: str, row: PartitionRow, ids: range) -> PartitionChange:
    replicas, dirs = tuple(row.replicas), [d or 0 for d in row.log_dirs or ()]
    before = Placement(replicas=replicas, leader=row.leader, log_dirs=tuple(_DIRS[d] for d in dirs))
    target = _replicas(random, ids, len(replicas))
    return PartitionChange(
        topic=topic,
        partition=row.partition,
        replicas=target,
        log_dirs=tuple(random.choice((ANY_DIR, ANY_DIR, *_DIRS)) for _ in target),
        previous=before,
    )


def _lists(random: Random) -> dict[str, str]:
    drawn = {key: random.choice((None, None, "*", "0:1", "9:9,0:2")) for key in (LEADER_REPLICAS, FOLLOWER_REPLICAS)}
    return {key: value for key, value in drawn.items() if value is not None}


def _set_rates(random: Random, kafka: SimulatedKafka) -> None:
    parts = kafka.parts
    for configs in (parts.default_configs, *(b.own_configs for b in parts.brokers.values())):
        for key in (LEADER_RATE, FOLLOWER_RATE):
            value = random.choice((None, None, "1000000", "20000000", "900000000"))
            if value is not None:
                configs[key] = value


def _options(random: Random) -> RunOptions:
    rate = random.choice((None, 10_000_000, 50_000_000))
    return RunOptions(
        throttle=Throttle(bytes_per_s=rate, log_dir_bytes_per_s=rate, override=random.random() < 0.3),
        limits=RunLimits(
            moves_in_per_broker=random.randint(1, 3),
            moves_out_per_broker=random.randint(1, 3),
            one_replica_at_a_time=random.random() < 0.3,
            partitions_per_request=random.choice((1, 1000)),
        ),
        on_interrupt=random.choice((OnInterrupt.CANCEL, OnInterrupt.FINISH)),
        session_s=SESSION_S,
    )
