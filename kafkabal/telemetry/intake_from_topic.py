"""Reads what brokers have forwarded to a topic, in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafkabal.closing_context import ClosingContext
from kafkabal.config import ANSWER_S, ClientSetting
from kafkabal.errors import NotAuthorizedError, UnreachableError, UsageError
from kafkabal.telemetry.otlp_metrics import MalformedPayloadError, PushReceiver, read_samples, require_extra

TELEMETRY_TOPIC: Final = "__kafkabal_telemetry"
"""The topic that this package's forwarder writes to."""

_POLL_S = 0.2
"""Closing waits for one poll."""
_MESSAGES_A_POLL = 500
"""A push is some kilobytes, so a poll returns a few MB."""
_CLOSING_S = 10.0
"""Long enough for a poll and processing its messages."""


class TopicIntake(ClosingContext):
    """Reads new payloads from a topic into a table until it is closed.

    Parameters
    ----------
    client
        Configuration of librdkafka; the reader itself pushes no metrics.
    since_ms
        Payloads forwarded before this time, in milliseconds since the epoch, are skipped.
    on_problem
        Called with the reason, in the reading thread, when a partition cannot be read although all could before.

    Raises
    ------
    UsageError
        If the topic is unknown, or the extra ``telemetry`` is not installed.
    NotAuthorizedError
        If the principal may not describe the topic.
    UnreachableError
        If no broker responds.
    """

    def __init__(
        self,
        client: Mapping[str, ClientSetting],
        topic: str,
        table: PushReceiver,
        *,
        since_ms: int,
        on_problem: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.payloads = 0
        """Number of payloads processed."""
        self.malformed = 0
        """Number of messages that are not metrics payloads."""
        self._unreadable: set[int | None] = set()
        """Partitions that could not be read the last time."""
        self._on_problem = on_problem
        self._table = table
        require_extra()
        own = {"group.id": "kafkabal", "enable.auto.commit": False, "enable.metrics.push": False}
        self._consumer = Consumer({**client, **own})
        try:
            self._consumer.assign(self._positions(topic, since_ms))
        except BaseException:
            self._consumer.close()
            raise
        self._stop = Event()
        self._thread = Thread(target=self._run, name="kafkabal-telemetry", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._stop.set()
        self._thread.join(_CLOSING_S)
        self._consumer.close()

    def _positions(self, topic: str, since_ms: int) -> list[TopicPartition]:
        try:
            found = self._consumer.list_topics(topic, timeout=ANSWER_S).topics[topic]
            if found.error is not None and found.error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
                raise NotAuthorizedError(
                    f"cannot read topic {topic}: {found.error.str()}",
                    hint="the principal needs Read on the topic",
                )
            if not found.partitions:
                raise UsageError(
                    f"unknown topic: {topic!r} (no broker forwards client telemetry)",
                    hint="create it with 'kafkabal telemetry subscribe' and install the plug-in on the brokers",
                )
            times = [TopicPartition(topic, p, since_ms) for p in sorted(found.partitions)]
            return self._consumer.offsets_for_times(times, timeout=ANSWER_S)
        except KafkaException as error:
            raise UnreachableError(f"cannot read topic {topic}: {error.args[0].str()}") from error

    def _run(self) -> None:
        while not self._stop.is_set():
            for message in self._consumer.consume(_MESSAGES_A_POLL, _POLL_S):
                if (error := message.error()) is None:
                    # what was missed meanwhile is read now; errors of no partition are over, too
                    self._unreadable -= {message.partition(), None}
                    self._take(message)
                else:
                    self._note(message.partition(), error.str())

    def _note(self, partition: int | None, reason: str) -> None:
        if not self._unreadable:
            self._on_problem(reason)
        self._unreadable.add(partition)

    def _take(self, message: Message) -> None:
        try:
            samples = read_samples(message.value() or b"")
            self._table.take((message.key() or b"").decode("ascii", "replace"), samples)
            self.payloads += 1
        except MalformedPayloadError:
            self.malformed += 1
