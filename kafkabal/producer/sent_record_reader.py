"""Reads the records of a topic back, to find those that an interrupted run has sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaError, KafkaException, Message, TopicPartition

from kafkabal.clusters import Clock, Deadline, SystemClock
from kafkabal.config import ANSWER_S, ClientSetting
from kafkabal.errors import KafkabalError, OperationError, UnreachableError, UnsafeError, unknown_topic
from kafkabal.producer.librdkafka_errors import config_error_of, error_of
from kafkabal.wording import first_of, plural

_PAUSE_S = 0.2
"""Pause between retries; a new leader is elected within about a second."""
# transient errors of librdkafka after a leader died, until it learns of the next one
_TRANSIENT = frozenset(
    {
        KafkaError._UNKNOWN_PARTITION,  # noqa: SLF001 - no public name
        KafkaError._TRANSPORT,  # noqa: SLF001 - no public name
        KafkaError._DESTROY_BROKER,  # noqa: SLF001 - no public name
        KafkaError.LEADER_NOT_AVAILABLE,
        KafkaError.NOT_LEADER_FOR_PARTITION,
    }
)
_CREATION_S = 60.0
"""Brokers take up to 10 ms to create a partition, and meanwhile deny that they lead it: 20 s for 2,000 on two cores."""
_NO_RECORD_S = 30.0
"""Longer than a stopped leader keeps its partitions."""
_RECORDS_A_READ = 1000
"""A call of librdkafka costs microseconds: spread over a thousand records that is negligible."""
_POLL_S = 0.5
"""A signal is handled within this time; a read that ends early is repeated."""


class _Watermarks(NamedTuple):
    """Offsets of the first record of a partition, and after its last."""

    first: int
    end: int


class SentRecordReader:
    """Reads one topic, with a client of its own.

    Parameters
    ----------
    client
        Configuration of librdkafka.
    clock
        Limits how long is waited.
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
            return {p: marks.end for p, marks in self._watermarks(consumer).items()}

    def messages_since(self, offsets: Mapping[int, int]) -> Iterator[Message]:
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
            yield from self._read_to_ends(consumer, {p: end for p, (_, end) in ranges.items()})

    def _watermarks(self, consumer: Consumer) -> Mapping[int, _Watermarks]:
        """First and end offset of every partition; asked again while a dead leader is being replaced."""
        response, creation = Deadline(ANSWER_S, self._clock), Deadline(_CREATION_S, self._clock)
        while True:
            without_leader: list[int] = []
            try:
                topic = consumer.list_topics(self._topic, timeout=ANSWER_S).topics[self._topic]
                if topic.error is not None:
                    raise KafkaException(topic.error)
                without_leader = sorted(p for p, facts in topic.partitions.items() if facts.leader < 0)
                if not without_leader:
                    first, end = (
                        self._offsets(consumer, sorted(topic.partitions), edge)
                        for edge in (OFFSET_BEGINNING, OFFSET_END)
                    )
                    return {p: _Watermarks(first[p], end[p]) for p in first}
            except KafkaException as error:
                code = error.args[0].code()
                limit = creation if code == KafkaError.NOT_LEADER_FOR_PARTITION else response
                if code not in _TRANSIENT or limit.remaining_s < _PAUSE_S:
                    raise self._error_of(error.args[0]) from error
            if without_leader and response.remaining_s < _PAUSE_S:
                raise self._no_leader(without_leader)
            self._clock.sleep(_PAUSE_S)

    def _offsets(self, consumer: Consumer, partitions: list[int], edge: int) -> dict[int, int]:
        """The first or the end offset of every partition, in one request per broker.

        A request per partition would take a second for every thousand of them on a fast network. Kafka's ListOffsets
        takes these two constants in place of a time.
        """
        found = consumer.offsets_for_times([TopicPartition(self._topic, p, edge) for p in partitions], timeout=ANSWER_S)
        for partition in found:
            if partition.error is not None:
                raise KafkaException(partition.error)
        return {partition.partition: partition.offset for partition in found}

    def _no_leader(self, partitions: list[int]) -> UnreachableError:
        names = first_of([f"{self._topic}-{p}" for p in partitions])
        return UnreachableError(
            f"no leader: {plural(len(partitions), 'partition')} {names}",
            hint="'kafkabal inspect' shows which brokers are dead; try again once they are back",
        )

    def _ranges(self, marks: Mapping[int, _Watermarks], offsets: Mapping[int, int]) -> Mapping[int, tuple[int, int]]:
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

    def _read_to_ends(self, consumer: Consumer, ends: dict[int, int]) -> Iterator[Message]:
        last_s = self._clock.monotonic()
        while ends:
            for message in consumer.consume(_RECORDS_A_READ, _POLL_S):
                last_s = self._clock.monotonic()
                partition, offset, fault = message.partition() or 0, message.offset() or 0, message.error()
                if fault is not None and fault.code() != KafkaError._PARTITION_EOF:  # noqa: SLF001 - no public name
                    raise error_of(fault, self._topic)
                if fault is None and offset < ends.get(partition, 0):
                    yield message
                if fault is not None or offset + 1 >= ends.get(partition, 0):
                    ends.pop(partition, None)
            if self._clock.monotonic() - last_s > _NO_RECORD_S:
                raise UnreachableError(
                    f"cannot read topic {self._topic} to its end", hint="check the brokers with 'kafkabal inspect'"
                )

    def _error_of(self, fault: KafkaError) -> KafkabalError:
        if fault.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return unknown_topic(self._topic)
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
