"""Commits the readers' progress as offsets of a consumer group, so that the usual tools show lag and rates."""

from __future__ import annotations

import time
import warnings
from threading import Thread

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from kafkabal.config import ConnectionSettings, librdkafka_settings
from kafkabal.reader.manifest import Manifest

_CLOSING_S = 5.0
"""A commit takes milliseconds, or seconds while the coordinator moves. The end of an epoch must not hang on it."""
_POLL_S = 0.05
"""Closing and failed commits are noticed within this time."""
_PERMANENT = frozenset(
    {
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
        KafkaError.INVALID_GROUP_ID,
    }
)
"""Errors that would also fail the next commit; others are transient, such as a coordinator that moves."""


class GroupProgress:
    """Commits the same fraction of every partition; shuffled readers have no real offset in any of them."""

    def __init__(self, connection: ConnectionSettings, group: str, manifest: Manifest) -> None:
        self._consumer = Consumer(
            {
                **librdkafka_settings(connection),
                "group.id": group,
                "enable.auto.commit": False,
                "log_level": 2,
                "on_commit": self._on_commit,
            }
        )
        self._group = group
        self._manifest = manifest
        self._in_flight = 0
        self._to_retry: list[TopicPartition] | None = None
        """Offsets of a commit that failed with a transient error."""
        self._is_refused = False

    def commit(self, fraction: float) -> None:
        """Commit that this fraction of the epoch is done, 0 to 1; warns once if that is not allowed."""
        self._poll(0)
        self._send(
            [
                TopicPartition(self._manifest.topic, p.partition, p.begin + round((p.end - p.begin) * fraction))
                for p in self._manifest.partitions
            ]
        )

    def close(self) -> None:
        """Wait for commits in flight, retry transient failures, and close."""
        end_s = time.monotonic() + _CLOSING_S
        while self._is_waiting and time.monotonic() < end_s:
            if not self._in_flight and self._to_retry is not None:
                self._send(self._to_retry)
            self._poll(_POLL_S)
        # librdkafka waits 45 s for the coordinator of a commit that it could not send
        closing = Thread(target=self._consumer.close, name="kafkabal-group", daemon=True)
        closing.start()
        if not self._is_refused:
            closing.join(max(0.0, end_s - time.monotonic()))

    @property
    def _is_waiting(self) -> bool:
        return not self._is_refused and (self._in_flight > 0 or self._to_retry is not None)

    def _poll(self, seconds: float) -> None:
        """Let callbacks run; a group that must not be described never gets one, only this message."""
        message = self._consumer.poll(seconds)
        fault = None if message is None else message.error()
        if fault is not None and fault.code() in _PERMANENT:
            self._refuse(fault)

    def _send(self, offsets: list[TopicPartition]) -> None:
        self._to_retry = None
        if self._is_refused:
            return
        self._in_flight += 1
        try:
            self._consumer.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            self._on_commit(error.args[0], offsets)

    def _on_commit(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        self._in_flight -= 1
        if error is None:
            return
        if error.code() not in _PERMANENT:
            self._to_retry = [TopicPartition(o.topic, o.partition, o.offset) for o in offsets]
        else:
            self._refuse(error)

    def _refuse(self, fault: KafkaError) -> None:
        """Warn once, and commit no more."""
        if not self._is_refused:
            self._is_refused = True
            warnings.warn(f"group {self._group}: progress is not committed: {fault.str()}", stacklevel=2)
