"""The initial state for a run: topics with data, a non-preferred leader, an operator's throttles; and a plan."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from confluent_kafka import Producer

from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.errors import OperationError
from kafkabal.executor.throttle.throttle_rules import RATE_KEYS
from kafkabal.model.kafka_configs import FOLLOWER_RATE, LEADER_RATE, LEADER_REPLICAS
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Placement
from kafkabal.sandbox import Sandbox

KB, MB = 1_000, 1_000_000
BROKERS = (1, 2, 3, 4)
MOVES = ((1, 2), (1, 2), (2, 1), (1, 2), (2, 1))
"""Replicas of the topic most of which moves."""
STAYS = ((1, 2, 3), (2, 3, 1))
"""Replicas of the topic that hardly moves."""
MOVES_BYTES = (6 * MB, 3 * MB, 3 * MB, 2 * MB, 2 * MB)
STAYS_BYTES = (4 * MB, MB)
RECORD_BYTES = 100_000


LONGEST_S = 300.0
"""After so long a test gives up: what takes seconds takes a minute or two on a machine with ten times the load."""


def until(holds: Callable[[], bool], give_up_s: float = LONGEST_S) -> None:
    """Wait until a condition holds."""
    give_up_at = time.monotonic() + give_up_s
    while not holds():
        assert time.monotonic() < give_up_at, "it never came to that"
        time.sleep(0.05)


def soon(check: Callable[[], None], give_up_s: float = LONGEST_S) -> None:
    """Let a check fail for a while: some brokers learn later than others what the controller has done."""
    give_up_at = time.monotonic() + give_up_s
    while time.monotonic() < give_up_at:
        with suppress(AssertionError):
            return check()
        time.sleep(0.2)
    return check()


def fill(servers: str, records: Mapping[TopicPartition, int]) -> None:
    """Write this many records to each partition."""
    producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
    value = os.urandom(RECORD_BYTES)
    for name, number in records.items():
        for _ in range(number):
            producer.produce(name.topic, value, partition=name.partition)
            producer.poll(0)
    assert producer.flush(60) == 0


def lead_by_another(cluster: Cluster, name: TopicPartition) -> None:
    """Make a replica other than the first one lead a partition."""
    order = cluster.partition_status([name.topic])[name].replicas
    first, second, *rest = order
    _order(cluster, name, (second, first, *rest))
    _repeat(
        lambda: cluster.elect_preferred_leaders([name]),
        lambda: cluster.partition_status([name.topic])[name].leader == second,
    )
    _order(cluster, name, order)


def _order(cluster: Cluster, name: TopicPartition, replicas: tuple[int, ...]) -> None:
    _repeat(
        lambda: cluster.alter_reassignments({name: replicas}),
        lambda: cluster.partition_status([name.topic])[name].replicas == replicas,
    )


def _repeat(ask: Callable[[], object], is_done: Callable[[], bool]) -> None:
    """Repeat a request, which a busy cluster may drop, until it has taken effect."""

    def is_done_now() -> bool:
        if not is_done():
            with suppress(OperationError):
                ask()
        return is_done()

    until(is_done_now)


def throttles_of_an_operator(topic: str) -> list[ConfigChange]:
    """Rates of two brokers, a cluster-wide default, and a list of throttled replicas; no other."""
    own = {("1", LEADER_RATE): str(800 * MB), ("4", FOLLOWER_RATE): str(700 * MB)}
    rates = [
        ConfigChange(ConfigResource(ResourceKind.BROKER, str(b)), key, own.get((str(b), key)))
        for b in BROKERS
        for key in RATE_KEYS
    ]
    default = ConfigChange(ConfigResource(ResourceKind.BROKER_DEFAULT, ""), LEADER_RATE, str(900 * MB))
    return [*rates, default, ConfigChange(ConfigResource(ResourceKind.TOPIC, topic), LEADER_REPLICAS, "3:1,77:7")]


def are_in_force(throttles: Sequence[ConfigChange], found: Mapping[ConfigResource, Mapping[str, ConfigValue]]) -> bool:
    """Whether every broker knows the operator's throttles, including the cluster-wide default."""
    values = {(resource, key): value for resource, keys in found.items() for key, value in keys.items()}
    own = {at: value.value for at, value in values.items() if value.source is ConfigSource.OWN}
    wanted = {(t.resource, t.key): t.value for t in throttles if t.resource.kind is not ResourceKind.BROKER_DEFAULT}
    defaults = {t.key: t.value for t in throttles if t.resource.kind is ResourceKind.BROKER_DEFAULT}
    inherited = [
        values[at].value == default
        for key, default in defaults.items()
        for b in BROKERS
        if (at := (ConfigResource(ResourceKind.BROKER, str(b)), key)) in values and at not in own
    ]
    return all(own.get(at) == value for at, value in wanted.items()) and bool(inherited) and all(inherited)


def changes(
    sandbox: Sandbox, moves: str, stays: str, start: Mapping[TopicPartition, Any]
) -> tuple[PartitionChange, ...]:
    """A plan that needs every kind of step, from the initial placement."""

    def change(
        topic: str, number: int, size_bytes: int, replicas: tuple[int, ...], dir_on: int | None = None
    ) -> PartitionChange:
        before, leader, dirs = start[TopicPartition(topic, number)]
        other_dirs = {
            b: next(str(path) for path in sandbox.log_dirs(b) if str(path) != dirs.get(b))
            for b in replicas
            if b == dir_on
        }
        return PartitionChange(
            topic=topic,
            partition=number,
            replicas=replicas,
            log_dirs=tuple(other_dirs.get(b, ANY_DIR) for b in replicas),
            previous=Placement(replicas=before, leader=leader, log_dirs=tuple(dirs[b] for b in before)),
            bytes=size_bytes,
        )

    return (
        change(moves, 0, MOVES_BYTES[0], (3, 4), dir_on=4),
        change(moves, 1, MOVES_BYTES[1], (3, 2)),
        change(moves, 2, MOVES_BYTES[2], (4, 1)),
        change(moves, 3, MOVES_BYTES[3], (4, 2)),
        change(moves, 4, MOVES_BYTES[4], (1, 2)),
        change(stays, 0, STAYS_BYTES[0], (1, 2, 3), dir_on=2),
        change(stays, 1, STAYS_BYTES[1], (2, 3, 4)),
    )
