"""Warns if training would outlast its records."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import FirstRecord
from kafkabal.clusters.config_items import ConfigSource, ConfigValue
from kafkabal.errors import NotAuthorizedError
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.reader.retention_guard import RetentionGuard, expires_at_s
from tests.unit.reader.conftest import MemoryTopic
from tests.unit.reader.test_pin_offsets import MemoryBrokers


class Configured(MemoryBrokers):
    """Brokers whose topic has these configs."""

    def __init__(self, topic: MemoryTopic, **values: str) -> None:
        super().__init__(topic)
        self.requests = 0
        self._values = {key.replace("_", "."): ConfigValue(value, ConfigSource.OWN) for key, value in values.items()}

    def configs(self, resources: Any, keys: Any) -> Any:
        """All of them."""
        return dict.fromkeys(resources, self._values), {}

    def first_records_since(
        self, since_s: Mapping[int, Mapping[TopicPartition, float]]
    ) -> Mapping[TopicPartition, FirstRecord]:
        """The first record of each partition; -1 where it is empty."""
        self.requests += 1
        asked = [name for led in since_s.values() for name in led]
        records = {name: self._topic.records[name.partition][:1] for name in asked}
        return {
            name: FirstRecord(first[0][0], first[0][1] / 1000) if first else FirstRecord(-1, -1.0)
            for name, first in records.items()
        }


@pytest.mark.parametrize(
    ("configs", "at_s"),
    [
        ({"retention_ms": "60000", "cleanup_policy": "delete"}, 61.0),
        ({"retention_ms": "-1"}, math.inf),
        ({"retention_ms": "60000", "cleanup_policy": "compact"}, math.inf),
        ({}, math.inf),
    ],
)
def test_the_oldest_record_expires_first(configs: dict[str, str], at_s: float) -> None:
    """Its timestamp (1 s) and retention.ms; never where nothing is deleted, or nothing is known."""
    topic = MemoryTopic([5, 3])
    assert expires_at_s(Configured(topic, **configs), topic.manifest()) == at_s


def test_all_partitions_are_asked_for_at_once() -> None:
    """Times of 500 partitions take one question to their leaders, and no record is fetched; an empty one has none."""
    topic = MemoryTopic([0, *[2] * 499])
    brokers = Configured(topic, retention_ms="60000")
    assert expires_at_s(brokers, topic.manifest()) == 61.0
    assert (brokers.requests, topic.fetched_records) == (1, 0)


def at_once(task: Callable[[], None]) -> None:
    """In the checking thread."""
    task()


def test_expiring_samples_are_warned_of_once() -> None:
    """Ten seconds are retained, five and twenty are needed: the second check warns, the third does not again."""
    guard = RetentionGuard("images", lambda: 110.0, lambda: 100.0, at_once)
    guard.check(50, 10)
    with pytest.warns(UserWarning, match="retention deletes records in 10 s, and reading takes another 20 s"):
        guard.check(200, 10)
    guard.check(200, 10)


def test_without_permission_there_is_no_guard() -> None:
    """Reading does not depend on it."""

    def refused() -> float:
        raise NotAuthorizedError("no")

    RetentionGuard("images", refused, lambda: 100.0, at_once).check(1e9, 1)


def test_samples_do_not_wait_for_unreachable_brokers() -> None:
    """A check returns before the response; the first one after the response warns."""
    answer, learned = threading.Event(), threading.Event()

    def slow() -> float:
        answer.wait()
        return 110.0

    def start(task: Callable[[], None]) -> None:
        def run() -> None:
            task()
            learned.set()

        threading.Thread(target=run).start()

    guard = RetentionGuard("images", slow, lambda: 100.0, start)
    guard.check(200, 10)
    answer.set()
    learned.wait()
    with pytest.warns(UserWarning, match="retention deletes records in 10 s"):
        guard.check(200, 10)
