"""What must be known of a topic before records are sent to it, and looked for in it."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, ConfigResource, ResourceType  # type: ignore[attr-defined]

from kafkabal.errors import OperationError, UnreachableError, UnsafeError, UsageError
from kafkabal.routing.producer.faults import config_error_of, error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from confluent_kafka import Message

    from kafkabal.config.librdkafka import ClientSetting
    from kafkabal.errors import KafkabalError

_ANSWER_S = 15.0
_SILENCE_S = 30.0
_RECORDS_A_READ = 1000
_POLL_S = 0.5
_DEFAULT_MAX_BYTES = 1_048_588
_AS_KAFKA_WRITES_IDS = str.maketrans("+/", "-_", "=")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFacts:
    """A topic as it is now."""

    cluster_id: str
    topic: str
    topic_id: str
    partitions: int
    max_record_bytes: int
    """``max.message.bytes``, or Kafka's default where it may not be read."""
    is_compacted: bool


class TopicReader:
    """Asks the brokers about one topic, and reads it, with a client of its own.

    Parameters
    ----------
    client
        Configuration of librdkafka.

    Raises
    ------
    UsageError
        If librdkafka does not take it.
    """

    def __init__(self, client: Mapping[str, ClientSetting], topic: str) -> None:
        self._settings = dict(client)
        self._topic = topic
        try:
            self._admin = AdminClient(self._settings)
        except KafkaException as error:
            raise config_error_of(error.args[0]) from error

    def facts(self) -> TopicFacts:
        """What the topic is now.

        Raises
        ------
        UsageError
            If there is no such topic.
        KafkabalError
            If the brokers do not answer, or refuse.
        """
        try:
            described = self._admin.describe_topics(TopicCollection([self._topic]), request_timeout=_ANSWER_S)
            topic = described[self._topic].result()
            cluster_id = self._admin.describe_cluster(request_timeout=_ANSWER_S).result().cluster_id
        except KafkaException as error:
            raise self._missing_or(error.args[0]) from error
        configs = self._configs()
        return TopicFacts(
            cluster_id=cluster_id or "",
            topic=self._topic,
            topic_id=str(topic.topic_id).translate(_AS_KAFKA_WRITES_IDS),
            partitions=len(topic.partitions),
            max_record_bytes=int(configs.get("max.message.bytes", _DEFAULT_MAX_BYTES)),
            is_compacted="compact" in configs.get("cleanup.policy", ""),
        )

    def end_offsets(self) -> Mapping[int, int]:
        """End offset of every partition."""
        with _consumer(self._settings) as consumer:
            return {p: end for p, (_, end) in self._watermarks(consumer).items()}

    def messages_since(self, offsets: Mapping[int, int], *, clock: Callable[[], float]) -> Iterator[Message]:
        """All records at or after these offsets, up to the ends as they are now; a partition not named, from 0.

        Raises
        ------
        UnsafeError
            If some of them were deleted before they could be read.
        OperationError
            If a partition ends before its offset: the cluster has lost records.
        UnreachableError
            If no record comes for 30 seconds although more must be there.
        """
        with _consumer({**self._settings, "enable.partition.eof": True}) as consumer:
            ranges = self._ranges(self._watermarks(consumer), offsets)
            consumer.assign([TopicPartition(self._topic, p, start) for p, (start, _) in ranges.items()])
            yield from self._until_ends(consumer, {p: end for p, (_, end) in ranges.items()}, clock)

    def _watermarks(self, consumer: Consumer) -> Mapping[int, tuple[int, int]]:
        try:
            partitions = consumer.list_topics(self._topic, timeout=_ANSWER_S).topics[self._topic].partitions
            found = {
                p: consumer.get_watermark_offsets(TopicPartition(self._topic, p), timeout=_ANSWER_S, cached=False)
                for p in sorted(partitions)
            }
        except KafkaException as error:
            raise self._missing_or(error.args[0]) from error
        return found

    def _ranges(
        self, marks: Mapping[int, tuple[int, int]], offsets: Mapping[int, int]
    ) -> Mapping[int, tuple[int, int]]:
        """Offsets to read of every partition that has any."""
        ranges = {}
        for p, (first, end) in marks.items():
            start = offsets.get(p, 0)
            if end < start:
                raise OperationError(
                    f"{self._topic}-{p} ends at offset {end}, before {start}, which was acknowledged",
                    hint="the cluster has lost records, as after an unclean leader election; send anew to a new topic",
                )
            if first > start and p in offsets:
                raise UnsafeError(
                    f"{self._topic}-{p} begins at offset {first}: records since {start} were deleted before it could "
                    "be seen which of them were sent",
                    hint="name another file with --manifest to send everything again",
                )
            if end > max(first, start):
                ranges[p] = (max(first, start), end)
        return ranges

    def _until_ends(self, consumer: Consumer, ends: dict[int, int], clock: Callable[[], float]) -> Iterator[Message]:
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
            if clock() - last_s > _SILENCE_S:
                raise UnreachableError(f"topic {self._topic} could not be read to its end", hint="is a broker down?")

    def _configs(self) -> Mapping[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, self._topic)
        try:
            entries = self._admin.describe_configs([resource], request_timeout=_ANSWER_S)[resource].result()
        except KafkaException:
            return {}  # the principal may write, but not see the configuration
        return {name: entry.value for name, entry in entries.items()}

    def _missing_or(self, fault: KafkaError) -> KafkabalError:
        if fault.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            return UsageError(f"there is no topic {self._topic!r}", hint=f"kafkabal create {self._topic}")
        error = error_of(fault, self._topic)
        if isinstance(error, UnreachableError):
            servers = self._settings.get("bootstrap.servers", "the brokers")
            return UnreachableError(
                f"no answer from {servers} within {_ANSWER_S:.0f} s",
                hint="is a broker down? kafkabal inspect shows which of them answer",
            )
        return error


@contextmanager
def _consumer(settings: Mapping[str, ClientSetting]) -> Iterator[Consumer]:
    """A consumer that belongs to no group and commits nothing."""
    consumer = Consumer({**settings, "group.id": "kafkabal", "enable.auto.commit": False})
    try:
        yield consumer
    finally:
        consumer.close()
