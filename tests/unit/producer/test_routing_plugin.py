"""The plug-in of librdkafka: what it counts, what it leaves to librdkafka, and what it passes on to Python."""

from __future__ import annotations

import gc
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from threading import Thread
from time import sleep
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka import Producer as Client

from kafkabal.errors import UnreachableError
from kafkabal.producer import drop_in_producer, plugin_router, producer_options, view_refresher
from kafkabal.producer.drop_in_producer import Producer
from kafkabal.producer.plugin_router import PluginRouter
from kafkabal.producer.routing_plugin import LIBRARY, Lane, is_available, value_ends
from tests.unit.producer.conftest import MockCluster

TOPIC = "images"

pytestmark = pytest.mark.skipif(not LIBRARY.exists(), reason="the plug-in is not compiled: python hatch_build.py")


@pytest.fixture
def brokers(mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch) -> MockCluster:
    """A cluster that drop-in producers read."""
    monkeypatch.setattr(drop_in_producer, "open_cluster", lambda _connection, _settings: mock_cluster)
    # on a busy machine the first reading may take seconds, and records before it would not be routed
    monkeypatch.setattr(producer_options, "_FIRST_VIEW_MS", 20_000)
    return mock_cluster


@pytest.fixture
def producer(brokers: MockCluster) -> Iterator[Producer]:
    """A producer that reads the cluster once."""
    # by default the queue takes 1 GB, and some tests fill it
    room = {"queue.buffering.max.kbytes": 65_536}
    with Producer({**brokers.client, **room, "kafkabal.seed": 1, "kafkabal.refresh.ms": 3_600_000}) as made:
        yield made


def counts(producer: Producer, n_partitions: int) -> tuple[list[int], list[int]]:
    """Bytes by partition: routed, and settled."""
    assert producer._routing is not None
    router = producer._routing.router(TOPIC)
    assert isinstance(router, PluginRouter)
    routed, settled = router.lane.routed_and_settled_bytes(n_partitions)
    return routed.tolist(), settled.tolist()


