"""Weights of topics from successive readings of the cluster, and which publisher may write them."""

from __future__ import annotations

import _thread
import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from math import inf
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from kafkabal.clusters import ConfigSource, ConfigValue, LockRequest
from kafkabal.clusters.cluster_protocol import Reading, ReadRequest
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import BusyError, NotAuthorizedError, UnreachableError, UsageError
from kafkabal.producer import TopicWeights, ViewReader, WeighedTopic, WeightPublisher
from kafkabal.routing import load_policy
from kafkabal.routing.byte_stride import ByteStride
from kafkabal.scoring import load_scores
from kafkabal.simulator.workload_cluster import TOPIC, WorkloadCluster, build_workload_cluster
from kafkabal.telemetry import LatencyTable


class Reader:
    """A cluster of three brokers and five partitions, with bytes by broker id."""

    def __init__(self, existing_bytes: Mapping[int, int]) -> None:
        self.existing_bytes = existing_bytes

    def read(self, request: ReadRequest) -> Reading:
        """The whole state."""
        spec = WorkloadCluster(brokers=3, partitions=5, own_existing_bytes=self.existing_bytes)
        return Reading(build_workload_cluster(spec))


def weights_of(*topics: str, policy: str = "score", reader: Reader | None = None) -> TopicWeights:
    """Weights by disk, of empty brokers unless a reader is given."""
    latency = LatencyTable(max_age_s=60, clock=lambda: 0.0)
    views = ViewReader(reader or Reader({}), latency=latency, prometheus=None, clock=lambda: 0.0)
    return TopicWeights(
        views,
        topics,
        load_policy(policy),
        load_scores(["disk"]),
        valid_s=60,
        clock=lambda: 0.0,
        now=lambda: datetime(2026, 1, 1, tzinfo=UTC),
        publisher="me",
    )


class Lock:
    """A lock that can be lost."""

    held = True
    released = False

    def is_held(self) -> bool:
        """See ClusterLock."""
        return self.held

    def release(self) -> None:
        """See ClusterLock."""
        self.released = True


class Store:
    """Keeps what is stored."""

    def __init__(self) -> None:
        self.put_values: list[tuple[str, bytes]] = []

    def put(self, key: str, value: bytes) -> None:
        """See RecordStore."""
        self.put_values.append((key, value))


def publisher_with(lock: Callable[..., Any]) -> tuple[WeightPublisher, Store, list[str]]:
    """A publisher with this lock, what it writes, and what it warns of."""
    store, warnings = Store(), list[str]()
    cluster: Any = SimpleNamespace(lock=lock)
    return WeightPublisher(cluster, store, warnings.append), store, warnings  # type: ignore[arg-type]


def weighed() -> list[WeighedTopic]:
    """A topic with weights."""
    return weights_of(TOPIC).compute()[0]


def weighed_as(names: Iterable[str]) -> list[WeighedTopic]:
    """Topics of these names with the same weights."""
    (topic,) = weighed()
    return [replace(topic, record=msgspec.structs.replace(topic.record, topic=name)) for name in names]


def test_brokers_and_not_partitions_get_the_same() -> None:
    """Five partitions on three empty brokers: each broker gets a third, however many partitions it leads."""
    (topic,) = weighed()
    led: dict[int, float] = {}
    for row, weight in zip(topic.record.leaders, topic.record.weights, strict=True):
        led[row] = led.get(row, 0.0) + weight
    assert list(led.values()) == pytest.approx([1 / 3] * 3, abs=0.01)


def test_new_scores_count_from_the_next_reading_on() -> None:
    """New scores apply from the next reading on, and the record names them."""
    weights = weights_of(TOPIC)
    weights.compute()
    weights.use_scores(load_scores(["replicas=2"]))
    (topic,) = weights.compute()[0]
    assert topic.record.scores == {"replicas": 2.0}


