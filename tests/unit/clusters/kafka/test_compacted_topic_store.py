"""Records in our own topic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import CreateTopicsResponse
from kafka.protocol.consumer import FetchResponse, ListOffsetsResponse
from kafka.protocol.metadata import MetadataResponse
from kafka.protocol.producer import ProduceResponse
from kafka.record import MemoryRecords

from kafkabal.clusters.kafka.broker_address import Address
from kafkabal.clusters.kafka.compacted_topic_store import CompactedTopicStore, idle_first
from kafkabal.clusters.kafka.kafka_client import KnownBroker
from kafkabal.errors import NotAuthorizedError, RefusedByClusterError, TemporaryRefusalError, UnreachableError

_TOPIC = MetadataResponse.MetadataResponseTopic


class Log:
    """One partition on broker 1, appended to by Produce and read by Fetch a batch at a time."""

    def __init__(self, cluster: Any) -> None:
        self.cluster = cluster
        self.batches: list[bytes] = []
        self.codes: list[int] = []
        """What the next writes are answered with instead."""
        cluster.answer("Produce", self.produce)
        cluster.answer("Fetch", self.fetch)
        cluster.answer("ListOffsets", self.list_offsets)
        cluster.answer("CreateTopics", self.create)

    def exist(self) -> None:
        """Let the topic be there."""
        partition = _TOPIC.MetadataResponsePartition(
            partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1], offline_replicas=[]
        )
        self.cluster.strangers = [_TOPIC(name="__kafkabal", error_code=0, partitions=[partition])]

    def create(self, request: Any) -> Any:
        """Create the topic."""
        self.exist()
        kind = CreateTopicsResponse.CreatableTopicResult
        return CreateTopicsResponse(topics=[kind(name="__kafkabal", error_code=0)])

    def produce(self, request: Any) -> Any:
        """Append a batch, given its offset, or refuse."""
        code = self.codes.pop(0) if self.codes else 0
        if not code:
            batch = bytes(request.topic_data[0].partition_data[0].records)
            self.batches.append(len(self.batches).to_bytes(8, "big") + batch[8:])
        kind = ProduceResponse.TopicProduceResponse
        partition = kind.PartitionProduceResponse(index=0, error_code=code, base_offset=0, record_errors=[])
        return ProduceResponse(responses=[kind(name="__kafkabal", partition_responses=[partition])])

    def fetch(self, request: Any) -> Any:
        """Return the batch at an offset."""
        at = request.topics[0].partitions[0].fetch_offset
        kind = FetchResponse.FetchableTopicResponse
        partition = kind.PartitionData(
            partition_index=0, error_code=0, high_watermark=0, aborted_transactions=[], records=self.batches[at]
        )
        return FetchResponse(error_code=0, responses=[kind(topic="__kafkabal", partitions=[partition])])

    def list_offsets(self, request: Any) -> Any:
        """The log starts at 0."""
        end = len(self.batches) if request.topics[0].partitions[0].timestamp == -1 else 0
        kind = ListOffsetsResponse.ListOffsetsTopicResponse
        partition = kind.ListOffsetsPartitionResponse(partition_index=0, error_code=0, offset=end)
        return ListOffsetsResponse(topics=[kind(name="__kafkabal", partitions=[partition])])


@pytest.fixture
def cluster(fake_cluster: Callable[..., Any]) -> Any:
    """Four brokers whose first leads the topic."""
    return fake_cluster(4)


@pytest.fixture
def log(cluster: Any) -> Log:
    """The log of the topic."""
    return Log(cluster)


@pytest.fixture
def store(cluster: Any, log: Log, make_client: Callable[..., Any]) -> CompactedTopicStore:
    """The store on it."""
    return CompactedTopicStore(make_client(cluster.settings(request_timeout_s=5.0)))


def test_a_missing_topic_reads_as_empty(store: CompactedTopicStore, cluster: Any) -> None:
    """Reading does not create the topic."""
    assert store.get_all() == {}
    assert cluster.asked("CreateTopics") == []


@pytest.mark.parametrize(
    ("avoid", "replicas"), [((), [1, 2, 3]), ((2, 3), [1, 4]), ((1, 3, 4), [2]), ((1, 2, 3, 4), [1, 2, 3])]
)
def test_the_topic_is_created_on_no_broker_that_is_being_drained(
    avoid: tuple[int, ...], replicas: list[int], cluster: Any, log: Log, make_client: Callable[..., Any]
) -> None:
    """It would hold a broker that is to be stopped; with two brokers left, nothing could take over a third replica."""
    CompactedTopicStore(make_client(cluster.settings(request_timeout_s=5.0)), avoid=avoid).put("a", b"1")

    (request,) = cluster.asked("CreateTopics")
    assert request.topics[0].assignments[0].broker_ids == replicas


def test_the_last_value_of_a_key_counts(store: CompactedTopicStore) -> None:
    """Values can be overwritten, deleted, empty or large, and are returned unchanged."""
    store.put("a", b"1")
    store.put("b", b"2")
    store.put("a", b"x" * 2_000_000)
    store.put("b", None)
    store.put("c", b"")
    assert store.get_all() == {"a": b"x" * 2_000_000, "c": b""}


class _OfOthers(str):
    """A key that is not UTF-8 text."""

    __slots__ = ()

    def encode(self, *_: Any) -> bytes:
        """The bytes that are written."""
        return b"\xff\x00"


def test_records_of_others_are_ignored(store: CompactedTopicStore) -> None:
    """A key that is none of ours does not keep the rest from being read."""
    store.put("a", b"1")
    store.put(_OfOthers("other"), b"2")
    store.put("b", b"3")
    assert store.get_all() == {"a": b"1", "b": b"3"}


def test_what_was_read_is_not_read_again(store: CompactedTopicStore, log: Log, cluster: Any) -> None:
    """A second read fetches only new records; a topic that was created again is read from its beginning."""
    store.put("a", b"1")
    store.put("b", b"2")
    assert store.get_all() == {"a": b"1", "b": b"2"}
    assert store.get_all() == {"a": b"1", "b": b"2"}
    store.put("b", b"3")
    assert store.get_all() == {"a": b"1", "b": b"3"}
    assert [request.topics[0].partitions[0].fetch_offset for request in cluster.asked("Fetch")] == [0, 1, 2]
    log.batches.clear()
    store.put("c", b"4")
    assert store.get_all() == {"c": b"4"}


def test_records_are_compressed_and_acknowledged_by_all(store: CompactedTopicStore, cluster: Any) -> None:
    """A run writes text, which must be safe before the run continues."""
    store.put("a", b"x" * 2_000_000)
    (request,) = cluster.asked("Produce")
    assert request.acks == -1
    batch = bytes(request.topic_data[0].partition_data[0].records)
    assert len(batch) < 100_000
    assert MemoryRecords(batch).next_batch().validate_crc()


def test_the_first_write_creates_the_topic(store: CompactedTopicStore, cluster: Any) -> None:
    """Compacted, three replicas on brokers with little load, two of them in sync for a write."""
    partition = _TOPIC.MetadataResponsePartition(
        partition_index=0, leader_id=1, replica_nodes=[1, 2], isr_nodes=[1, 2], offline_replicas=[]
    )
    cluster.topics = [_TOPIC(name="t", error_code=0, partitions=[partition])]
    store.put("a", b"1")
    (request,) = cluster.asked("CreateTopics")
    (topic,) = request.topics
    assert topic.assignments[0].broker_ids == [3, 4, 1]
    configs = {config.name: config.value for config in topic.configs}
    assert configs["cleanup.policy"] == "compact"
    assert configs["min.insync.replicas"] == "2"


def test_a_write_is_tried_again_while_the_leader_changes(store: CompactedTopicStore, log: Log) -> None:
    """Transient errors are waited out."""
    log.codes = [6, 19]
    store.put("a", b"1")
    assert store.get_all() == {"a": b"1"}


def test_a_write_without_a_response_is_repeated(
    store: CompactedTopicStore, log: Log, cluster: Any, hang_up: object
) -> None:
    """Writing the same value of a key twice does no harm."""
    log.exist()
    appended = log.produce
    lost = iter([hang_up])

    def produce(request: Any) -> Any:
        answer = appended(request)
        return next(lost, answer)

    cluster.answer("Produce", produce)
    store.put("a", b"1")
    assert len(log.batches) == 2
    assert store.get_all() == {"a": b"1"}


def test_a_write_that_is_refused_is_reported(store: CompactedTopicStore, log: Log) -> None:
    """A missing permission, and too large a value, are not retried."""
    log.codes = [29]
    with pytest.raises(NotAuthorizedError, match="write to topic __kafkabal"):
        store.put("a", b"1")
    log.codes = [10]
    with pytest.raises(RefusedByClusterError, match="MESSAGE_TOO_LARGE"):
        store.put("a", b"1")


def test_a_write_that_never_succeeds_ends_in_time(store: CompactedTopicStore, log: Log, cluster: Any) -> None:
    """Too few in-sync replicas for the whole time is an error that passes with time."""
    log.codes = [19] * 1000
    with pytest.raises(TemporaryRefusalError, match="NOT_ENOUGH_REPLICAS") as refused:
        store.put("a", b"1")
    assert "kafkabal inspect" in (refused.value.hint or "")


def test_a_reader_waits_for_a_new_leader(store: CompactedTopicStore, log: Log, cluster: Any, hang_up: object) -> None:
    """If the topic's leader has just died, another broker soon leads it."""
    store.put("a", b"1")
    fetched, lost = log.fetch, iter([hang_up])
    cluster.answer("Fetch", lambda request: next(lost, None) or fetched(request))
    assert store.get_all() == {"a": b"1"}


