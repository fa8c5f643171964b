"""Warns if retention will delete records before training reads them, extrapolating the rate so far."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Protocol

from kafkabal.clusters import ConfigResource, FirstRecord, ResourceKind
from kafkabal.errors import KafkabalError
from kafkabal.model import CLEANUP_POLICY, RETENTION_MS, TopicPartition
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.pin_offsets import TopicReporter
from kafkabal.units import format_duration


class RetentionReporter(TopicReporter, Protocol):
    """Also knows times of records; :class:`~kafkabal.clusters.kafka.cluster.KafkaCluster` does."""

    def first_records_since(
        self, since_s: Mapping[int, Mapping[TopicPartition, float]]
    ) -> Mapping[TopicPartition, FirstRecord]:
        """The first record of each partition at or after a time, by leader."""


def expires_at_s(brokers: RetentionReporter, manifest: Manifest) -> float:
    """When retention may delete the oldest record of a manifest, in seconds since 1970; infinity for never.

    Raises
    ------
    KafkabalError
        If the brokers do not respond, or refuse.
    """
    resource = ConfigResource(ResourceKind.TOPIC, manifest.topic)
    found = brokers.configs([resource], [RETENTION_MS, CLEANUP_POLICY])[0].get(resource, {})
    value = {key: config.value or "" for key, config in found.items()}
    retention_ms = int(value.get(RETENTION_MS) or -1)
    if retention_ms < 0 or "delete" not in value.get(CLEANUP_POLICY, "delete"):
        return math.inf
    pinned = {TopicPartition(manifest.topic, p.partition) for p in manifest.partitions}
    by_leader: dict[int, dict[TopicPartition, float]] = {}
    for name, status in brokers.partition_status([manifest.topic]).items():
        if name in pinned and status.leader >= 0:
            by_leader.setdefault(status.leader, {})[name] = 0.0
    # one request per leader: a fetch from each of thousands of partitions would take minutes
    first = brokers.first_records_since(by_leader).values()
    return min((record.at_s for record in first if record.offset >= 0), default=math.inf) + retention_ms / 1000


def _in_background(task: Callable[[], None]) -> None:
    threading.Thread(target=task, name="kafkabal-retention", daemon=True).start()


class RetentionGuard:
    """Warns once if reading the rest takes longer than the records are retained.

    Parameters
    ----------
    expires_at_s
        Called when the first rate is known; without permission or response nothing is guarded.
    now_s
        Seconds since 1970.
    start
        Runs that call: training must not wait half a minute for brokers that do not respond.
    """

    def __init__(
        self,
        topic: str,
        expires_at_s: Callable[[], float],
        now_s: Callable[[], float],
        start: Callable[[Callable[[], None]], None] = _in_background,
    ) -> None:
        self._topic = topic
        self._read_expires_at_s = expires_at_s
        self._now_s = now_s
        self._start = start
        self._is_read = False
        self._expires_at_s = math.inf
        self._has_warned = False

    def check(self, left_samples: float, samples_per_s: float) -> None:
        """Compare, given what remains for this reader and its rate so far."""
        if self._has_warned or samples_per_s <= 0 or left_samples <= 0:
            return
        if not self._is_read:
            self._is_read = True
            self._start(self._read_expiry)
        now_s, left_s = self._now_s(), left_samples / samples_per_s
        if now_s + left_s > self._expires_at_s:
            self._has_warned = True
            kept = format_duration(max(0.0, self._expires_at_s - now_s))
            warnings.warn(
                f"topic {self._topic}: retention deletes records in {kept}, and reading takes another "
                f"{format_duration(left_s)}: raise retention.ms",
                stacklevel=2,
            )

    def _read_expiry(self) -> None:
        with suppress(KafkabalError):
            self._expires_at_s = self._read_expires_at_s()
