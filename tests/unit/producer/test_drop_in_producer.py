"""The drop-in producer against librdkafka's mock brokers: what it routes, leaves alone, and survives."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Producer as Client
from confluent_kafka.aio import AIOProducer
from confluent_kafka.serialization import StringSerializer

from kafkabal.errors import ConfigError, KafkabalError, OperationError, UnreachableError, UsageError
from kafkabal.producer import (
    async_producer,
    drop_in_producer,
    periodic_thread,
    producer_options,
    topic_routers,
    view_refresher,
)
from kafkabal.producer.async_producer import AsyncProducer
from kafkabal.producer.drop_in_producer import Producer, SerializingProducer
from kafkabal.producer.periodic_thread import PeriodicThread
from kafkabal.producer.slot_router import RoutingStatus
from kafkabal.routing.byte_stride import MOST_SLOTS
from tests.unit.producer.conftest import PARTITION_BYTES, MockCluster

TOPIC = "images"
LEADERS = (1, 2, 3)


@pytest.fixture(params=["in librdkafka", "before librdkafka"])
def brokers(request: pytest.FixtureRequest, mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> MockCluster:
    """A cluster that drop-in producers read, with and without the plug-in; each broker leads one or two partitions."""
    monkeypatch.setattr(drop_in_producer, "open_cluster", lambda _connection, _settings: mock_cluster)
    # on a busy machine the first reading may take seconds, and records before it would not be routed
    monkeypatch.setattr(producer_options, "_FIRST_VIEW_MS", 20_000)
    if request.param == "before librdkafka":
        monkeypatch.setattr(topic_routers, "is_available", lambda _: False)
    return mock_cluster


@pytest.fixture
def producer(brokers: MockCluster) -> Iterator[Producer]:
    """A producer that reads the cluster once."""
    with Producer({**brokers.client, "kafkabal.seed": 1, "kafkabal.refresh.ms": 3_600_000}) as made:
        yield made


def sent(brokers: MockCluster, count: int) -> Counter[int]:
    """Records by partition."""
    return Counter(message.partition() for message in brokers.messages(count))


def test_records_without_keys_are_spread_evenly(brokers: MockCluster) -> None:
    """Brokers that lead partitions end within 1% of each other, though most records make no call of a policy."""
    # on a busy machine, records may come so slowly that slots are as long as the linger time
    config = {**brokers.client, "linger.ms": 0, "kafkabal.seed": 1, "kafkabal.refresh.ms": 3_600_000}
    with Producer(config) as producer:
        for _ in range(20_000):
            producer.produce(TOPIC, bytes(100))
        assert producer.flush() == 0
        (status,) = producer.routing()

    held = Counter({broker: n * PARTITION_BYTES for broker, n in Counter(brokers.leaders.values()).items()})
    ends = [held[broker] + n for broker, n in status.broker_bytes.items()]
    assert sum(status.broker_bytes.values()) == 20_000 * 100
    assert max(ends) < 1.01 * sum(ends) / len(ends) + 100, "slots are whole records"
    assert status.switches < 20_000 / 4
    on_brokers: Counter[int] = Counter()
    for partition, n in sent(brokers, 20_000).items():
        on_brokers[brokers.leaders[partition]] += 100 * n
    assert on_brokers == {broker: n for broker, n in status.broker_bytes.items() if n}


def test_an_explicit_partition_is_obeyed(brokers: MockCluster, producer: Producer) -> None:
    """An explicit partition is kept, of a record and of a call with many, even where the bare client ignores it."""
    for _ in range(100):
        producer.produce(TOPIC, b"x", partition=3)
    assert producer.produce_batch(TOPIC, [{"value": b"x"}] * 100, partition=3) == 100
    assert producer.produce_batch(TOPIC, [{"value": b"x", "partition": 3}] * 100) == 100
    producer.flush()
    assert sent(brokers, 300) == {3: 300}


def test_no_partition_may_be_given_as_none(brokers: MockCluster, producer: Producer) -> None:
    """In a batch it is the same as leaving it out: the policy routes the record."""
    assert producer.produce_batch(TOPIC, [{"value": b"x", "partition": None} for _ in range(100)]) == 100
    producer.flush()
    assert sum(producer.routing()[0].broker_bytes.values()) == 100


def test_keys_stay_where_the_bare_client_puts_them(brokers: MockCluster, producer: Producer) -> None:
    """In a topic that the bare client filled, each key stays in its partition."""
    bare = Client({**brokers.client})
    for number in range(200):
        bare.produce(TOPIC, b"bare", key=f"key{number % 50}")
    bare.flush()
    for number in range(100):
        producer.produce(TOPIC, b"ours", key=f"key{number % 50}")
    producer.produce_batch(TOPIC, [{"value": b"ours", "key": f"key{number % 50}"} for number in range(100)])
    producer.flush()
    by_key: dict[bytes, set[int]] = {}
    for message in brokers.messages(400):
        by_key.setdefault(message.key(), set()).add(message.partition())
    assert len(by_key) == 50
    assert all(len(partitions) == 1 for partitions in by_key.values())


def test_keys_are_spread_where_that_is_allowed(brokers: MockCluster) -> None:
    """If spreading keys is allowed, one hot key does not load a single broker."""
    with Producer({**brokers.client, "kafkabal.any.key.order": True}) as producer:
        for _ in range(2000):
            producer.produce(TOPIC, bytes(100), key=b"hot")
        producer.produce_batch(TOPIC, [{"value": bytes(100), "key": b"hot"} for _ in range(1000)])
        producer.flush()
    assert len(sent(brokers, 3000)) == len(brokers.leaders)


@pytest.mark.parametrize("key", [None, b"k"])
def test_callbacks_of_records_in_a_batch_leave_the_policy_its_own(brokers: MockCluster, key: bytes | None) -> None:
    """A policy that counts what is in flight learns of every delivery, also of records with keys and callbacks."""
    received: list[Any] = []
    config = {**brokers.client, "kafkabal.policy": "c3", "kafkabal.any.key.order": True}
    with Producer(config) as producer:
        batch = [{"value": b"x", "key": key, "callback": lambda error, _: received.append(error)} for _ in range(100)]
        assert producer.produce_batch(TOPIC, batch) == 100
        producer.flush()
        assert producer._routing is not None
        router = producer._routing.router(TOPIC)
        assert router is not None
        pending = list(router._policy.state.in_flight.pending)  # type: ignore[attr-defined]
    assert received == [None] * 100
    assert sum(pending) == 0


@pytest.mark.parametrize("policy", ["score", "round-robin", "power-of-d", "c3", "key-hash", "rack-local"])
def test_every_record_arrives_and_every_callback_is_called_once(brokers: MockCluster, policy: str) -> None:
    """Each record arrives and its callback is called once, whatever the policy, value type and way of queueing."""
    received: list[Any] = []
    with Producer({**brokers.client, "kafkabal.policy": policy}) as producer:
        for number in range(300):
            producer.produce(TOPIC, b"%d" % number, on_delivery=lambda error, _: received.append(error))
            producer.produce(TOPIC, f"é{number}", callback=lambda error, _: received.append(error))
            producer.produce(TOPIC, None, headers={"a": "b"}, on_delivery=lambda error, _: received.append(error))
            producer.poll(0)
        batch = [{"value": b"x", "callback": lambda error, _: received.append(error)} for _ in range(300)]
        assert producer.produce_batch(TOPIC, batch) == 300
        assert (
            producer.produce_batch(TOPIC, [{"value": b"y"}] * 300, on_delivery=lambda e, _: received.append(e)) == 300
        )
        producer.flush()
        assert all(set(record) == {"value", "callback"} for record in batch), "records of the caller are left as is"
    assert received == [None] * 1500
    assert sum(sent(brokers, 1500).values()) == 1500


def test_the_configured_callback_gets_all_delivery_reports(brokers: MockCluster) -> None:
    """The router's own delivery reports do not replace the configured callback."""
    received: list[Any] = []
    with Producer({**brokers.client, "on_delivery": lambda error, _: received.append(error)}) as producer:
        for _ in range(500):
            producer.produce(TOPIC, bytes(1000))
        producer.produce_batch(TOPIC, [{"value": bytes(1000)} for _ in range(500)])
        producer.flush()
    assert received == [None] * 1000