def weight_of_third(reader: Reader, *readings: Mapping[int, int]) -> float:
    """The third broker's weight, times three, after successive readings with these bytes on the brokers."""
    weights, part = weights_of(TOPIC, reader=reader), 0.0
    for reader.existing_bytes in readings:
        (topic,) = weights.compute()[0]
        part = sum(w for row, w in zip(topic.record.leaders, topic.record.weights, strict=True) if row == 2)
    return 3 * part


MB = 1_000_000
ONE_LATE = {1: 110 * MB, 2: 110 * MB, 3: 80 * MB}


@pytest.mark.parametrize(
    ("readings", "least", "most"),
    [
        ([ONE_LATE], 1.05, 1.5),
        ([{}, ONE_LATE], 0.99, 1.01),
        ([{}, ONE_LATE, {broker: 2 * held for broker, held in ONE_LATE.items()}], 1.05, 1.5),
        ([{}, ONE_LATE, {1: 220 * MB, 2: 220 * MB, 3: 190 * MB}], 0.99, 1.01),
        ([{}, ONE_LATE, ONE_LATE], 1.05, 1.5),
    ],
    ids=["held before", "less came", "ever less", "as much less", "no more comes"],
)
def test_weights_do_not_compensate_records_waiting_in_clients(
    readings: list[Mapping[int, int]], least: float, most: float
) -> None:
    """A broker short of less than a client's buffer gets no more, unless it was short before or nothing arrives."""
    assert least < weight_of_third(Reader({}), *readings) < most


def test_clients_with_these_weights_fill_brokers_evenly() -> None:
    """Sixty thousand 1 kB records, routed by the record's stride, end within 1.005 of the mean."""
    (topic,) = weighed()
    record, stride = topic.record, ByteStride(1, 0.3, lambda: None)
    stride.set_slot_bytes(record.slot_bytes, record.slot_part or inf)
    stride.set_weights(np.array(record.weights), inf, np.array(record.leaders, np.int32))
    picked = np.empty(60_000, np.int32)
    stride.fill(np.full(len(picked), 1008), picked)
    of_broker = np.bincount(np.array(record.leaders)[picked])
    assert of_broker.max() / of_broker.mean() < 1.005


def test_a_few_kilobytes_are_no_imbalance() -> None:
    """Differences far below what clients write before the next reading leave the weights of empty brokers."""
    (topic,) = weights_of(TOPIC, reader=Reader({1: 50_000})).compute()[0]
    assert topic.record.weights == pytest.approx(weighed()[0].record.weights, abs=0.002)


def test_a_deleted_topic_does_not_stop_the_others() -> None:
    """The error names the missing topic, and the other topics get weights."""
    found, faults = weights_of("gone", TOPIC).compute()
    assert [each.record.topic for each in found] == [TOPIC]
    assert str(faults["gone"]) == "unknown topic: 'gone'"


def test_a_policy_without_weights_has_nothing_to_publish() -> None:
    """A policy without weights is refused when it is chosen."""
    with pytest.raises(UsageError, match="'sticky' does not route by weights"):
        weights_of(TOPIC, policy="sticky")


def test_weights_are_written_under_the_name_of_their_topic() -> None:
    """Each topic has one lock, which is acquired once and released at the end."""
    lock, purposes = Lock(), []

    def take(request: LockRequest) -> Lock:
        purposes.append(request.purpose)
        return lock

    publisher, store, _ = publisher_with(take)
    for _ in range(2):
        assert publisher.publish(weighed()) == {}
    publisher.release()
    assert purposes == [f"route-{TOPIC}"]
    assert lock.released
    assert [key for key, _ in store.put_values] == [TOPIC, TOPIC]
    assert json.loads(store.put_values[0][1])["publisher"] == "me"


