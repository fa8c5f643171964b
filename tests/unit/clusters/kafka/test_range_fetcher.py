"""Fetching under a quota, and from the next leader when one dies."""

from __future__ import annotations

import statistics
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from kafka.protocol.consumer import FetchRequest

from kafkabal.clusters.kafka import fetched_range, range_fetcher, record_batches, topic_replicas
from kafkabal.clusters.kafka.fetch_response import PartitionResponse, TopicResponse, fetch_responses
from kafkabal.clusters.kafka.range_fetcher import RangeFetcher
from kafkabal.clusters.kafka.topic_replicas import TopicReplicas
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.config import ConnectionSettings
from kafkabal.errors import DriftError, NoResponseError, RefusedByClusterError, UnreachableError
from tests.unit.clusters.kafka.pack_batch import pack_batch

pytestmark = pytest.mark.usefixtures("records_are_found_by")

NOT_LEADER = 6
RECORDS = 400
RECORD_BYTES = 10_000
TOTAL_BYTES = RECORDS * RECORD_BYTES
GZIP = 1


class ThrottlingBroker:
    """A partition of one-record batches; returns nothing if a response exceeds the remaining quota."""

    def __init__(self) -> None:
        self.left_bytes: float = 0
        self.refill_bytes: float = 100_000
        """With every response that is held back."""
        self.asked: list[int] = []
        self.empty = 0
        self.compressed: dict[int, list[bytes]] = {}
        """Batches of partitions that have others."""
        record = (1000, None, bytes(RECORD_BYTES - 75), ())
        self._batches = [pack_batch(offset, [record]) for offset in range(RECORDS)]

    def call_broker(self, _: int, request: Any, in_place: Any = None) -> PartitionResponse:
        """Respond, or throttle the connection."""
        asked = request.topics[0].partitions[0]
        self.asked.append(asked.partition_max_bytes)
        batches = self.compressed.get(asked.partition, self._batches)
        size = max(asked.partition_max_bytes, len(batches[asked.fetch_offset]))  # one whole batch in any case
        packed = b"".join(batches[asked.fetch_offset :])[:size]
        if len(packed) > self.left_bytes:
            self.left_bytes += self.refill_bytes
            self.empty += 1
            return PartitionResponse(0, memoryview(b""), throttle_ms=100)
        self.left_bytes -= len(packed)
        return PartitionResponse(0, memoryview(packed))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> ThrottlingBroker:
    """The fetcher's client."""
    found = ThrottlingBroker()
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: found)
    return found


def _fetcher(clock: FakeClock | None = None) -> RangeFetcher:
    found = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", clock=clock or FakeClock())
    found._replicas._located.replicas = {p: topic_replicas.Replica(1, 1) for p in range(2)}
    return found


def _offsets(fetcher: RangeFetcher) -> list[int]:
    return [record[0] for record in fetcher.fetch(0, 0, RECORDS, TOTAL_BYTES).records]


def test_a_broker_that_throttles_is_asked_for_less(broker: ThrottlingBroker) -> None:
    """When throttled, the fetcher requests ever smaller responses, down to 256 KiB, and still gets each record once."""
    fetcher = _fetcher()
    assert _offsets(fetcher) == list(range(RECORDS))
    assert broker.asked[0] >= TOTAL_BYTES
    assert statistics.median(broker.asked) == pytest.approx(256 * 1024, rel=0.3)
    # as soon as the quota has 256 KiB left it is used; a response of 4 MB would have waited for all of them
    assert broker.empty <= 1.3 * TOTAL_BYTES / broker.refill_bytes


def test_a_compressed_topic_is_fetched_once(broker: ThrottlingBroker) -> None:
    """Given the sizes of its records uncompressed, as a manifest of counted records has them, a reader of blocks
    requests no more than they take in the log; what another partition takes does not matter."""
    broker.left_bytes = float("inf")
    compressed = [pack_batch(n, [(1000, None, bytes(RECORD_BYTES), ())], codec=GZIP) for n in range(RECORDS)]
    broker.compressed = {1: compressed}
    fetcher = _fetcher()
    fetched = [fetcher.fetch(p, begin, begin + 20, 20 * RECORD_BYTES) for begin in range(0, 200, 20) for p in (1, 0)]
    assert [record[0] for each in fetched[::2] for record in each.records] == list(range(200))
    # the first one tells how well it is compressed; room for one more batch is always requested
    requested = 1.2 * sum(map(len, compressed[20:200])) + 9 * 1.2 * RECORD_BYTES
    assert sum(each.bytes_by_broker[1] for each in fetched[2::2]) < requested
    assert len(broker.asked) <= len(fetched) + 2