def test_a_reader_waits_while_the_leader_changes(store: CompactedTopicStore, log: Log, cluster: Any) -> None:
    """A broker that leads no more says so; the next metadata name the new leader."""
    store.put("a", b"1")
    fetched, codes = log.fetch, iter([6, 0])

    def fetch(request: Any) -> Any:
        answer = fetched(request)
        answer.responses[0].partitions[0].error_code = next(codes)
        return answer

    cluster.answer("Fetch", fetch)
    assert store.get_all() == {"a": b"1"}


def test_a_topic_without_a_leader_is_reported(store: CompactedTopicStore, log: Log, cluster: Any) -> None:
    """An unreadable topic is not taken for an empty one."""
    log.exist()
    cluster.strangers[0].partitions[0].leader_id = -1
    with pytest.raises(UnreachableError, match="cannot read topic __kafkabal: it has no leader"):
        store.get_all()


@pytest.mark.parametrize(
    ("led", "held", "order"),
    [
        ({}, {}, [1, 3, 4, 2, 5]),
        ({1: 3, 2: 3, 3: 3, 4: 3, 5: 2}, {}, [5, 1, 4, 3, 2]),
        ({1: 3, 2: 3, 3: 3, 4: 3, 5: 2}, {1: 7, 2: 6, 3: 1, 4: 9, 5: 9}, [5, 2, 4, 3, 1]),
        ({1: 3, 2: 3, 3: 2, 4: 3, 5: 2}, {3: 8, 5: 7}, [5, 1, 4, 3, 2]),
    ],
)
def test_replicas_go_to_brokers_with_little_and_over_racks(
    led: dict[int, int], held: dict[int, int], order: list[int]
) -> None:
    """The broker that leads least leads this topic too; replicas are on as many racks as possible."""
    nodes = {n: KnownBroker(Address("h", n), rack) for n, rack in ((1, "a"), (2, "a"), (3, "b"), (4, None), (5, "b"))}
    assert idle_first(nodes, led, held) == order