def test_a_second_publisher_writes_nothing() -> None:
    """A second publisher names the first, and takes over once that one has ended."""
    answers: list[Any] = [BusyError("cluster locked by kafkabal on other (process 7)"), Lock()]

    def take(*_: object) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    publisher, store, _ = publisher_with(take)
    others = publisher.publish(weighed())
    assert str(others[TOPIC]) == f"weights of topic {TOPIC} are published by kafkabal on other (process 7)"
    assert store.put_values == []
    assert publisher.publish(weighed()) == {}
    assert len(store.put_values) == 1


def test_a_lock_that_cannot_be_taken_stops_no_other_topic() -> None:
    """Topics whose lock is held are written before other locks are taken; one that cannot be taken stops no other."""
    answers: dict[str, Any] = {"route-a": Lock(), "route-b": UnreachableError("no response"), "route-c": Lock()}
    written_before: list[list[str]] = []

    def take(request: LockRequest) -> Any:
        written_before.append([key for key, _ in store.put_values])
        if isinstance(answers[request.purpose], Exception):
            raise answers[request.purpose]
        return answers[request.purpose]

    publisher, store, _ = publisher_with(take)
    topics = weighed_as("abc")
    assert publisher.publish(topics) == {"b": answers["route-b"]}
    assert [key for key, _ in store.put_values] == ["a", "c"]
    publisher.publish(topics)
    assert written_before[-1] == ["a", "c", "a", "c"]


def test_locks_of_many_topics_are_taken_at_once() -> None:
    """Ten locks are taken while each waits for all others, and released likewise: by default Kafka makes each wait for
    three seconds, and a release waits for a coordinator that is down."""
    together = threading.Barrier(10, timeout=60)

    class Slow(Lock):
        def release(self) -> None:
            together.wait()
            super().release()

    locks = [Slow() for _ in range(10)]
    remaining = iter(locks)

    def take(_: LockRequest) -> Lock:
        together.wait()
        return next(remaining)

    publisher, store, _ = publisher_with(take)
    publisher.publish(weighed_as("abcdefghij"))
    publisher.release()
    assert [key for key, _ in store.put_values] == list("abcdefghij")
    assert all(lock.released for lock in locks)


def test_a_lost_lock_is_taken_again() -> None:
    """A lost lock is acquired again before anything is written."""
    locks = [Lock(), Lock()]
    publisher, store, _ = publisher_with(lambda *_: locks[len(store.put_values)])
    publisher.publish(weighed())
    locks[0].held = False
    publisher.publish(weighed())
    assert (locks[0].released, len(store.put_values)) == (True, 2)


def test_without_permission_to_lock_it_warns_once_and_publishes() -> None:
    """A publisher without permission to lock warns once that it cannot keep out a second one, and publishes."""

    def refuse(*_: object) -> None:
        raise NotAuthorizedError("not authorized to read group g")

    publisher, store, warnings = publisher_with(refuse)
    publisher.publish(weighed())
    publisher.publish(weighed())
    assert warnings == ["cannot keep a second publisher out: not authorized to read group g"]
    assert len(store.put_values) == 2


def test_a_publisher_that_may_lock_again_does_so() -> None:
    """One that lost the permission tries again every minute, and then keeps others out, or stands by behind one."""
    answer: Any = NotAuthorizedError("not authorized to read group g")
    attempts: list[str] = []

    def take(request: LockRequest) -> Any:
        attempts.append(request.purpose)
        if isinstance(answer, Exception):
            raise answer
        return answer

    store, warnings, clock = Store(), list[str](), FakeClock()
    publisher = WeightPublisher(SimpleNamespace(lock=take), store, warnings.append, clock)  # type: ignore[arg-type]
    for _ in range(13):
        assert publisher.publish(weighed()) == {}
        clock.sleep(5)
    assert (len(attempts), len(store.put_values)) == (2, 13)
    answer = UnreachableError("no response")
    clock.sleep(60)
    assert publisher.publish(weighed()) == {}, "published before the attempt"
    answer = BusyError("cluster locked by kafkabal on other (process 7)")
    assert "published by kafkabal on other" in str(publisher.publish(weighed())[TOPIC])
    answer = Lock()
    publisher.publish(weighed())
    publisher.publish(weighed())
    assert len(attempts) == 5
    assert warnings == ["cannot keep a second publisher out: not authorized to read group g"]