def test_the_part_of_a_batch_before_a_range_is_not_of_its_density(broker: ThrottlingBroker) -> None:
    """A range that begins at the end of a large batch requests the rest by its expected size."""
    broker.left_bytes = float("inf")
    large = pack_batch(0, [(1000, None, bytes(RECORD_BYTES), ())] * 100)
    broker.compressed = {0: [*[b""] * 90, large, *[b""] * 9, *broker._batches[100:]]}
    fetched = _fetcher().fetch(0, 90, 140, 50 * RECORD_BYTES)
    assert [record[0] for record in fetched.records] == list(range(90, 140))
    assert broker.asked[1] < 1.1 * 40 * RECORD_BYTES


def test_records_that_are_smaller_than_expected_are_not_taken_for_compressed(broker: ThrottlingBroker) -> None:
    """As where the size of a partition is unknown: what is expected of the next range is its size, not a fraction."""
    broker.left_bytes = float("inf")
    fetcher = _fetcher()
    fetcher.fetch(0, 0, 4, 100 * 4 * RECORD_BYTES)
    broker.asked.clear()
    fetcher.fetch(0, 200, 300, 100 * RECORD_BYTES)
    assert len(broker.asked) == 1


@pytest.mark.parametrize("passes_on", [False, True])
def test_nothing_is_requested_after_the_last_record(
    broker: ThrottlingBroker, passes_on: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A range whose records are followed by aborted transactions ends with the last one, if their number is known."""
    for module in (range_fetcher, fetched_range):
        monkeypatch.setattr(module, "AT_ONCE_BYTES", 1 if passes_on else 2**25)
    broker.left_bytes = float("inf")
    passed_on: list[int] = []
    fetched = _fetcher().fetch(
        0, 0, RECORDS, 5 * RECORD_BYTES, lambda records: passed_on.extend(r[0] for r in records), most=6
    )
    assert [*passed_on, *(record[0] for record in fetched.records)] == list(range(6))
    assert bool(passed_on) is passes_on
    assert len(broker.asked) == 1


@pytest.mark.parametrize("share", [2, 40, 400])
def test_aborted_transactions_within_a_range_take_few_requests(broker: ThrottlingBroker, share: int) -> None:
    """Where records are a small share of the log, as between aborted transactions, the first response tells how large
    the rest is; and nearly nothing is fetched twice."""
    broker.left_bytes = float("inf")
    fetched = _fetcher().fetch(0, 0, RECORDS, TOTAL_BYTES // share)
    assert [record[0] for record in fetched.records] == list(range(RECORDS))
    assert len(broker.asked) <= 3
    assert fetched.bytes_by_broker[1] < 1.1 * TOTAL_BYTES


def test_without_a_quota_responses_grow_again(broker: ThrottlingBroker) -> None:
    """Once it is no longer throttled, a range comes in one response again."""
    fetcher = _fetcher()
    _offsets(fetcher)
    broker.left_bytes = float("inf")
    for _ in range(3):
        _offsets(fetcher)
    broker.asked.clear()
    assert _offsets(fetcher) == list(range(RECORDS))
    assert len(broker.asked) == 1


@pytest.mark.parametrize("throttle_s", [3.0, 45.0])
def test_a_quota_is_waited_for(throttle_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long a quota holds a range back, it is read once other clients leave some of it, with a warning; no
    request is sent while the broker ignores the connection, and the seconds count as those of the broker."""
    clock = FakeClock()
    began_s = taken_from_s = clock.monotonic()

    def call_broker(number: int, request: Any, in_place: Any = None) -> PartitionResponse:
        nonlocal taken_from_s
        if clock.monotonic() < taken_from_s:
            clock.sleep(30)
            raise UnreachableError("no response within 30 s")
        if clock.monotonic() < began_s + 150:
            taken_from_s = clock.monotonic() + throttle_s
            return PartitionResponse(0, memoryview(b""), throttle_ms=round(1000 * throttle_s))
        return PartitionResponse(0, memoryview(pack_batch(0, [(1000, None, b"x", ())])))

    settings = ConnectionSettings(bootstrap_servers=("h:1",), client_id="trainer")
    client = SimpleNamespace(call_broker=call_broker, settings=settings)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    with pytest.warns(UserWarning, match=r"topic t: broker 1 sent nothing for a minute: a quota .*trainer"):
        fetched = _fetcher(clock).fetch(0, 0, 1, 1)
    assert [record[0] for record in fetched.records] == [0]
    assert fetched.seconds_by_broker[1] == pytest.approx(clock.monotonic() - began_s)


@pytest.mark.parametrize("outages", [1, 2])
def test_time_for_which_the_process_was_suspended_is_no_silence(outages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that spans an hour's pause is sent again, while brokers that time out are given up after a minute."""
    clock, asked_s = FakeClock(), []

    def call_broker(*_: Any, **__: Any) -> PartitionResponse:
        asked_s.append(clock.monotonic())
        if len(asked_s) <= outages:
            clock.sleep(3600.0 if len(asked_s) == 1 else 30.0)
            raise NoResponseError("h:1 did not respond within 30 s")
        return PartitionResponse(0, memoryview(pack_batch(0, [(1000, None, b"x", ())])))

    def locate(found: TopicReplicas) -> Any:
        found._located.replicas = {0: topic_replicas.Replica(1, 1)}
        return found._located.replicas

    client = SimpleNamespace(call_broker=call_broker)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    if outages == 1:
        assert [record[0] for record in _fetcher(clock).fetch(0, 0, 1, 1).records] == [0]
    else:
        with pytest.raises(UnreachableError, match="cannot read topic t: h:1 did not respond"):
            _fetcher(clock).fetch(0, 0, 1, 1)
        assert len(asked_s) == 2


@pytest.mark.parametrize("fails_for_s", [4.0, 25.0])
def test_a_broker_that_hangs_is_warned_of(fails_for_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """After ten seconds a reader says what it waits for, once; it gives the broker more time at each attempt, until it
    responds."""
    clock, first_byte_s = FakeClock(), []
    began_s = clock.monotonic()

    def call_broker(_: int, request: Any, in_place: Any) -> PartitionResponse:
        first_byte_s.append(in_place.first_byte_s)
        if clock.monotonic() < began_s + fails_for_s:
            clock.sleep(in_place.first_byte_s if fails_for_s > 10 else 2)
            raise NoResponseError(f"h:1 did not respond within {in_place.first_byte_s:g} s")
        at = request.topics[0].partitions[0].fetch_offset
        return PartitionResponse(0, memoryview(pack_batch(at, [(1000, None, b"x", ())])))

    def locate(found: TopicReplicas) -> Any:
        found._located.replicas = {0: topic_replicas.Replica(1, 1)}
        return found._located.replicas

    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: SimpleNamespace(call_broker=call_broker))
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fetcher = _fetcher(clock)
        for at in range(2):
            assert [record[0] for record in fetcher.fetch(0, at, at + 1, 1).records] == [at]
    assert first_byte_s == [10.0, 20.0, 30.0, 10.0]
    told = ["topic t: h:1 did not respond within 10 s; retrying for up to 50 s"] if fails_for_s > 10 else []
    assert [str(each.message) for each in caught] == told


def test_a_leader_is_not_asked_for_another_replica(broker: ThrottlingBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    """With RackAwareReplicaSelector it would return no records, once a replica in the rack is in sync again."""
    broker.left_bytes = float("inf")

    def call_broker(number: int, request: Any, in_place: Any = None) -> PartitionResponse:
        assert not request.rack_id, "the leader would name the replica in the rack"
        return ThrottlingBroker.call_broker(broker, number, request, in_place)

    monkeypatch.setattr(broker, "call_broker", call_broker)
    fetcher = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", rack="r0")
    fetcher._replicas._located.replicas = {0: topic_replicas.Replica(1, 1)}
    assert _offsets(fetcher) == list(range(RECORDS))


@pytest.mark.parametrize("codec", [0, GZIP])
def test_records_that_take_much_memory_are_passed_on(
    broker: ThrottlingBroker, monkeypatch: pytest.MonkeyPatch, codec: int
) -> None:
    """Whether a response has all of them compressed, or many have them as they are: all in order, few at once."""
    broker.left_bytes = float("inf")
    broker.compressed = {0: [pack_batch(n, [(1000, None, bytes(RECORD_BYTES), ())], codec=codec) for n in range(200)]}
    for module in (range_fetcher, fetched_range, record_batches):
        monkeypatch.setattr(module, "AT_ONCE_BYTES", 20 * RECORD_BYTES)
    passed_on: list[list[int]] = []
    fetcher = _fetcher()
    expected_bytes = 200 if codec else 200 * RECORD_BYTES // 50  # as if estimated from other records
    fetched = fetcher.fetch(
        0, 0, 200, expected_bytes, lambda records: passed_on.append([record[0] for record in records])
    )
    rest = [record[0] for record in fetched.records]
    assert [offset for some in [*passed_on, rest] for offset in some] == list(range(200))
    assert len(passed_on) > 4
    assert max(map(len, [*passed_on, rest])) <= 40


def test_a_damaged_batch_ends_following(broker: ThrottlingBroker) -> None:
    """Records are not to be left out, so none is shown that differs from what was sent; a range marks it."""
    broker.left_bytes = float("inf")
    damaged = bytearray(broker._batches[3])
    damaged[-10] ^= 1
    broker._batches[3] = bytes(damaged)
    with pytest.raises(RefusedByClusterError, match="t-0: offset 3: the batch is damaged"):
        _fetcher().follow(0, 0, TOTAL_BYTES)
    assert _fetcher().fetch(0, 0, RECORDS, TOTAL_BYTES).records.damaged_rows().tolist() == [3]


def test_a_dead_leader_is_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a partition ends is asked of the next leader, like its records."""
    asked: list[int] = []
    leaders = iter([1, 2])

    def call_broker(broker: int, request: Any, deadline: Any) -> Any:
        asked.append(broker)
        if broker == 1:
            raise UnreachableError("broker 1 did not respond")
        timestamp = request.topics[0].partitions[0].timestamp
        answer = SimpleNamespace(error_code=0, offset=3 if timestamp == -2 else 7, partition_index=0)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[answer])])

    def locate(found: TopicReplicas) -> Any:
        leader = next(leaders)
        found._located.replicas = {0: topic_replicas.Replica(leader, leader)}
        return found._located.replicas

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(topic_replicas, "pauses", lambda: [0.0, 0.0])
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    assert _fetcher().ranges() == {0: (3, 7)}
    assert asked == [1, 2, 2]


def test_a_fetch_may_take_longer_than_a_request_about_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Megabytes over a slow line take longer than ``broker_timeout`` of a profile, which is for small responses."""
    given: list[ConnectionSettings] = []
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda settings, *_: given.append(settings))
    RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",), broker_timeout_s=1.0), "t", "id")
    assert [settings.broker_timeout_s for settings in given] == [None]


def test_a_hanging_broker_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fetchers of one topic share where its partitions are: the first timeout makes all of them read from the next
    leader."""
    asked: list[int] = []
    leaders = iter([1, 2])
    record = (1000, None, b"x", ())

    def call_broker(broker: int, request: Any, in_place: Any = None) -> PartitionResponse:
        asked.append(broker)
        if broker == 1:
            raise UnreachableError("broker 1 did not respond within 30 s")
        at = request.topics[0].partitions[0].fetch_offset
        return PartitionResponse(0, memoryview(pack_batch(at, [record])))

    def locate(found: TopicReplicas) -> Any:
        leader = next(leaders)
        found._located.replicas = {p: topic_replicas.Replica(leader, leader) for p in range(3)}
        return found._located.replicas

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(topic_replicas, "pauses", lambda: [0.0, 0.0])
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    located = topic_replicas.ReplicaLocations()
    settings = ConnectionSettings(bootstrap_servers=("h:1",))
    fetchers = [RangeFetcher(settings, "t", "id", located=located) for _ in range(3)]
    for partition, fetcher in enumerate(fetchers):
        assert [record[0] for record in fetcher.fetch(partition, 0, 1, 1).records] == [0]
    assert asked == [1, 2, 2, 2]


def test_a_replica_in_the_rack_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that began while it was out of sync returns to it within minutes, though its leader never fails."""
    isr, clock = [[2], [2, 1]], FakeClock()
    asked: list[int] = []

    def call_broker(broker: int, request: Any, in_place: Any = None) -> PartitionResponse:
        asked.append(broker)
        at = request.topics[0].partitions[0].fetch_offset
        return PartitionResponse(0, memoryview(pack_batch(at, [(1000, None, b"v", ())])))

    def metadata(_: Any) -> Any:
        now = isr.pop(0) if len(isr) > 1 else isr[0]
        partition = SimpleNamespace(partition_index=0, leader_id=2, isr_nodes=now, error_code=0)
        return SimpleNamespace(topics=[SimpleNamespace(topic_id=None, partitions=[partition])])

    nodes = SimpleNamespace(by_id={1: SimpleNamespace(rack="r0"), 2: SimpleNamespace(rack="r1")})
    client = SimpleNamespace(call_broker=call_broker, metadata=metadata, nodes=lambda: nodes, deadline=lambda: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(topic_replicas, "describe_topic", lambda *_: SimpleNamespace(topic_id="id"))
    settings = ConnectionSettings(bootstrap_servers=("h:1",))
    near = RangeFetcher(settings, "t", "id", rack="r0", clock=clock)
    for _ in range(3):
        near.fetch(0, 0, 1, 1)
        clock.sleep(200)
    assert asked == [2, 2, 1]


def test_offsets_are_requested_for_all_partitions_of_a_leader_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two requests per leader, however many partitions a topic has; a retry leaves out what is known."""
    asked: list[tuple[int, int]] = []
    faults = [UnreachableError("broker 2 did not respond")]

    def call_broker(broker: int, request: Any, deadline: Any) -> Any:
        partitions = request.topics[0].partitions
        asked.append((broker, len(partitions)))
        if broker == 2 and faults:
            raise faults.pop()
        end = [SimpleNamespace(error_code=0, offset=p.timestamp, partition_index=p.partition_index) for p in partitions]
        return SimpleNamespace(topics=[SimpleNamespace(partitions=end)])

    def locate(found: TopicReplicas) -> Any:
        found._located.replicas = {p: topic_replicas.Replica(1 + p % 2, 1 + p % 2) for p in range(3000)}
        return found._located.replicas

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(topic_replicas, "pauses", lambda: [0.0, 0.0])
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    assert _fetcher().ranges() == dict.fromkeys(range(3000), (-2, -1))
    assert asked == [(1, 1500), (1, 1500), (2, 1500), (2, 1500), (2, 1500)]


@pytest.mark.parametrize(
    ("is_pinned", "when", "hint"),
    [
        (True, "since it was pinned", "pin it again: remove the manifest and the state"),
        (False, "while it was read", "start again to read it"),
    ],
)
def test_a_deleted_topic_was_pinned_only_by_a_manifest(
    monkeypatch: pytest.MonkeyPatch, is_pinned: bool, when: str, hint: str
) -> None:
    """A reader that follows a topic has no manifest to remove."""
    found = iter([None, SimpleNamespace(topic_id="other")])
    client = SimpleNamespace(deadline=lambda: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    monkeypatch.setattr(topic_replicas, "describe_topic", lambda *_: next(found))
    fetcher = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", is_pinned=is_pinned)
    with pytest.raises(DriftError, match=f"^topic t has been deleted {when}$"):
        fetcher._replicas._locate()
    with pytest.raises(DriftError, match=f"^topic t has been deleted and created again {when} ") as again:
        fetcher._replicas._locate()
    assert again.value.hint == hint


@pytest.mark.parametrize("is_supported", [True, False])
def test_where_logs_on_disk_begin_is_asked_of_every_leader(is_supported: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Partitions that a leader reports are returned, those with an error are left out; brokers before Kafka 3.4 are not
    asked, since they would take the question for a time."""

    def call_broker(broker: int, request: Any, deadline: Any) -> Any:
        asked.append(broker)
        found = [
            SimpleNamespace(
                error_code=p.partition_index // 3, offset=-10 * p.timestamp, partition_index=p.partition_index
            )
            for p in request.topics[0].partitions
        ]
        return SimpleNamespace(topics=[SimpleNamespace(name="t", partitions=found)])

    def locate(found: TopicReplicas) -> Any:
        found._located.replicas = {p: topic_replicas.Replica(1 + p % 2, 1 + p % 2) for p in range(4)}
        return found._located.replicas

    asked: list[int] = []
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    client = SimpleNamespace(call_broker=call_broker, supports=lambda *_: is_supported, deadline=lambda: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    assert _fetcher().local_starts() == ({0: 40, 1: 40, 2: 40} if is_supported else {})
    assert set(asked) == {1, 2}


@pytest.mark.parametrize("is_pinned", [True, False])
def test_the_end_of_the_log_is_not_waited_for(is_pinned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A manifest that lists offsets which the log never reaches is refused at once, not after a minute of requests."""
    clock, asked = FakeClock(), []

    def call_broker(broker: int, request: Any, in_place: Any = None) -> Any:
        partition = request.topics[0].partitions[0]
        if isinstance(request, FetchRequest):
            asked.append(partition.fetch_offset)
            packed = b"" if partition.fetch_offset else pack_batch(0, [(1000, None, b"x", ())])
            return PartitionResponse(0, memoryview(packed))
        end = SimpleNamespace(error_code=0, offset=0 if partition.timestamp == -2 else 1, partition_index=0)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[end])])

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    fetcher = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", clock=clock, is_pinned=is_pinned)
    fetcher._replicas._located.replicas = {0: topic_replicas.Replica(1, 1)}
    with pytest.raises(DriftError, match=r"^t-0: offset 1 does not exist \(the log ends at 1\)") as caught:
        fetcher.fetch(0, 0, 5, 500)
    assert ("the manifest is damaged" in str(caught.value.hint)) == is_pinned
    assert asked == [0, 1]


def test_a_follower_that_lags_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends nothing for a while, although its leader has the record."""
    sent = iter([b"", b"", pack_batch(0, [(1000, None, b"x", ())])])

    def call_broker(broker: int, request: Any, in_place: Any = None) -> Any:
        if isinstance(request, FetchRequest):
            return PartitionResponse(0, memoryview(next(sent)))
        assert broker == 1, "only the leader knows the end"
        end = SimpleNamespace(error_code=0, offset=1, partition_index=0)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[end])])

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    fetcher = _fetcher()
    fetcher._replicas._located.replicas = {0: topic_replicas.Replica(2, 1)}
    assert [record[0] for record in fetcher.fetch(0, 0, 1, 1).records] == [0]


def test_a_partition_that_only_the_manifest_lists_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A topic never loses partitions, so there is nothing to wait for."""
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: None)
    monkeypatch.setattr(TopicReplicas, "_locate", lambda _: {0: topic_replicas.Replica(1, 1)})
    with pytest.raises(DriftError, match="topic t has no partition 7, which the manifest lists"):
        _fetcher().fetch(7, 0, 1, 1)


@pytest.mark.parametrize(("is_pinned", "again"), [(True, "pin it again"), (False, "start again")])
def test_records_that_were_deleted_are_named(is_pinned: bool, again: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader that follows a topic has nothing to pin."""

    def call_broker(broker: int, request: Any, in_place: Any = None) -> Any:
        if isinstance(request, FetchRequest):
            return PartitionResponse(1, memoryview(b""))
        offset = SimpleNamespace(error_code=0, offset=900, partition_index=0)
        return SimpleNamespace(topics=[SimpleNamespace(partitions=[offset])])

    client = SimpleNamespace(call_broker=call_broker, broker_timeout_ms=1, deadline=lambda _: None)
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: client)
    fetcher = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", is_pinned=is_pinned)
    fetcher._replicas._located.replicas = {0: topic_replicas.Replica(1, 1)}
    with pytest.raises(DriftError, match="t-0: offset 5 was deleted by retention") as caught:
        fetcher.follow(0, 5, 100)
    assert caught.value.hint == f"raise retention.ms of the topic, or {again} to read what is left"


class ManyPartitions:
    """Two brokers that lead partitions of one record each, by turns; a few are refused or come later."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, int]] = []
        """Broker, and number of partitions, of each request."""
        self.refused = {3}
        """Partitions that have moved to the other broker."""
        self.throttled = 0
        """How many responses are empty because of a quota."""

    def call_broker(self, broker: int, request: Any, in_place: Any = None) -> PartitionResponse | TopicResponse:
        """Respond to a request for one partition or for several."""
        partitions = request.topics[0].partitions
        self.asked.append((broker, len(partitions)))
        if self.throttled:
            self.throttled -= 1
            return TopicResponse(PartitionResponse(0, memoryview(b""), throttle_ms=100), {})
        found = {asked.partition: self._partition(broker, asked) for asked in partitions}
        if in_place.decode is fetch_responses:
            return TopicResponse(PartitionResponse(0, memoryview(b"")), found)
        return next(iter(found.values()))

    def _partition(self, broker: int, asked: Any) -> PartitionResponse:
        if asked.partition in self.refused and asked.partition % 2 == broker - 1:
            return PartitionResponse(NOT_LEADER, memoryview(b""))
        packed = pack_batch(asked.fetch_offset, [(1000, None, b"%d" % asked.partition, ())])
        return PartitionResponse(0, memoryview(packed if asked.partition != 4 or len(self.asked) > 2 else packed[:30]))


@pytest.mark.parametrize("throttled", [0, 1])
def test_ranges_of_many_partitions_take_a_request_a_broker(throttled: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one of them refuses, cuts off or throttles is requested again by itself, from the next leader if need be,
    and each record is had once."""
    brokers = ManyPartitions()
    brokers.throttled = throttled

    def locate(found: TopicReplicas) -> Any:
        moved = {p: p % 2 + 1 for p in range(10)} | {3: 1}
        found._located.replicas = {p: topic_replicas.Replica(b, b) for p, b in moved.items()}
        return found._located.replicas

    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: brokers)
    monkeypatch.setattr(topic_replicas, "pauses", lambda: [0.0, 0.0])
    monkeypatch.setattr(TopicReplicas, "_locate", locate)
    monkeypatch.setattr(TopicReplicas, "refuse_end", lambda *_: None)
    clock = FakeClock()
    fetcher = _fetcher(clock)
    fetcher._replicas._located.replicas = {p: topic_replicas.Replica(p % 2 + 1, p % 2 + 1) for p in range(10)}
    fetcher.fetch_ahead([(p, 7, 8, 70) for p in range(10)])
    assert brokers.asked == [(1, 5), (2, 5)]
    fetched = [fetcher.fetch(p, 7, 8, 70) for p in range(10)]
    assert [[(r[0], r[3]) for r in each.records] for each in fetched] == [[(7, b"%d" % p)] for p in range(10)]
    assert len(brokers.asked) == 2 + 3 + (4 if throttled else 0)
    assert sum(each.seconds_by_broker.get(1, 0.0) for each in fetched) == pytest.approx(0.1 * throttled)


def test_ranges_of_a_topic_that_has_grown_are_not_fetched_with_all_that_came_since(broker: ThrottlingBroker) -> None:
    """The response for several partitions is limited to twice what they should hold, and two batches."""
    fetcher = _fetcher()
    broker.left_bytes = float("inf")
    fetcher.fetch(0, 0, 10, 10 * RECORD_BYTES)  # tells how large batches are
    request = []

    def call_broker(_: int, asked: Any, in_place: Any = None) -> TopicResponse:
        request.append(asked)
        return TopicResponse(PartitionResponse(0, memoryview(b"")), {})

    broker.call_broker = call_broker  # type: ignore[assignment]
    fetcher._replicas._located.replicas = {p: topic_replicas.Replica(1, 1) for p in range(100)}
    fetcher.fetch_ahead([(p, 0, 1, 100) for p in range(50, 100)])
    assert request[0].max_bytes < 1.03 * (2 * 50 * 100 + max(2 * RECORD_BYTES, 65_536))
    assert {p.partition_max_bytes >= RECORD_BYTES for p in request[0].topics[0].partitions} == {True}