def call_in_threads(function: Callable[[], None], n_threads: int) -> None:
    """Call it in so many threads at the same time."""
    threads = [Thread(target=function) for _ in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_it_is_used_by_default(producer: Producer) -> None:
    """The methods of a producer that routes by slots are the client's own."""
    assert type(producer).produce is Client.produce


def test_errors_name_the_public_class(producer: Producer) -> None:
    """Python's own errors about a producer that the plug-in routes name ``Producer``, and no private class."""
    with pytest.raises(AttributeError, match=r"^'Producer' object has no attribute 'send'$"):
        producer.send  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(TypeError, match=r"^Producer\.produce_batch\(\) missing"):
        producer.produce_batch()  # type: ignore[call-arg]
    assert repr(producer).startswith("<kafkabal.producer.drop_in_producer.Producer object")


def test_a_policy_without_slots_routes_before_librdkafka(brokers: MockCluster) -> None:
    """It picks the partition of every record, which the plug-in cannot ask it for."""
    with Producer({**brokers.client, "kafkabal.policy": "power-of-d"}) as producer:
        producer.produce(TOPIC, b"x")
        assert type(producer) is Producer
        assert sum(producer.routing()[0].broker_bytes.values()) == 1


def test_every_byte_is_counted_once_by_any_number_of_threads(brokers: MockCluster, producer: Producer) -> None:
    """Key, value and headers count, on the partition where they arrive; what is delivered has settled."""

    def send() -> None:
        for number in range(2000):
            producer.produce(TOPIC, bytes(number % 300), headers=[("h", b"12345")] if number % 3 else None)

    call_in_threads(send, 4)
    assert producer.flush() == 0

    of_partition: Counter[int] = Counter()
    for message in brokers.messages(8000):
        headers = sum(len(name) + len(value) for name, value in message.headers() or [])
        of_partition[message.partition()] += max(1, len(message.value()) + headers)
    routed, settled = counts(producer, len(brokers.leaders))
    assert routed == settled == [of_partition[p] for p in brokers.leaders]


def test_records_to_an_explicit_partition_are_not_routed(brokers: MockCluster, producer: Producer) -> None:
    """Neither they nor records with keys count as routed, and what is routed beside them settles all the same."""
    for _ in range(500):
        producer.produce(TOPIC, bytes(100))
        producer.produce(TOPIC, bytes(1000), partition=2)
        producer.produce(TOPIC, bytes(1000), key=b"k")
    producer.flush()

    routed, settled = counts(producer, len(brokers.leaders))
    assert sum(routed) == 500 * 100
    assert settled == routed


def test_records_before_the_first_view_do_not_settle_as_routed(brokers: MockCluster) -> None:
    """They are delivered by librdkafka's own partitioner, which stays with a partition for 10 ms."""
    brokers.fails_with = UnreachableError("no broker responded")
    with Producer({**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.first.view.ms": 0}) as producer:
        # librdkafka keeps records until it knows the topic, and then spreads them
        producer.produce(TOPIC, bytes(100))
        producer.flush()
        for _ in range(999):
            producer.produce(TOPIC, bytes(100))
        brokers.fails_with = None
        while producer.routing()[0].view_age_s is None:
            producer.poll(0.01)
        producer.flush()
        assert len(Counter(message.partition() for message in brokers.messages(1000))) < len(brokers.leaders)
        for _ in range(1000):
            producer.produce(TOPIC, bytes(100))
        producer.flush()
        routed, settled = counts(producer, len(brokers.leaders))
    assert sum(routed) == 1000 * 100
    assert settled == routed


def test_records_from_before_the_first_view_may_settle_after_later_ones(brokers: MockCluster) -> None:
    """A slow broker acknowledges them when the others have acknowledged records that were routed."""
    brokers.fails_with = UnreachableError("no broker responded")
    slow = brokers.leaders[0]
    with Producer({**brokers.client, "kafkabal.refresh.ms": 100, "kafkabal.first.view.ms": 0}) as producer:
        producer.produce(TOPIC, bytes(100), partition=0)  # librdkafka learns of the topic
        producer.flush()
        brokers.mock.delay(slow, 1000)
        for _ in range(40):
            producer.produce(TOPIC, bytes(100))
            sleep(0.011)  # librdkafka stays with a partition for 10 ms
        brokers.fails_with = None
        while producer.routing()[0].view_age_s is None:
            producer.poll(0.01)
        for _ in range(1000):
            producer.produce(TOPIC, bytes(100))
        assert producer.flush() == 0
        routed, settled = counts(producer, len(brokers.leaders))
    assert sum(routed) == 1000 * 100
    assert settled == routed


def test_acknowledgements_from_before_a_topic_shrank_settle_no_later_records(brokers: MockCluster) -> None:
    """Records in flight when the topic is re-created with fewer partitions count as none of those sent afterwards."""
    with Producer({**brokers.client, "kafkabal.refresh.ms": 100, "linger.ms": 60_000}) as producer:
        for _ in range(500):
            producer.produce(TOPIC, bytes(100))
            producer.produce(TOPIC, bytes(100), partition=0)
        brokers.leaders = {0: brokers.leaders[0]}
        reads = len(brokers.reads)
        while len(brokers.reads) < reads + 2:
            producer.poll(0.01)
        assert producer.flush() == 0
        for _ in range(900):
            producer.produce(TOPIC, bytes(100))
        assert counts(producer, 1) == ([90_000], [0])
        producer.flush()
        assert counts(producer, 1) == ([90_000], [90_000])


def test_a_record_longer_than_its_slot_is_made_up_for(brokers: MockCluster, producer: Producer) -> None:
    """Brokers end even although every second record overruns its slot."""
    for number in range(3000):
        producer.produce(TOPIC, bytes(30_000 if number % 2 else 100))
        if number % 100 == 0:
            producer.flush()
    producer.flush()
    of_brokers = [n for n in producer.routing()[0].broker_bytes.values() if n]
    # on a busy machine, records come so slowly that linger closes batches: slots end 1.25% ahead
    assert max(of_brokers) < 1.015 * sum(of_brokers) / len(of_brokers)


@pytest.mark.parametrize("partitioner", ["murmur2", "fnv1a_random", "consistent"])
def test_records_with_keys_keep_the_partitioner_of_the_configuration(brokers: MockCluster, partitioner: str) -> None:
    """Each key goes where the bare client with that setting sends it."""
    config = {**brokers.client, "partitioner": partitioner}
    where: list[dict[bytes, int]] = []
    for client in (Client(config), Producer(config)):
        found: dict[bytes, int] = {}

        def note(_error: Any, message: Any, found: dict[bytes, int] = found) -> None:
            found[message.key()] = message.partition()

        for number in range(40):
            client.produce(TOPIC, b"x", key=f"key{number}", on_delivery=note)
        client.flush()
        where.append(found)
    assert where[0] == where[1]
    assert len(where[0]) == 40


@pytest.mark.parametrize(
    ("name", "value"), [("partitioner", "roulette"), ("partitioner", []), ("sticky.partitioning.linger.ms", "long")]
)
def test_invalid_settings_get_the_error_of_the_client(brokers: MockCluster, name: str, value: Any) -> None:
    """Settings that the plug-in takes over are still checked by librdkafka."""
    with pytest.raises(KafkaException) as ours:
        Producer({**brokers.client, name: value})
    with pytest.raises(KafkaException) as theirs:
        Client({**brokers.client, name: value})
    assert str(ours.value) == str(theirs.value)


def test_another_plug_in_is_loaded_too(brokers: MockCluster) -> None:
    """A path in plugin.library.paths is kept: one that does not exist is refused as by the bare client."""
    with pytest.raises(KafkaException, match="nowhere"):
        Producer({**brokers.client, "plugin.library.paths": "/nowhere/monitor.so"})


def test_what_a_signal_handler_raises_is_never_lost(producer: Producer) -> None:
    """Also if the signal comes while librdkafka asks Python for slots: it is raised once produce() has returned."""

    def stop(_number: int, _frame: Any) -> None:
        raise InterruptedError

    # Python itself loses what is raised while it collects the producer of another test
    gc.collect()
    before = signal.signal(signal.SIGALRM, stop)
    stopped = 0
    try:
        for number in range(200):
            try:
                # on a busy machine the signal may come at once
                signal.setitimer(signal.ITIMER_REAL, 0.0005 + number * 1e-5)
                while True:
                    try:
                        # each record needs a slot of its own
                        producer.produce(TOPIC, bytes(300_000))
                    except BufferError:
                        producer.purge()
                        producer.poll(0)
            except InterruptedError:
                stopped += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    producer.purge()
    assert stopped == 200


_TWO_THREADS = """
import sys, threading, time
from kafkabal.producer import drop_in_producer, plugin_router, producer_options, view_refresher
from kafkabal.producer.plugin_router import PluginRouter
from kafkabal.routing.policies.score import ScoreWeighted
from tests.mock_brokers import MockBrokers
from tests.unit.producer.conftest import TOPIC, MockCluster

cluster = MockCluster(MockBrokers(TOPIC, brokers=1))
drop_in_producer.open_cluster = lambda _connection, _settings: cluster
plan, pauses_s = ScoreWeighted.plan_slots, [1.5]  # librdkafka scans all topics every second

def plan_slowly(self, size_bytes, overruns):
    if pauses_s:
        time.sleep(pauses_s.pop())
    return plan(self, size_bytes, overruns)

ScoreWeighted.plan_slots = plan_slowly
producer = drop_in_producer.Producer(cluster.client)
batch = [{"value": bytes(1000)}] * 1000
batches = threading.Thread(target=producer.produce_batch, args=(TOPIC, batch))
batches.start()
while batches.is_alive():
    producer.produce(TOPIC, b"x", partition=0)
    time.sleep(0.01)
print(producer.flush(10))
"""


def test_a_thread_that_sends_a_batch_blocks_no_other_one() -> None:
    """Slots are planned while librdkafka's lock of the topic is free: with it, its threads and Python's lock await each
    other."""
    done = subprocess.run([sys.executable, "-c", _TWO_THREADS], capture_output=True, text=True, timeout=30, check=False)
    assert done.stdout.split() == ["0"], done.stderr


def test_it_takes_no_settings_that_hide_the_partitioner() -> None:
    """The old dictionary of topic settings may hold a partitioner of its own."""
    assert is_available({})
    assert not is_available({"default.topic.config": {"partitioner": "murmur2"}})


@pytest.mark.parametrize(
    ("records", "ends"),
    [
        ([], []),
        ([{"value": b"abc"}, {"value": b""}, {"value": "dé"}], [3, 3, 5]),
        ([{"value": b"abc"}, {"value": b"d", "callback": print}], [3, 4]),
        ([{"value": b"abc"}, {"value": b"d", "key": b"k"}], None),
        ([{"value": b"abc", "callback": print, "partition": 1}], None),
        ([{"value": None}], None),
        ([{"key": b"k"}], None),
        ([{"value": bytearray(3)}], None),
        ([{}], None),
        (["abc"], None),
        ([None], None),
    ],
)
def test_values_of_plain_records_are_measured(records: list[Any], ends: list[int] | None) -> None:
    """The running sum of their lengths is known; anything else is left to Python, and leaves no error behind."""
    found = value_ends(records)
    assert (None if found is None else found.tolist()) == ends


@pytest.fixture(params=[1, 64, 10**9], ids=["always runs", "long runs", "no runs"])
def least_run(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Records of a slot from which on they are sent with its partition."""
    least: int = request.param
    monkeypatch.setattr(plugin_router, "_LEAST_RUN", least)
    return least


@pytest.mark.usefixtures("least_run")
@pytest.mark.parametrize("n_threads", [1, 3])
def test_every_byte_of_batches_is_counted_once(brokers: MockCluster, producer: Producer, n_threads: int) -> None:
    """As for single records: bytes and not characters, on the partition where they arrive; no thread uses up the slots
    that were planned for the batch of another one."""
    values: list[Any] = [bytes(number % 900) if number % 7 else "é" * 400 for number in range(1000)]

    def send() -> None:
        for _ in range(6 // n_threads):
            assert producer.produce_batch(TOPIC, [{"value": value} for value in values]) == 1000

    call_in_threads(send, n_threads)
    assert producer.flush() == 0

    of_partition: Counter[int] = Counter()
    for message in brokers.messages(6000):
        of_partition[message.partition()] += max(1, len(message.value()))
    routed, settled = counts(producer, len(brokers.leaders))
    assert routed == settled == [of_partition[p] for p in brokers.leaders]


def test_a_batch_that_a_log_handler_sends_meanwhile_waits_for_nothing(producer: Producer) -> None:
    """A record's thread that plans slots may send a batch of its own, while another thread sends one, too."""
    producer.produce(TOPIC, b"x")
    assert producer._routing is not None
    router = producer._routing.router(TOPIC)
    assert isinstance(router, PluginRouter)
    with router._lock:
        other = Thread(target=producer.produce_batch, args=(TOPIC, [{"value": bytes(1000)}] * 1000))
        other.start()
        while router.batch_lock.acquire(blocking=False):
            router.batch_lock.release()
            sleep(0.001)
        assert producer.produce_batch(TOPIC, [{"value": b"log"}] * 10) == 10
    other.join()
    assert producer.flush() == 0


def test_long_slots_of_a_batch_are_sent_as_runs(
    brokers: MockCluster, producer: Producer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With their partition, and not record by record, as soon as slots hold many records."""
    runs: Counter[bool] = Counter()
    real = Lane.run

    def counted(lane: Lane, n_bytes: int) -> AbstractContextManager[int]:
        runs[n_bytes >= 64 * 1000] += 1
        return real(lane, n_bytes)

    monkeypatch.setattr(Lane, "run", counted)
    for _ in range(40):
        producer.produce_batch(TOPIC, [{"value": bytes(1000)}] * 1000)
        producer.flush()
    assert set(runs) == {True}
    assert runs[True] >= 40


@pytest.mark.usefixtures("least_run")
def test_bytes_of_records_that_are_refused_are_given_back(brokers: MockCluster) -> None:
    """A full queue takes a part of a batch; the rest counts neither as sent nor as in flight."""
    config = {**brokers.client, "queue.buffering.max.messages": 700, "linger.ms": 60_000, "kafkabal.seed": 1}
    with Producer({**config, "kafkabal.refresh.ms": 3_600_000}) as producer:
        batch = [{"value": bytes(100)} for _ in range(1000)]
        assert producer.produce_batch(TOPIC, batch) == 700
        assert sum("_error" in message for message in batch) == 300
        assert sum(counts(producer, len(brokers.leaders))[0]) == 700 * 100
        producer.flush()
        routed, settled = counts(producer, len(brokers.leaders))
        assert routed == settled
        assert sum(routed) == 700 * 100


@pytest.mark.usefixtures("least_run")
def test_records_with_keys_in_a_batch_keep_their_partitions(brokers: MockCluster, producer: Producer) -> None:
    """Whatever slot the records beside them fall into."""
    batch = [{"value": b"%d" % n, "key": b"k%d" % n} if n % 2 else {"value": bytes(100)} for n in range(1000)]
    producer.produce_batch(TOPIC, batch)
    producer.flush()
    bare = Client(brokers.client)
    bare.produce_batch(TOPIC, [dict(message) for message in batch if "key" in message])
    bare.flush()

    found: dict[bytes, set[int]] = {}
    for message in brokers.messages(1500):
        if message.key() is not None:
            found.setdefault(message.key(), set()).add(message.partition())
    assert len(found) == 500
    assert all(len(partitions) == 1 for partitions in found.values())


@pytest.mark.usefixtures("least_run")
def test_a_batch_whose_partition_is_gone_is_sent_to_others(
    brokers: MockCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic re-created with fewer partitions takes every record of a batch, and none keeps an error."""
    # the client knew the partitions of the view when that was shown
    monkeypatch.setattr(view_refresher.ViewRefresher, "_fetch_new_partitions", lambda *_: None)
    known = len(brokers.leaders)
    brokers.leaders |= {known: 1, known + 1: 2}
    with Producer(brokers.client) as producer:
        producer.produce(TOPIC, b"x", partition=0)  # so that the client knows the partitions
        producer.flush()
        batch = [{"value": bytes(1000)} for _ in range(1000)] + [{"value": bytes(1000)}] * 2000
        assert producer.produce_batch(TOPIC, batch) == 3000
        assert producer.flush() == 0
        assert producer.routing()[0].switches > 0
    assert not any("_error" in message for message in batch)
    assert {message.partition() for message in brokers.messages(3001)} <= set(range(known))