def test_a_permission_that_is_back_is_reported() -> None:
    """The warning that two publishers may overlap is taken back."""
    answers: list[Any] = [NotAuthorizedError("no"), Lock()]

    def take(_: LockRequest) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    warnings, clock = list[str](), FakeClock()
    publisher = WeightPublisher(SimpleNamespace(lock=take), Store(), warnings.append, clock)  # type: ignore[arg-type]
    publisher.publish(weighed())
    clock.sleep(60)
    publisher.publish(weighed())
    assert warnings[1:] == ["locks can be taken again: a second publisher is kept out"]


def test_an_end_while_locks_are_taken_leaves_none_behind() -> None:
    """SIGTERM while Kafka lets a lock wait: those taken already and the one that comes late are all released."""
    locks = {topic: Lock() for topic in "abc"}

    def take(request: LockRequest) -> Lock:
        topic = request.purpose.removeprefix("route-")
        if topic == "c":
            _thread.interrupt_main()
            time.sleep(0.6)
        return locks[topic]

    publisher, _, warnings = publisher_with(take)
    with pytest.raises(KeyboardInterrupt):
        publisher.publish(weighed_as("abc"))
    publisher.release()
    assert {topic: lock.released for topic, lock in locks.items()} == dict.fromkeys("abc", True)
    assert warnings == []


def test_a_lock_that_is_not_taken_in_time_delays_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end waits for a coordinator that is down only as long as for a release, and says what that means."""
    monkeypatch.setattr("kafkabal.producer.weight_publisher._RELEASE_S", 0.1)
    coordinator_is_back, waiting = threading.Event(), list[str]()

    def take(request: LockRequest) -> Lock:
        waiting.append(request.purpose)
        if len(waiting) == 2:
            _thread.interrupt_main()
        assert coordinator_is_back.wait(60.0)
        return Lock()

    publisher, _, warnings = publisher_with(take)
    with pytest.raises(KeyboardInterrupt):
        publisher.publish(weighed_as("ab"))
    publisher.release()
    coordinator_is_back.set()
    assert warnings == ["another publisher may have to wait 30 s for locks that were still being taken: a, b"]


@pytest.mark.parametrize(
    ("configs", "warned"),
    [
        ({"cleanup.policy": "compact,delete", "message.timestamp.type": "LogAppendTime"}, []),
        ({}, []),
        (
            {"cleanup.policy": "delete", "message.timestamp.type": "CreateTime"},
            [
                "cleanup.policy is delete, so a producer that starts reads all weights that are kept",
                "message.timestamp.type is CreateTime, so a producer that starts ignores weights",
            ],
        ),
    ],
)
def test_a_topic_of_weights_of_another_program_is_checked(configs: dict[str, str], warned: list[str]) -> None:
    """Configs of the topic that slow down starting producers are reported; a missing topic is not."""
    values = {key: ConfigValue(value, ConfigSource.OWN) for key, value in configs.items()}
    warnings: list[str] = []
    cluster: Any = SimpleNamespace(configs=lambda resources, _: (dict.fromkeys(resources, values), {}))
    WeightPublisher(cluster, Store(), warnings.append).check_topic()  # type: ignore[arg-type]
    assert len(warnings) == len(warned)
    assert all(f"topic __kafkabal_weights: {text}" in found for text, found in zip(warned, warnings, strict=True))


def test_a_lock_that_cannot_be_released_ends_by_itself() -> None:
    """A publisher still ends if the coordinator of its lock is unreachable."""

    class Stuck(Lock):
        def release(self) -> None:
            raise UnreachableError("no response")

    publisher, _, _ = publisher_with(lambda *_: Stuck())
    publisher.publish(weighed())
    publisher.release()
