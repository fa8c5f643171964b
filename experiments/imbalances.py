"""Unequal data on the brokers at the start of an experiment: the largest a third above the mean, in three ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from experiments.experiment_sandbox import ExperimentSandbox
from kafkabal.model import I64
from kafkabal.simulator import max_over_mean

_PARTITIONS_A_BROKER: Final = 8
"""With these, moves can balance all three: two partitions of each heavy broker, or six of 24."""

Build = Callable[[ExperimentSandbox, str, int, int], tuple[str, ...]]
"""Create a topic and everything it needs, with a given number and size of records in a partition, or twice as many;
returns the topics that hold the data."""


def in_the_topic(bench: ExperimentSandbox, topic: str, records: int, record_bytes: int) -> tuple[str, ...]:
    """The topic's partitions on half of the brokers hold twice as much."""
    heavy = bench.brokers[: len(bench.brokers) // 2]
    leaders = bench.brokers * _PARTITIONS_A_BROKER
    bench.create(topic, [[leader] for leader in leaders])
    bench.send_by_hand(topic, [records * (2 if leader in heavy else 1) for leader in leaders], record_bytes)
    return (topic,)


def by_another_topic(bench: ExperimentSandbox, topic: str, records: int, record_bytes: int) -> tuple[str, ...]:
    """The same, but in a topic that gets no more records; the topic that does is empty and balanced."""
    other = in_the_topic(bench, f"{topic}-other", records, record_bytes)
    bench.create(topic, [[leader] for leader in bench.brokers * _PARTITIONS_A_BROKER])
    return (topic, *other)


def by_an_empty_broker(bench: ExperimentSandbox, topic: str, records: int, record_bytes: int) -> tuple[str, ...]:
    """The topic is balanced on all brokers except the last, which gets new partitions, as if it had just joined."""
    *old, joined = bench.brokers
    leaders = old * _PARTITIONS_A_BROKER
    bench.create(topic, [[leader] for leader in leaders])
    bench.send_by_hand(topic, [2 * records] * len(leaders), record_bytes)
    bench.add_partitions(topic, [[joined]] * _PARTITIONS_A_BROKER)
    return (topic,)


IMBALANCES: Final[Mapping[str, Build]] = {
    "in the topic": in_the_topic,
    "by another topic": by_another_topic,
    "by a broker that joined empty": by_an_empty_broker,
}


def held_bytes(bench: ExperimentSandbox, topics: tuple[str, ...]) -> list[int]:
    """Bytes of these topics on each broker, from the log dirs."""
    held: I64 = np.sum([bench.bytes_by_broker(topic) for topic in topics], axis=0)
    return [int(size) for size in held]


def imbalance(held: list[int]) -> float:
    """Largest over mean."""
    return max_over_mean(np.array(held, np.float64))