def test_headers_and_times_arrive(brokers: MockCluster, producer: Producer) -> None:
    """Headers and timestamps arrive as given."""
    producer.produce(TOPIC, b"x", headers=[("label", b"cat")], timestamp=1_700_000_000_000)
    producer.flush()
    (message,) = brokers.messages(1)
    assert message.headers() == [("label", b"cat")]
    assert message.timestamp()[1] == 1_700_000_000_000


def test_text_counts_as_the_bytes_that_are_sent(brokers: MockCluster, producer: Producer) -> None:
    """Text values, and headers given as a dict, count as the bytes that are sent."""
    producer.produce(TOPIC, "éé", headers={"h": "é", "none": None})
    producer.flush()
    assert sum(producer.routing()[0].broker_bytes.values()) == 4 + 1 + 2 + 4


@pytest.mark.parametrize("record", [{"value": 7}, {"value": b"x", "key": 7}, {"value": {"a": 1}}], ids=str)
def test_a_record_of_another_type_is_refused_as_by_the_original(
    brokers: MockCluster, producer: Producer, record: Any
) -> None:
    """With the words that name the argument, not with those of some line in here."""
    with pytest.raises(TypeError) as theirs:
        Client(brokers.client).produce(TOPIC, **record)
    with pytest.raises(TypeError) as ours:
        producer.produce(TOPIC, **record)
    assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": 5},
        {"value": b"x", "key": 5},
        {"value": b"x", "partition": "2"},
        {"value": b"x", "timestamp": 1},
        {"value": b"x", "headers": 5},
        {"value": b"x", "headers": ()},
        {"value": b"x", "headers": {"a": 5}},
        {"value": b"x", "headers": [None]},
        {"value": b"x", "headers": [("a", b"1"), ("a",)]},
        {"value": b"x", "headers": [["a", b"1"]]},
    ],
    ids=str,
)
def test_a_batch_with_a_wrong_record_is_refused_whole(
    brokers: MockCluster, producer: Producer, wrong: dict[str, Any]
) -> None:
    """None of its records is sent, whichever partitions and keys they name, and the error is that of the client."""
    batch = [{"value": b"a"}, {"value": b"b", "partition": 1}, {"value": b"c", "key": b"k"}, wrong]
    raised = TypeError, ValueError, NotImplementedError
    with pytest.raises(raised) as ours:
        producer.produce_batch(TOPIC, batch)
    assert producer.flush() == 0
    assert brokers.messages(1, timeout_s=0.5) == []
    with pytest.raises(raised) as bare:
        Client(brokers.client).produce_batch(TOPIC, batch)
    assert (type(ours.value), str(ours.value)) == (type(bare.value), str(bare.value))


@pytest.mark.parametrize("value", [b"", "", None])
def test_the_first_record_of_a_batch_may_be_empty(brokers: MockCluster, producer: Producer, value: Any) -> None:
    """It counts as a byte, as a single one does."""
    assert producer.produce_batch(TOPIC, [{"value": value}]) == 1
    producer.flush()
    assert sum(producer.routing()[0].broker_bytes.values()) == 1


def test_an_empty_record_that_is_refused_is_not_in_flight(brokers: MockCluster) -> None:
    """A policy that counts what is in flight gets back as much as it counted."""
    config = {"queue.buffering.max.messages": 1, "linger.ms": 60_000, "kafkabal.policy": "sticky"}
    with Producer({**brokers.client, **config}) as producer:
        producer.produce(TOPIC, b"")
        for _ in range(10):
            with pytest.raises(BufferError):
                producer.produce(TOPIC, b"")
        assert producer._routing is not None
        state: Any = producer._routing.router(TOPIC)._policy
        assert sum(state.state.in_flight.pending) == 1


