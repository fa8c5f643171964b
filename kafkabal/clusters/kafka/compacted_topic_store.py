"""Small records by key in a compacted topic of our own, written and read without a producer or a consumer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.clusters.kafka.create_topics import create_topics
from kafkabal.clusters.kafka.error_mapping import (
    TOPIC_ALREADY_EXISTS,
    check,
    error_name,
    fault_of,
    not_authorized,
    translated,
)
from kafkabal.clusters.kafka.kafka_client import KafkaClient, KnownBroker, pauses
from kafkabal.clusters.kafka.leader_and_group_offsets import leader_offsets
from kafkabal.clusters.kafka.metadata import partition_status
from kafkabal.errors import RefusedByClusterError, TemporaryRefusalError, UnreachableError
from kafkabal.model import CLEANUP_POLICY, MAX_MESSAGE_BYTES, MIN_INSYNC_REPLICAS, TopicPartition

RECORDS_TOPIC = "__kafkabal"
_REPLICATION_FACTOR = 3
"""The run record must survive what a run may encounter: one dead broker, and another one restarting."""
_LARGEST_RECORD_BYTES = 10 * 2**20
"""Parts of a run take a quarter of a MB; requests and summaries take less. A topic with a smaller limit would reject a
large run half-way."""
# from version 13 on, requests name topics by id
_LAST_VERSION_WITH_NAMES = 12
_ALL_IN_SYNC_REPLICAS = -1
# multiples of the request timeout: a leader waits half a minute for a stopped follower before it continues without it;
# a reader only waits for a new leader, which is there 9 s after the death of the previous one
_LONGEST_WRITE, _LONGEST_READ, _LONGEST_ATTEMPT = 1.5, 2 / 3, 1 / 3
_WHAT_RESPONDS = "'kafkabal inspect' shows brokers, or a controller, that do not respond"
_MAGIC, _GZIP, _NO_TIMESTAMP = 2, 1, -1


class CompactedTopicStore:
    """The records of one cluster; the topic is created by the first write.

    The topic has one partition and the usual number of replicas, so that a written record stays as long as the cluster
    does. What has been read once is not read again.

    Parameters
    ----------
    topic
        Its name; by default that of run records.
    configs
        Configs for its creation, in addition to those of all our topics.
    avoid
        Ids of brokers that it is not created on, if there are others: a broker to be drained would hold it again, and
        if fewer brokers than replicas are left, none could take it over.
    """

    def __init__(
        self,
        client: KafkaClient,
        topic: str = RECORDS_TOPIC,
        configs: Mapping[str, str] = MappingProxyType({}),
        avoid: Collection[int] = (),
    ) -> None:
        self._client = client
        self._topic = topic
        self._configs = configs
        self._avoid = frozenset(avoid)
        self._partition = TopicPartition(topic, 0)
        self._found: dict[str, bytes] = {}
        self._read_to = 0
        """Offset up to which the topic is in ``_found``."""

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        """Write, and wait until all in-sync replicas have the record; None deletes the key.

        A write without a response is repeated: the last value of a key counts, so writing twice does no harm.

        Raises
        ------
        UnreachableError, TemporaryRefusalError
            If the record cannot be written in time.
        NotAuthorizedError
            If the principal may not create or write the topic.
        """
        deadline = self._deadline(_LONGEST_WRITE, within_s)
        batch = _batch(key, value)
        for pause_s in pauses():
            try:
                code, message = self._produce(batch, self._attempt(deadline))
            except UnreachableError as error:
                if deadline.remaining_s < pause_s:
                    raise self._out_of_reach("write to", error) from error
            else:
                if not fault_of(code).retriable or deadline.remaining_s < pause_s:
                    check(code, f"write to topic {self._topic}", message, permission=f"Write on topic {self._topic}")
                    return
            self._client.clock.sleep(pause_s)

    def get_all(self, *, within_s: float | None = None) -> dict[str, bytes]:
        """Everything that is stored now; empty if the topic does not exist.

        If the leader is dead, waits until another broker leads.

        Raises
        ------
        UnreachableError, TemporaryRefusalError
            If the topic cannot be read in time.
        NotAuthorizedError
            If the principal may not read the topic.
        """
        deadline = self._deadline(_LONGEST_READ, within_s)
        for pause_s in pauses():
            try:
                attempt = self._attempt(deadline)
                leader = self._leader(attempt)
                if leader is not None:
                    self._read_on(leader, attempt)
                break
            except UnreachableError as error:
                if deadline.remaining_s < pause_s:
                    raise self._out_of_reach("read", error) from error
            except TemporaryRefusalError:
                if deadline.remaining_s < pause_s:
                    raise
            self._client.clock.sleep(pause_s)
        return dict(self._found) if leader is not None else {}

    def _out_of_reach(self, action: str, error: UnreachableError) -> UnreachableError:
        """The error with what it keeps from being done: the broker is one that Kafka has chosen, not the user."""
        return type(error)(f"cannot {action} topic {self._topic}: {error.message}", hint=_WHAT_RESPONDS)

    def _deadline(self, longest: float, within_s: float | None) -> Deadline:
        longest_s = longest * self._client.settings.request_timeout_s
        return self._client.deadline(longest_s if within_s is None else min(within_s, longest_s))

    def _attempt(self, whole: Deadline) -> Deadline:
        """A part of the time: by the next attempt another broker may lead, or a follower may be out of sync."""
        return self._client.deadline(min(whole.remaining_s, _LONGEST_ATTEMPT * self._client.settings.request_timeout_s))

    def _leader(self, deadline: Deadline) -> int | None:
        """Id of the broker that leads the topic; None if the topic does not exist."""
        status = partition_status(self._client, [self._topic], deadline).get(self._partition)
        if status is not None and status.leader < 0:
            raise UnreachableError("it has no leader")
        return None if status is None else status.leader

    def _produce(self, batch: bytes, deadline: Deadline) -> tuple[int, str | None]:
        leader = self._leader(deadline)
        if leader is None:
            self._create()
            leader = self._leader(deadline)
        if leader is None:
            raise UnreachableError("it was created but is not yet known to all brokers")
        topic = ProduceRequest.TopicProduceData
        request = ProduceRequest(
            # with fewer, the broker that dies next may be the only one that knows of the run
            acks=_ALL_IN_SYNC_REPLICAS,
            timeout_ms=int(deadline.remaining_s * 1000),
            topic_data=[topic(name=self._topic, partition_data=[topic.PartitionProduceData(index=0, records=batch)])],
            max_version=_LAST_VERSION_WITH_NAMES,
        )
        response = self._client.call_broker(leader, request, deadline).responses[0].partition_responses[0]
        return response.error_code, response.error_message

    def _create(self) -> None:
        topics = self._client.metadata(None).topics
        led = Counter(p.leader_id for topic in topics for p in topic.partitions)
        held = Counter(broker for topic in topics for p in topic.partitions for broker in p.replica_nodes)
        nodes = self._client.nodes().by_id
        kept = {broker: node for broker, node in nodes.items() if broker not in self._avoid} or nodes
        replicas = idle_first(kept, led, held)[:_REPLICATION_FACTOR]
        topic = NewTopic(
            name=self._topic,
            assignment=(tuple(replicas),),
            configs={
                CLEANUP_POLICY: "compact",
                MAX_MESSAGE_BYTES: str(_LARGEST_RECORD_BYTES),
                MIN_INSYNC_REPLICAS: str(max(1, len(replicas) - 1)),
                **self._configs,
            },
        )
        for fault in create_topics(self._client, [topic], validate_only=False).values():
            if fault.name.endswith("AUTHORIZATION_FAILED"):
                raise not_authorized(
                    f"cannot create topic {self._topic}: {fault.name}", f"CREATE on topic {self._topic}"
                )
            if fault.name != error_name(TOPIC_ALREADY_EXISTS):
                raise RefusedByClusterError(f"cannot create topic {self._topic}: {fault}")

    def _read_on(self, leader: int, deadline: Deadline) -> None:
        offsets = leader_offsets(self._client, leader, [self._partition], deadline)
        if self._partition not in offsets.end or self._partition not in offsets.start:
            raise UnreachableError(f"broker {leader} did not report its offsets")
        start, end = offsets.start[self._partition], offsets.end[self._partition]
        if end < self._read_to:  # the topic was re-created
            self._found, self._read_to = {}, 0
        self._read_to = max(self._read_to, start)
        while self._read_to < end:
            before = self._read_to
            for batch in self._fetch(leader, self._read_to, deadline):
                for record in batch:
                    self._take(bytes(record.key or b""), record.value)
                self._read_to = batch.next_offset
            if self._read_to == before and deadline.is_over:
                raise UnreachableError("its end was not reached in time")

    def _take(self, raw_key: bytes, value: bytes | None) -> None:
        try:
            key = raw_key.decode()
        except UnicodeDecodeError:
            return  # not a record of ours: other writers of the topic must not keep every command from reading it
        if value is None:
            self._found.pop(key, None)
        else:
            self._found[key] = value

    def _fetch(self, leader: int, offset: int, deadline: Deadline) -> Iterator[Any]:
        kind = FetchRequest.FetchTopic
        partition = kind.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=2 * _LARGEST_RECORD_BYTES)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=100,
            min_bytes=1,
            topics=[kind(topic=self._topic, partitions=[partition])],
            max_version=_LAST_VERSION_WITH_NAMES,
        )
        response = self._client.call_broker(leader, request, deadline)
        check(response.error_code, f"read topic {self._topic}", permission=f"Read on topic {self._topic}")
        found = response.responses[0].partitions[0]
        check(found.error_code, f"read topic {self._topic}", permission=f"Read on topic {self._topic}")
        from kafka.record import MemoryRecords  # no command needs it before a broker has responded

        with translated(f"topic {self._topic}"):
            yield from MemoryRecords(bytes(found.records or b""))


def idle_first(nodes: Mapping[int, KnownBroker], led: Mapping[int, int], held: Mapping[int, int]) -> list[int]:
    """Broker ids in the order in which to place replicas, so that our own topic puts no broker outside its band.

    First the broker that leads the fewest partitions, then one of each rack in turn, starting with those that hold
    fewest.
    """
    leader = min(nodes, key=lambda broker: (led.get(broker, 0), held.get(broker, 0), broker))
    racks: dict[str | None, list[int]] = {nodes[leader].rack: [leader]}
    for broker in sorted(nodes.keys() - {leader}, key=lambda broker: (held.get(broker, 0), broker)):
        racks.setdefault(nodes[broker].rack, []).append(broker)
    return [broker for turn in zip_longest(*racks.values()) for broker in turn if broker is not None]


def _batch(key: str, value: bytes | None) -> bytes:
    """A batch without a timestamp: one over an hour ahead would be rejected, and the run would end (KIP-937)."""
    from kafka.record import MemoryRecordsBuilder

    builder = MemoryRecordsBuilder(_MAGIC, _GZIP, 2 * _LARGEST_RECORD_BYTES)
    builder.append(timestamp=_NO_TIMESTAMP, key=key.encode(), value=value)
    builder.close()
    return bytes(builder.buffer())
