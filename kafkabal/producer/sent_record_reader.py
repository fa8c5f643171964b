"""Reads the records of a topic back, to find those that an interrupted run has sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafkabal.clusters import Clock, Deadline, SystemClock
from kafkabal.config import ANSWER_S, ClientSetting
from kafkabal.errors import KafkabalError, OperationError, UnreachableError, UnsafeError, unknown_topic
from kafkabal.producer.librdkafka_errors import config_error_of, error_of

_V = TypeVar("_V")
_PAUSE_S = 0.2
"""Pause between retries; a new leader is elected within about a second."""
_NO_LEADER = KafkaError._UNKNOWN_PARTITION  # noqa: SLF001 - no public name
"""What librdkafka says of a partition in the topic's metadata that has no leader."""
# transient errors of librdkafka after a leader died, until it learns of the next one
_TRANSIENT = frozenset(
    {
        _NO_LEADER,
        KafkaError._TRANSPORT,  # noqa: SLF001 - no public name
        KafkaError._DESTROY_BROKER,  # noqa: SLF001 - no public name
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)
_NO_RECORD_S = 30.0
"""Longer than a stopped leader keeps its partitions."""
_RECORDS_A_READ = 1000
"""A call of librdkafka costs microseconds: spread over a thousand records that is negligible."""
_POLL_S = 0.5
"""A signal is handled within this time; a read that ends early is repeated."""


class SentRecordReader:
    """Reads one topic, with a client of its own.

    Parameters
    ----------
    client
        Configuration of librdkafka.
    clock
        Used for waiting.
    """

    def __init__(self, client: Mapping[str, ClientSetting], topic: str, clock: Clock | None = None) -> None:
        self._settings = dict(client)
        self._topic = topic
        self._clock = clock or SystemClock()

    def end_offsets(self) -> Mapping[int, int]:
        """End offset of every partition.

        Raises
        ------
        UsageError
            If librdkafka rejects the configuration.
        KafkabalError
            If the brokers do not respond, or refuse.
        """
        with _consumer(self._settings) as consumer:
            return {p: end for p, (_, end) in self._watermarks(consumer).items()}

    def messages_since(self, offsets: Mapping[int, int], *, clock: Callable[[], float]) -> Iterator[Message]:
        """All records at or after these offsets, up to the current end; partitions not listed start at offset 0.

        Raises
        ------
        UnsafeError
            If some of them were deleted before they were read.
        OperationError
            If a partition ends before its offset: the cluster has lost records.
        UnreachableError
            If no record arrives for 30 seconds although there must be more.
        """
        with _consumer({**self._settings, "enable.partition.eof": True}) as consumer:
            ranges = self._ranges(self._watermarks(consumer), offsets)
            consumer.assign([TopicPartition(self._topic, p, start) for p, (start, _) in ranges.items()])
            yield from self._read_to_ends(consumer, {p: end for p, (_, end) in ranges.items()}, clock)

    def _watermarks(self, consumer: Consumer) -> Mapping[int, tuple[int, int]]:
        metadata = self._ask_with_retries(partial(consumer.list_topics, self._topic))
        return {
            p: self._ask_with_retries(
                partial(consumer.get_watermark_offsets, TopicPartition(self._topic, p), cached=False)
            )
            for p in sorted(metadata.topics[self._topic].partitions)
        }

    def _ask_with_retries(self, ask: Callable[..., _V]) -> _V:
        """librdkafka's response; retried while a dead leader is being replaced."""
        deadline = Deadline(ANSWER_S, self._clock)
        while True:
            try:
                return ask(timeout=deadline.remaining_s)
            except KafkaException as error:
                if error.args[0].code() not in _TRANSIENT or deadline.remaining_s < _PAUSE_S:
                    raise self._error_of(error.args[0]) from error
            self._clock.sleep(_PAUSE_S)

    def _ranges(
        self, marks: Mapping[int, tuple[int, int]], offsets: Mapping[int, int]
    ) -> Mapping[int, tuple[int, int]]:
        """The offsets to read, for every partition that has any."""
        ranges = {}
        for p, (first, end) in marks.items():
            start = offsets.get(p, 0)
            if end < start:
                raise OperationError(
                    f"{self._topic}-{p} ends at offset {end}, before the acknowledged offset {start}",
                    hint="records were lost, as after an unclean leader election; send everything to a new topic",
                )
            if first > start and p in offsets:
                raise UnsafeError(
                    f"{self._topic}-{p} begins at offset {first}: records from {start} on were deleted before "
                    "kafkabal could check which were sent",
                    hint="to send everything again, name a new file with --manifest",
                )
            if end > max(first, start):
                ranges[p] = (max(first, start), end)
        return ranges

    def _read_to_ends(self, consumer: Consumer, ends: dict[int, int], clock: Callable[[], float]) -> Iterator[Message]:
        last_s = clock()
        while ends:
            for message in consumer.consume(_RECORDS_A_READ, _POLL_S):
                last_s = clock()
                partition, offset, fault = message.partition() or 0, message.offset() or 0, message.error()
                if fault is not None and fault.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - no public name
                    raise error_of(fault, self._topic)
                if fault is None and offset < ends.get(partition, 0):
                    yield message
                if fault is not None or offset + 1 >= ends.get(partition, 0):
                    ends.pop(partition, None)
            if clock() - last_s > _NO_RECORD_S:
                raise UnreachableError(
                    f"cannot read topic {self._topic} to its end", hint="check the brokers with 'kafkabal inspect'"
                )

    def _error_of(self, fault: KafkaError) -> KafkabalError:
        if fault.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return unknown_topic(self._topic)
        if fault.code() == _NO_LEADER:
            return UnreachableError(
                f"a partition of topic {self._topic} has no leader",
                hint="'kafkabal inspect' shows which brokers are dead; try again once they are back",
            )
        error = error_of(fault, self._topic)
        if isinstance(error, UnreachableError):
            servers = self._settings.get("bootstrap.servers", "the brokers")
            return UnreachableError(
                f"no response from {servers} within {ANSWER_S:.0f} s",
                hint="check the brokers with 'kafkabal inspect'",
            )
        return error


@contextmanager
def _consumer(settings: Mapping[str, ClientSetting]) -> Iterator[Consumer]:
    """A consumer without a group, which commits nothing."""
    try:
        consumer = Consumer({**settings, "group.id": "kafkabal", "enable.auto.commit": False})
    except KafkaException as error:
        raise config_error_of(error.args[0]) from error
    try:
        yield consumer
    finally:
        consumer.close()