def test_a_full_queue_is_the_callers_to_handle(brokers: MockCluster) -> None:
    """A full queue raises BufferError as in the bare client, and refused records do not count as sent."""
    with Producer({**brokers.client, "queue.buffering.max.messages": 10, "linger.ms": 60_000}) as producer:
        refused = 0
        for _ in range(30):
            try:
                producer.produce(TOPIC, bytes(100))
            except BufferError:
                refused += 1
        (status,) = producer.routing()
        queued = producer.produce_batch(TOPIC, [{"value": bytes(100)} for _ in range(5)])
        (after,) = producer.routing()
        producer.purge()
    assert (refused, queued) == (20, 0)
    assert sum(status.broker_bytes.values()) == sum(after.broker_bytes.values()) == 10 * 100


def test_a_cluster_that_cannot_be_read_stops_no_record(brokers: MockCluster, caplog: pytest.LogCaptureFixture) -> None:
    """Without metadata the client's own partitioner decides, and one log line says so once."""
    brokers.fails_with = UnreachableError("no broker responded", hint="start one")
    config = {**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.first.view.ms": 10}
    with caplog.at_level(logging.WARNING, "kafkabal.producer"), Producer(config) as producer:
        for _ in range(1000):
            producer.produce(TOPIC, bytes(1000))
        producer.produce_batch(TOPIC, [{"value": b"x"}] * 10)
        while len(brokers.reads) < 4:
            producer.poll(0.01)
        assert producer.flush() == 0
        assert producer.routing()[0].view_age_s is None
    assert len(brokers.messages(1010)) == 1010
    assert [record.getMessage() for record in caplog.records].count(
        "cannot refresh the view of the cluster, routing by the last one or by the default partitioner: "
        "no broker responded (start one)"
    ) == 1


def test_a_connection_that_only_librdkafka_can_open_is_named(
    brokers: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """A producer that cannot route warns, and says what to do: brokers would fill unevenly without a reason shown."""
    with Producer({**brokers.client, "enable.ssl.certificate.verification": False}) as producer:
        producer.produce(TOPIC, b"x")
        assert producer.flush() == 0
        assert producer.routing() == ()
    (warning,) = (record.getMessage() for record in caplog.records)
    assert warning == (
        "records are not routed: enable.ssl.certificate.verification: only librdkafka can connect in this way; "
        "set kafkabal.profile to a profile for the same cluster"
    )


def test_records_are_routed_once_the_cluster_can_be_read(brokers: MockCluster) -> None:
    """A view that arrives late is used from the next record on, however small the records are."""
    brokers.fails_with = UnreachableError("no broker responded")
    config = {**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.first.view.ms": 0}
    with Producer(config) as producer:
        producer.produce(TOPIC, b"x")
        brokers.fails_with = None
        while producer.routing()[0].view_age_s is None:
            producer.poll(0.01)
        for _ in range(20):
            producer.produce(TOPIC, bytes(1000))
        producer.flush()
        assert sum(producer.routing()[0].broker_bytes.values()) == 20_000


@pytest.mark.parametrize("policy", ["score", "round-robin", "sticky", "key-hash"])
def test_a_partition_that_the_topic_lost_stops_no_record(
    brokers: MockCluster, policy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic re-created with fewer partitions than the last view shows takes every record, as of the bare client."""
    # the client knew the partitions of the view when that was shown
    monkeypatch.setattr(view_refresher.ViewRefresher, "_fetch_new_partitions", lambda *_: None)
    known = len(brokers.leaders)
    brokers.leaders |= {known: 1, known + 1: 2}
    received: list[Any] = []
    config = {**brokers.client, "kafkabal.policy": policy, "on_delivery": lambda error, _: received.append(error)}
    with Producer(config) as producer:
        producer.produce(TOPIC, b"x", partition=0)  # so that the client knows the partitions
        producer.flush()
        for number in range(300):
            producer.produce(TOPIC, bytes(1000))
            producer.produce(TOPIC, bytes(1000), headers={"a": "b"})
            producer.produce(TOPIC, bytes(1000), key=b"%d" % number)
        plain = [{"value": bytes(1000)} for _ in range(300)]
        keyed = [{"value": bytes(1000), "key": b"%d" % number} for number in range(300)]
        assert producer.produce_batch(TOPIC, plain) == 300
        assert producer.produce_batch(TOPIC, keyed) == 300
        with pytest.raises(KafkaException, match="Unknown partition"):
            producer.produce(TOPIC, b"x", partition=known)
        producer.flush()
        assert producer.routing()[0].view_age_s is not None
    assert received == [None] * 1501
    assert not any("_error" in message for message in plain + keyed)
    assert set(sent(brokers, 1501)) <= set(range(known))


@pytest.mark.parametrize("policy", ["score", "sticky", "adaptive", "c3", "power-of-d", "key-hash"])
def test_a_topic_that_shrank_is_routed_anew(brokers: MockCluster, policy: str) -> None:
    """Records in flight to partitions that are gone disturb no policy, and the next ones go where the view says."""
    received: list[Any] = []
    with Producer({**brokers.client, "kafkabal.policy": policy, "kafkabal.refresh.ms": 100}) as producer:
        for _ in range(300):
            producer.produce(TOPIC, bytes(1000), on_delivery=lambda error, _: received.append(error))
        brokers.leaders = {0: brokers.leaders[0]}
        reads = len(brokers.reads)
        while len(brokers.reads) < reads + 2:
            producer.flush(0.01)
        (status,) = producer.routing()
        assert sum(status.broker_bytes.values()) == 0
        for _ in range(300):
            producer.produce(
                TOPIC, bytes(1000), on_delivery=lambda error, message: received.append(message.partition())
            )
        producer.flush()
    assert received == [None] * 300 + [0] * 300


@pytest.mark.parametrize("policy", ["score", "power-of-d"])
def test_bytes_of_a_broker_stay_its_own(brokers: MockCluster, policy: str) -> None:
    """What a broker got counts for it after other brokers lead its partitions, or none does: a counter only grows."""
    with Producer({**brokers.client, "kafkabal.policy": policy, "kafkabal.refresh.ms": 100}) as producer:
        for _ in range(300):
            producer.produce(TOPIC, bytes(1000))
        (before,) = producer.routing()
        assert sum(before.broker_bytes.values()) == 300_000
        leaders = brokers.leaders
        for changed in ({p: leader % 3 + 1 for p, leader in leaders.items()}, {**leaders, 0: -1}):
            _show(brokers, producer, changed)
            assert producer.routing()[0].broker_bytes == before.broker_bytes
        for _ in range(300):
            producer.produce(TOPIC, bytes(1000))
        assert producer.routing()[0].excluded_partitions == (0,)
        _show(brokers, producer, leaders)
        assert sum(producer.routing()[0].broker_bytes.values()) == 600_000


def _show(brokers: MockCluster, producer: Producer, leaders: dict[int, int]) -> None:
    brokers.leaders = leaders
    reads = len(brokers.reads)
    while len(brokers.reads) < reads + 2:
        producer.flush(0.01)


def test_metrics_are_called_back(brokers: MockCluster) -> None:
    """Metrics of each topic are passed to the callback after each reading."""
    received: list[RoutingStatus] = []
    with Producer({**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.metrics_cb": received.append}) as producer:
        producer.produce(TOPIC, b"x")
        while len(received) < 2:
            producer.poll(0.01)
    assert {(status.topic, status.policy) for status in received} == {(TOPIC, "score")}
    assert received[-1].view_age_s is not None


def test_a_topic_without_a_view_is_named_once_and_does_not_stop_metrics(
    brokers: MockCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """A topic that is not created yet takes neither the metrics of the others nor fills the log."""
    received: list[RoutingStatus] = []
    config = {**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.metrics_cb": received.append}
    with caplog.at_level(logging.WARNING, "kafkabal.producer"), Producer(config) as producer:
        producer.produce("later", b"x")
        producer.produce(TOPIC, b"x")
        while [status.topic for status in received].count(TOPIC) < 3:
            producer.poll(0.01)
        producer.purge()
    (warning,) = (record.getMessage() for record in caplog.records)
    assert warning.startswith("topic later: no new view, routing by")


def test_metrics_that_fail_are_named_as_such_once(brokers: MockCluster, caplog: pytest.LogCaptureFixture) -> None:
    """An error of the caller's callback is not reported as one of the cluster, nor with every reading."""
    calls: list[RoutingStatus] = []

    def fail(status: RoutingStatus) -> None:
        calls.append(status)
        raise ValueError("no such gauge")

    config = {**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.metrics_cb": fail}
    with caplog.at_level(logging.INFO, "kafkabal.producer"), Producer(config) as producer:
        producer.produce(TOPIC, b"x")
        while len(calls) < 4:
            producer.poll(0.01)
    assert [record.getMessage() for record in caplog.records] == ["kafkabal.metrics_cb failed"]


@pytest.mark.parametrize("topic", [None, 3, "", "a b", "a\0b", "a" * 250])
def test_what_is_no_topic_is_the_clients_to_refuse(brokers: MockCluster, topic: Any) -> None:
    """It fails as with the bare client, and leaves nothing behind that the routing of other topics trips over."""

    def outcome(client: Client) -> Any:
        try:
            client.produce(topic, b"x")
        except Exception as error:  # noqa: BLE001 - whatever the bare client raises
            return type(error)
        return None

    with Producer({**brokers.client, "allow.auto.create.topics": False}) as producer:
        assert outcome(producer) == outcome(Client(brokers.client))
        producer.purge()
        producer.produce(TOPIC, b"x")
        assert [status.topic for status in producer.routing()] == [TOPIC]


def test_the_callback_given_first_wins_as_in_the_bare_client(brokers: MockCluster, producer: Producer) -> None:
    """Given both names of the delivery callback, the bare client calls ``callback``."""
    called: list[str] = []
    both: Any = {"callback": lambda *_: called.append("callback"), "on_delivery": lambda *_: called.append("other")}
    for client in (Client(brokers.client), producer):
        client.produce(TOPIC, b"x", **both)
        client.produce(TOPIC, b"x", headers={"a": "b"}, **both)
        client.produce_batch(TOPIC, [{"value": b"x"}], **both)
        client.flush()
    assert called == ["callback"] * 6


@pytest.mark.parametrize("configured", [False, True])
def test_a_callback_given_as_none_replaces_the_other_argument(brokers: MockCluster, *, configured: bool) -> None:
    """Reports then go where the bare client sends them: to the configured callback, or nowhere."""
    called: list[str] = []
    config = {**brokers.client, **({"on_delivery": lambda *_: called.append("configured")} if configured else {})}
    given: Any = {"callback": None, "on_delivery": lambda *_: called.append("argument")}
    for client in (Client(config), Producer(config), _Subclass(config)):
        client.produce(TOPIC, b"x", **given)
        client.produce(TOPIC, b"x", headers={"a": "b"}, **given)
        client.produce_batch(TOPIC, [{"value": b"x"}], **given)
        client.flush()
    assert called == ["configured"] * (9 if configured else 0)


class _Subclass(Producer):
    """It is not routed inside librdkafka."""


class _Reports(list[bytes]):
    """A callback that is false until it is called."""

    def __call__(self, _error: KafkaError | None, message: Any) -> None:
        self.append(message.value())


@pytest.mark.parametrize("given", ["callback", "on_delivery", "in the configuration"])
@pytest.mark.parametrize("value", [b"x", "x"])
def test_a_callback_that_is_false_gets_its_reports(brokers: MockCluster, given: str, value: str | bytes) -> None:
    """Any callable counts as a callback, such as an empty list that collects reports."""
    reports = _Reports()
    named, configured = ({}, {"on_delivery": reports}) if " " in given else ({given: reports}, {})
    with Producer({**brokers.client, **configured}) as producer:
        producer.produce(TOPIC, value, **named)
        producer.flush()
        reports.clear()
        producer.produce_batch(TOPIC, [{"value": value}], **named)
        producer.flush()
        assert reports == [b"x"]
        reports.clear()
        producer.produce(TOPIC, value, **named)
        producer.flush()
        assert reports == [b"x"]


def test_an_invalid_partition_fails_as_in_the_bare_client(brokers: MockCluster, producer: Producer) -> None:
    """It is reported as unknown, not routed elsewhere."""
    codes: list[Any] = []
    for client in (Client(brokers.client), producer):
        try:
            client.produce(TOPIC, b"x", partition=-5, on_delivery=lambda error, _: codes.append(error and error.code()))
        except KafkaException as error:  # once the client knows the topic, at once instead of in a report
            codes.append(error.args[0].code())
        client.flush()
    assert codes == [KafkaError._UNKNOWN_PARTITION] * 2


def test_latency_is_read_from_the_clients_own_statistics(brokers: MockCluster) -> None:
    """The caller's own statistics callback receives the statistics too."""
    texts: list[str] = []
    config = {**brokers.client, "kafkabal.scores": "disk,latency=2", "stats_cb": texts.append}
    with Producer(config) as producer:
        while len(texts) < 3:
            producer.produce(TOPIC, b"x")
            producer.poll(0.05)
        assert producer._routing is not None
        while not producer._routing._refresher.measured.latencies_s():
            producer.produce(TOPIC, b"x")
            producer.poll(0.05)


def test_threads_share_a_producer(brokers: MockCluster, producer: Producer) -> None:
    """No record is lost, and brokers stay balanced."""

    def work() -> None:
        for _ in range(5000):
            while True:
                try:
                    producer.produce(TOPIC, bytes(100))
                    break
                except BufferError:
                    producer.poll(0.01)

    threads = [Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    producer.flush()
    by_broker: Counter[int] = Counter()
    for partition, n in sent(brokers, 20_000).items():
        by_broker[brokers.leaders[partition]] += n
    assert sum(by_broker.values()) == 20_000
    assert max(by_broker.values()) < 1.05 * 20_000 / len(by_broker)


@pytest.mark.parametrize("partition", [-1, 0])
@pytest.mark.parametrize("is_batch", [False, True])
def test_a_forked_process_is_refused(
    brokers: MockCluster, producer: Producer, partition: int, *, is_batch: bool
) -> None:
    """A producer refuses to work after a fork, which its threads do not survive: records would never be sent."""
    producer.produce(TOPIC, b"x")
    process = os.fork()
    if not process:
        try:
            if is_batch:
                producer.produce_batch(TOPIC, [{"value": b"x"}], partition)
            else:
                producer.produce(TOPIC, b"x", partition=partition)
        except OperationError:
            os._exit(42)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 42
    producer.produce(TOPIC, b"x")
    producer.flush()
    assert len(brokers.messages(2)) == 2


@pytest.mark.parametrize("ending", ["flush", "close", "__exit__"])
def test_a_forked_process_waits_for_no_delivery(brokers: MockCluster, ending: str) -> None:
    """Records of the parent process that are in flight are its own: the child, where nothing delivers them, waited for
    them forever if it left a block that it was forked in."""
    producer = Producer({**brokers.client, "linger.ms": 1000})
    producer.produce(TOPIC, b"x")
    process = os.fork()
    if not process:
        signal.alarm(10)
        try:
            getattr(producer, ending)(*(None,) * (3 if ending == "__exit__" else 0))
        except OperationError:
            os._exit(42)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == (42 if ending == "flush" else 0)
    producer.flush()
    assert len(brokers.messages(1)) == 1


def test_a_forked_process_keeps_what_it_may_not_destroy(brokers: MockCluster) -> None:
    """To destroy a client of the parent process crashes or hangs the child, as a garbage collection did."""
    producer = Producer(brokers.client)
    producer.produce(TOPIC, b"x")
    producer.flush()
    dropped: Any = weakref.ref(producer)
    process = os.fork()
    if not process:
        del producer
        os._exit(0 if dropped() is None else 42)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 42


def test_a_thread_that_produces_while_the_program_ends_asks_no_policy(brokers: MockCluster, producer: Producer) -> None:
    """Python may end the thread at any step, and the whole process with it if that is inside numpy."""
    routing = producer._routing
    assert routing is not None
    received: list[Any] = []
    for number in range(3000):
        if number == 1000:
            (before,) = routing.status()
            routing.close()  # as at the end of the program
        producer.produce(TOPIC, bytes(1000), on_delivery=lambda error, _: received.append(error))
    producer.flush()
    (after,) = routing.status()
    assert after.switches <= before.switches + MOST_SLOTS
    assert received == [None] * 3000


def test_a_producer_that_is_dropped_stops_reading(brokers: MockCluster) -> None:
    """The background thread does not keep a dropped producer alive."""
    producer = Producer({**brokers.client, "kafkabal.refresh.ms": 100})
    producer.produce(TOPIC, b"x")
    producer.flush()
    assert producer._routing is not None
    thread = producer._routing._refresher._thread
    assert thread is not None
    del producer
    assert thread._running.acquire(timeout=10)


def test_serializers_pass_through(brokers: MockCluster) -> None:
    """Values are serialized first, then routed."""
    config = {**brokers.client, "value.serializer": StringSerializer("utf_8")}
    producer = SerializingProducer(config)
    for number in range(2000):
        producer.produce(TOPIC, value=f"value {number}" * 20)
    producer.flush()
    assert len(producer.routing()[0].broker_bytes) == len(LEADERS)
    assert len(sent(brokers, 2000)) == len(brokers.leaders)


def test_an_asyncio_producer_awaits_deliveries(brokers: MockCluster) -> None:
    """Each record returns a future of its delivery, and a full queue never blocks the event loop."""

    async def send() -> list[Any]:
        config = {**brokers.client, "queue.buffering.max.messages": 50}
        async with AsyncProducer(config) as producer:
            return [await delivery for delivery in [await producer.produce(TOPIC, b"x") for _ in range(200)]]

    delivered = asyncio.run(send())
    assert len(delivered) == 200
    assert {message.error() for message in delivered} == {None}
    assert len(brokers.messages(200)) == 200


def test_callers_that_wait_for_room_get_it_in_turn(brokers: MockCluster) -> None:
    """Records of one partition that are produced at once are queued in the order of the calls, however small the queue
    is."""

    async def run() -> None:
        async with AsyncProducer({**brokers.client, "queue.buffering.max.messages": 10}) as producer:
            calls = [producer.produce(TOPIC, b"%d" % i, partition=1) for i in range(500)]
            await asyncio.gather(*await asyncio.gather(*calls))

    asyncio.run(run())
    assert [int(message.value() or b"-1") for message in brokers.messages(500)] == list(range(500))


def test_a_cancelled_block_ends_with_its_deliveries(brokers: MockCluster) -> None:
    """What was queued is delivered although all tasks are cancelled, and no thread is left."""

    async def send() -> tuple[list[Any], AsyncProducer]:
        async def block() -> None:
            async with producer:
                deliveries.append(await producer.produce(TOPIC, b"x"))
                await asyncio.sleep(60)

        deliveries: list[Any] = []
        producer = AsyncProducer({**brokers.client, "linger.ms": 60_000})
        running = asyncio.create_task(block())
        while not deliveries:
            await asyncio.sleep(0.01)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return [await delivery for delivery in deliveries], producer

    (message,), producer = asyncio.run(send())
    assert message.error() is None
    producer._poller.shutdown(wait=True)


def test_a_cancelled_flush_gives_up_what_no_broker_takes(brokers: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timeout around the whole block ends it, although no broker responds; the record is reported as given up."""
    monkeypatch.setattr(async_producer, "_CANCELLED_S", 0.1)

    async def send() -> Any:
        async def block() -> None:
            async with AsyncProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
                deliveries.append(await producer.produce(TOPIC, b"x"))

        deliveries: list[Any] = []
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(block(), 0.5)
        return deliveries[0].exception().args[0].code()

    assert asyncio.run(asyncio.wait_for(send(), 20)) == KafkaError._PURGE_QUEUE


def test_an_asyncio_producer_has_the_methods_of_the_original() -> None:
    """A program that uses those of confluent-kafka finds them here."""
    theirs = {name for name in dir(AIOProducer) if not name.startswith("_")}
    assert theirs <= set(dir(AsyncProducer))


def test_an_asyncio_producer_needs_all_delivery_reports(brokers: MockCluster) -> None:
    """Without those of delivered records, awaiting a delivery would never end."""

    async def make() -> None:
        AsyncProducer({**brokers.client, "delivery.report.only.error": True})

    with pytest.raises(UsageError, match=r"delivery\.report\.only\.error: the future"):
        asyncio.run(make())


def test_an_asyncio_producer_asks_the_cluster(brokers: MockCluster) -> None:
    """Topics are the brokers' own, and records that are given up say so."""

    async def ask() -> tuple[Any, ...]:
        async with AsyncProducer({**brokers.client, "linger.ms": 60_000}) as producer:
            delivery = await producer.produce(TOPIC, b"x")
            queued = len(producer), bool(producer)
            topics = await producer.list_topics(TOPIC)
            await producer.purge(in_flight=False)
            await asyncio.wait({delivery})
            await producer.poll()
            left = await producer.flush(10), len(producer), bool(producer)
            return queued, set(topics.topics[TOPIC].partitions), delivery.exception(), left, producer.routing()

    queued, partitions, given_up, left, (status,) = asyncio.run(asyncio.wait_for(ask(), 20))
    assert queued == (1, True)
    assert partitions == set(brokers.leaders)
    assert given_up.args[0].code() == KafkaError._PURGE_QUEUE
    assert left == (0, 0, True)
    assert status.topic == TOPIC


@pytest.mark.skipif(not hasattr(Client, "cluster_id"), reason="this release of confluent-kafka has no cluster_id")
def test_an_asyncio_producer_knows_the_id_of_the_cluster(brokers: MockCluster) -> None:
    """It is the one that the bare client tells."""

    async def ask() -> str:
        async with AsyncProducer(brokers.client) as producer:
            return await producer.cluster_id()

    assert asyncio.run(asyncio.wait_for(ask(), 20)) == Client(brokers.client).cluster_id(10)


def test_an_asyncio_producer_has_transactions(brokers: MockCluster) -> None:
    """Records are delivered by a commit, with the offsets of a consumer, and given up by an abort."""

    async def send() -> tuple[Any, Any]:
        config = {**brokers.client, "transactional.id": "t", "linger.ms": 30_000}
        async with AsyncProducer(config) as producer:
            await producer.init_transactions(10)
            await producer.begin_transaction()
            committed = await producer.produce(TOPIC, b"committed")
            await producer.send_offsets_to_transaction([TopicPartition(TOPIC, 0, 1)], group, 10)
            await producer.commit_transaction()
            await producer.begin_transaction()
            aborted = await producer.produce(TOPIC, b"aborted")
            await producer.abort_transaction()
            await asyncio.wait({committed, aborted})
            with pytest.raises(KafkaException, match="not valid in state"):
                await producer.commit_transaction()
            return committed.result(), aborted.exception()

    consumer = Consumer({**brokers.client, "group.id": "g"})
    group = consumer.consumer_group_metadata()
    committed, aborted = asyncio.run(asyncio.wait_for(send(), 40))
    consumer.close()
    assert committed.error() is None
    assert aborted.args[0].code() == KafkaError._PURGE_QUEUE
    assert [message.value() for message in brokers.messages(1)] == [b"committed"]


def test_a_request_that_is_given_up_delays_no_end(brokers: MockCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """librdkafka waits on for brokers that do not respond: neither the event loop nor the block does."""
    monkeypatch.setattr(async_producer, "_CANCELLED_S", 0.01)

    async def ask() -> bool:
        async with AsyncProducer({"bootstrap.servers": "127.0.0.1:1", "log_level": 0}) as producer:
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(producer.list_topics(timeout=2), 0.01)
        assert producer._closing is not None
        return producer._closing.done()

    assert not asyncio.run(ask())


def test_closing_an_asyncio_producer_twice_is_fine(brokers: MockCluster) -> None:
    """Both calls end when it is closed, and none is reported as an error."""
    faults: list[Any] = []

    async def send() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: faults.append(context))
        producer = AsyncProducer(brokers.client)
        await producer.produce(TOPIC, b"x")
        await asyncio.gather(producer.close(), producer.close())
        await producer.close()
        with pytest.raises(RuntimeError, match="closed"):
            await producer.produce(TOPIC, b"x")

    asyncio.run(send())
    assert not faults
    assert len(brokers.messages(1)) == 1


def test_a_failing_callback_stops_no_delivery(brokers: MockCluster) -> None:
    """An error of the user's own callback goes to the event loop; deliveries are still reported, and closing ends."""
    failed: list[Any] = []

    def fail(_: str) -> None:
        raise RuntimeError("no statistics")

    async def send() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context["exception"]))
        config = {**brokers.client, "statistics.interval.ms": 1, "stats_cb": fail}
        async with AsyncProducer(config) as producer:
            while not failed:
                await asyncio.sleep(0.01)
            delivery = await producer.produce(TOPIC, b"x")
        await delivery

    asyncio.run(asyncio.wait_for(send(), 20))
    assert {str(error) for error in failed} == {"no statistics"}


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"kafkabal.polcy": "score"}, "unknown setting: kafkabal.polcy"),
        ({"kafkabal.policy": "best"}, "kafkabal.policy: unknown policy: 'best'"),
        ({"kafkabal.policy": 3}, "kafkabal.policy: not a name: 3"),
        ({"kafkabal.policy": "score:floor=9"}, "kafkabal.policy: score: floor"),
        ({"kafkabal.scores": "dsk"}, "kafkabal.scores: unknown score: 'dsk'"),
        ({"kafkabal.scores": "disk,disk"}, "kafkabal.scores: duplicate score: 'disk'"),
        ({"kafkabal.scores": 3}, "kafkabal.scores: not names of scores: 3"),
        ({"kafkabal.rack": "r1"}, "kafkabal.rack: policy 'score' uses no rack"),
        ({"kafkabal.profile": "unheard-of"}, "kafkabal.profile: unknown profile: 'unheard-of'"),
        ({"kafkabal.rack": ""}, "kafkabal.rack: not a text: ''"),
        ({"kafkabal.refresh.ms": 1}, "kafkabal.refresh.ms: 1 is not within 100 to 86400000"),
        ({"kafkabal.refresh.ms": "soon"}, "kafkabal.refresh.ms: not a number: 'soon'"),
        ({"kafkabal.any.key.order": "perhaps"}, "kafkabal.any.key.order: expected true or false"),
        ({"kafkabal.scores": "prometheus"}, "kafkabal.scores: 'prometheus' needs a Prometheus server"),
        ({"kafkabal.metrics_cb": 3}, "kafkabal.metrics_cb: not a function: 3"),
        (
            {"kafkabal.policy": "c3", "delivery.report.only.error": True},
            "kafkabal.policy: 'c3' learns from all delivery reports, which delivery.report.only.error suppresses",
        ),
    ],
)
def test_wrong_settings_are_named(mock_cluster: MockCluster, setting: dict[str, Any], said: str) -> None:
    """Wrong settings are reported before anything is sent."""
    with pytest.raises(UsageError, match=said):
        Producer({**mock_cluster.client, **setting})


@pytest.mark.parametrize("linger_ms", [None, "abc", [], -1, float("inf")])
def test_settings_of_the_client_are_its_own_to_refuse(mock_cluster: MockCluster, linger_ms: Any) -> None:
    """An invalid linger time, which policies use too, raises the client's own error."""
    config = {**mock_cluster.client, "linger.ms": linger_ms}
    with pytest.raises(KafkaException) as bare:
        Client(config)
    with pytest.raises(KafkaException) as ours:
        Producer(config)
    assert str(ours.value) == str(bare.value)


@pytest.mark.parametrize("setting", [{"stats_cb": None}, {"stats_cb": 5}, {"statistics.interval.ms": "soon"}])
def test_settings_of_statistics_are_refused_as_by_the_client(mock_cluster: MockCluster, setting: Any) -> None:
    """Also where records are routed by the client's statistics, and a callback of ours gets them first."""
    config = {**mock_cluster.client, **setting}
    with pytest.raises((KafkaException, TypeError)) as bare:
        Client(config)
    with pytest.raises(type(bare.value)) as ours:
        Producer({**config, "kafkabal.scores": "latency"})
    assert str(ours.value) == str(bare.value)


def test_a_profile_says_how_to_reach_the_cluster(
    mock_cluster: MockCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """librdkafka gets the connection settings of a profile; a profile without brokers is refused."""
    opened: list[Any] = []

    def open_cluster(connection: Any, settings: Any) -> MockCluster:
        opened.append((connection, settings))
        return mock_cluster

    monkeypatch.setattr(drop_in_producer, "open_cluster", open_cluster)
    live = tmp_path / "live.yaml"
    live.write_text(f"bootstrap_servers: {mock_cluster.mock.bootstrap_servers}\n")
    with Producer({"kafkabal.profile": str(live), "log_level": 2}) as producer:
        producer.produce(TOPIC, b"x")
        assert producer.flush() == 0
    assert opened[0][0].bootstrap_servers == tuple(mock_cluster.mock.bootstrap_servers.split(","))
    snapshot = tmp_path / "snapshot.yaml"
    snapshot.write_text("snapshot: cluster.jsonl\n")
    with pytest.raises(ConfigError, match="needs live brokers"):
        Producer({"kafkabal.profile": str(snapshot)})
    with pytest.raises(KafkabalError):
        Producer({"kafkabal.profile": "unheard-of"})


def test_a_handler_that_raises_while_routing_starts_does_not_end_it(
    producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread that reads the cluster is started by the next record."""
    start, calls = periodic_thread.start_new_thread, iter((True, False))

    def interrupted(function: Callable[[], None], given: tuple[()]) -> None:
        if next(calls):
            raise InterruptedError  # as a handler does between two lines
        start(function, given)

    monkeypatch.setattr(periodic_thread, "start_new_thread", interrupted)
    with pytest.raises(InterruptedError):
        producer.produce(TOPIC, b"x")
    producer.produce(TOPIC, b"x")
    assert_is_read(producer)


def test_a_handler_that_raises_while_a_topic_is_added_does_not_delay_its_routing(
    brokers: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next record adds the topic again, and its view comes at once, not with the next refresh in an hour."""
    revise, calls = PeriodicThread.revise, iter((True,))

    def interrupted(thread: PeriodicThread) -> None:
        if next(calls, False):
            raise InterruptedError  # as a handler does between two lines
        revise(thread)

    monkeypatch.setattr(PeriodicThread, "revise", interrupted)
    with Producer({**brokers.client, "kafkabal.refresh.ms": 3_600_000}) as producer:
        with pytest.raises(InterruptedError):
            producer.produce(TOPIC, b"x")
        producer.produce(TOPIC, b"x")
        assert_is_read(producer)


def assert_is_read(producer: Producer) -> None:
    """The cluster is read for the topic within seconds."""
    assert producer._routing is not None
    router = producer._routing.router(TOPIC)
    assert router is not None
    assert router.first_reading.wait(20)


def assert_returns(call: Callable[[], object]) -> None:
    """A call that waits for a lock of its own thread would wait forever."""
    thread = Thread(target=call, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()


def test_a_record_produced_while_another_one_is_routed_does_not_wait_for_it(
    brokers: MockCluster, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's handler may produce while slots are planned; its record goes where librdkafka sends it."""
    producer.produce(TOPIC, b"x")
    assert producer._routing is not None
    router = producer._routing.router(TOPIC)
    name = "_plan" if type(producer).produce is Client.produce else "_enter_slot"
    plan = getattr(router, name)

    came: list[bytes] = []

    def interrupted(*given: Any) -> Any:
        came.append(b"handler")
        producer.produce(TOPIC, b"handler")
        return plan(*given)

    monkeypatch.setattr(router, name, interrupted)
    # each record needs a slot of its own; a mock broker keeps only 5 MB
    assert_returns(lambda: [producer.produce(TOPIC, bytes(60_000)) for _ in range(40)])
    assert came
    assert producer.flush() == 0
    values = Counter(message.value() for message in brokers.messages(41 + len(came)))
    assert values == {b"x": 1, b"handler": len(came), bytes(60_000): 40}


def test_a_record_produced_while_its_topic_is_added_does_not_wait_for_it(
    brokers: MockCluster, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's handler may produce during the first record of a topic."""
    assert producer._routing is not None
    add = producer._routing._new_router

    def interrupted(topic: str) -> Any:
        producer.produce(topic, b"handler")
        return add(topic)

    monkeypatch.setattr(producer._routing, "_new_router", interrupted)
    assert_returns(lambda: producer.produce(TOPIC, b"x"))
    assert producer.flush() == 0
    assert {message.value() for message in brokers.messages(2)} == {b"x", b"handler"}


def test_a_record_produced_while_another_one_waits_for_a_view_does_not_wait(
    brokers: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A signal's handler may produce while the first record waits for the first reading, whose lock is held."""
    may_read = Event()
    read = brokers.read
    monkeypatch.setattr(brokers, "read", lambda request: may_read.wait(20) and read(request))
    with Producer({**brokers.client, "kafkabal.first.view.ms": 0}) as producer:

        class InterruptedEvent(Event):
            def wait(self, timeout: float | None = None) -> bool:
                with self._cond:  # type: ignore[attr-defined]
                    producer.produce(TOPIC, b"handler")
                return super().wait(timeout)

        # as many bytes as are sent before the router is asked for a view again
        producer.produce(TOPIC, bytes(70_000))
        assert producer._routing is not None
        router = producer._routing.router(TOPIC)
        assert router is not None
        router.first_reading = InterruptedEvent()
        assert_returns(lambda: producer.produce(TOPIC, b"x"))
        may_read.set()
        assert producer.flush() == 0
    assert Counter(message.value() for message in brokers.messages(3))[b"handler"] == 1


@pytest.mark.parametrize("config", [[], "", 0, [1], "linger.ms", 5], ids=repr)
def test_a_configuration_that_is_no_mapping_is_refused(config: Any) -> None:
    """Whether it is empty or not, in the bare client's words."""
    with pytest.raises(TypeError) as expected:
        Client(config)
    with pytest.raises(TypeError) as found:
        Producer(config)
    assert str(found.value) == str(expected.value)
