"""The routing producer against librdkafka's mock brokers: where records go, and that all are accounted for."""

from __future__ import annotations

import math
import signal
from collections import Counter
from contextlib import suppress
from threading import Event, Timer, current_thread
from time import monotonic
from typing import Any, ClassVar

import numpy as np
import pytest
from confluent_kafka import KafkaError, KafkaException

from kafkabal.errors import (
    NotAuthorizedError,
    OperationError,
    PartialFailureError,
    RefusedByClusterError,
    UnreachableError,
    UsageError,
)
from kafkabal.model.cluster_state import I32
from kafkabal.producer import record_sender
from kafkabal.producer.record_handover import DeliveryCallback
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.records_in_flight import Acknowledged
from kafkabal.routing.policy_protocol import About, Context, Feedback, PolicyBase, RecordBatch
from kafkabal.routing.registry import load_policy
from kafkabal.routing.routing_view import RoutingView
from kafkabal.scoring.registry import load_scores
from tests.unit.producer.conftest import MockCluster, send

TOPIC = "images"


class Fixed(PolicyBase):
    """Sends everything to one partition, and keeps the views it received."""

    about: ClassVar = About(name="fixed", meaning="one partition", source="test")

    def __init__(self, partition: int) -> None:
        super().__init__(Context())
        self.partition = partition
        self.views: list[RoutingView] = []
        self.asked: list[tuple[bytes | None, int]] = []
        self.refreshed = Event()

    def refresh(self, view: RoutingView) -> None:
        """Keep the view."""
        self.views.append(view)
        self.refreshed.set()

    def pick(self, key: bytes | None, size_bytes: int) -> int:
        """Pick the fixed partition."""
        self.asked.append((key, size_bytes))
        return self.partition

    def pick_batch(self, records: RecordBatch, out: I32) -> None:
        """Pick the fixed partition."""
        self.asked += [(None, size) for size in records.size_bytes.tolist()]
        out[:] = self.partition


class Learning(Fixed):
    """A policy that learns from acknowledgements."""

    about: ClassVar = About(name="learning", meaning="", source="test", feedback=Feedback.ACKS)

    def __init__(self, partition: int) -> None:
        super().__init__(partition)
        self.acks: list[tuple[int, int, float]] = []

    def acked(self, partition: int, size_bytes: int, latency_s: float) -> None:
        """Keep the acknowledgement."""
        self.acks.append((partition, size_bytes, latency_s))


class Asking(Fixed):
    """A policy that asks which of its records had reached the brokers."""

    about: ClassVar = About(name="asking", meaning="", source="test", asks_what_settled=True)

    def next_view(self, producer: RecordSender) -> RoutingView:
        """The view of a reading that begins now."""
        self.refreshed.clear()
        producer.reload()
        assert self.refreshed.wait(10)
        return self.views[-1]


def test_records_go_to_the_partition_of_the_policy(mock_cluster: MockCluster) -> None:
    """Key, value and headers arrive in the picked partition, and the policy was given all their bytes."""
    policy = Fixed(2)
    with RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client) as producer:
        send(producer, b"value", b"key", [("path", b"a.jpg")])
        send(producer, b"")
    found = {(m.partition(), m.key(), m.value(), tuple(m.headers() or ())) for m in mock_cluster.messages(2)}
    assert found == {(2, b"key", b"value", (("path", b"a.jpg"),)), (2, None, b"", ())}
    assert policy.asked == [(b"key", 5 + 3 + 4 + 5), (None, 1)]


def test_everything_is_accounted_for(mock_cluster: MockCluster) -> None:
    """After a flush every record is acknowledged, and none is in flight."""
    with RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client) as producer:
        for _ in range(1000):
            send(producer, b"x" * 100)
        deliveries = producer.flush()
    assert (deliveries.handed_over, deliveries.acknowledged, deliveries.in_flight) == (1000, 1000, 0)
    assert Counter(m.partition() for m in mock_cluster.messages(1000)) == {0: 1000}


def test_a_record_that_fits_into_no_queue_is_refused(mock_cluster: MockCluster) -> None:
    """librdkafka calls its queue full even if nothing else is in it; the caller waited for room forever."""
    client = {**mock_cluster.client, "queue.buffering.max.kbytes": 1}
    with RecordSender(mock_cluster, TOPIC, Fixed(0), client) as producer:
        with pytest.raises(OperationError, match="picture 2: larger than the whole queue"):
            producer.produce_many([b"x", b"x", bytes(2000)], [1, 1, 2000], name_of=lambda at: f"picture {at}")
        assert producer.flush().acknowledged == 2


def test_a_full_queue_holds_the_caller_up(mock_cluster: MockCluster) -> None:
    """With room for ten records in librdkafka's queue, a thousand still all arrive."""
    client = {**mock_cluster.client, "queue.buffering.max.messages": 10}
    with RecordSender(mock_cluster, TOPIC, Fixed(1), client) as producer:
        for _ in range(1000):
            send(producer, b"x")
        assert producer.flush().acknowledged == 1000


def test_callers_and_policies_are_notified_of_acknowledgements(mock_cluster: MockCluster) -> None:
    """The caller receives each delivery once; a learning policy gets partition, bytes and seconds of each record."""
    policy = Learning(3)
    heard: list[Acknowledged] = []
    with RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client) as producer:
        producer.produce_many([b"one"], [3], on_acknowledged=heard.append)
        send(producer, b"three", b"k")
        producer.flush()
    assert heard == [Acknowledged(1, {3: 1}, {3: 3})]
    assert [(partition, size) for partition, size, _ in policy.acks] == [(3, 3), (3, 6)]
    assert all(0 < latency_s < 60 for _, _, latency_s in policy.acks)


def poll_until_delivered(producer: RecordSender) -> None:
    """Poll until nothing is in flight; a single poll may end at statistics as well as at reports."""
    while producer.deliveries.in_flight:
        producer.poll(20)


def test_a_signal_during_a_delivery_report_loses_neither(mock_cluster: MockCluster) -> None:
    """Ctrl-C during a delivery report ends the poll with KeyboardInterrupt, and the report is counted."""

    def interrupt(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def send_and_wait(producer: RecordSender) -> None:
        # on a slow machine the report may precede the end of produce
        producer.produce_many([b"x"], [1], on_acknowledged=interrupt)
        poll_until_delivered(producer)

    with RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client) as producer:
        with pytest.raises(KeyboardInterrupt):
            send_and_wait(producer)
        assert producer.deliveries.acknowledged == 1


def test_a_record_is_counted_before_a_signal_can_cut_in(mock_cluster: MockCluster) -> None:
    """Ctrl-C right after librdkafka accepted a record does not leave it in flight uncounted."""
    with RecordSender(mock_cluster, TOPIC, Fixed(1), mock_cluster.client) as producer:
        hand_over = producer._produce

        def interrupted(*words: object) -> None:
            hand_over(*words)
            raise KeyboardInterrupt

        producer._produce = interrupted
        with pytest.raises(KeyboardInterrupt):
            send(producer, b"x")
        assert producer.deliveries.in_flight == 1
        producer.flush()
        assert producer.deliveries.in_flight == 0


def test_a_record_that_makes_no_sense_is_not_waited_for(mock_cluster: MockCluster) -> None:
    """A record that librdkafka's binding refuses, such as a number as value, does not count as queued."""
    with RecordSender(mock_cluster, TOPIC, Fixed(1), mock_cluster.client) as producer:
        with pytest.raises(TypeError):
            send(producer, b"x", headers=[("a", 1)], size_bytes=2)
        assert producer.deliveries.handed_over == 0


def test_a_signal_while_encoding_headers_is_raised(mock_cluster: MockCluster) -> None:
    """Ctrl-C while the binding reads a valid header name is not an invalid name; invalid names stay refused."""
    with RecordSender(mock_cluster, TOPIC, Fixed(1), mock_cluster.client) as producer:
        with pytest.raises(TypeError, match="expected header key") as refusal:
            send(producer, b"x", headers=[(Unprintable(), b"")])

        def refused(*_: object) -> None:
            raise refusal.value

        producer._produce = refused
        with pytest.raises(KeyboardInterrupt):
            send(producer, b"x", headers=[("a", b"")])
        assert producer.deliveries.handed_over == 0


def test_a_termination_while_encoding_headers_is_told_from_an_interrupt(mock_cluster: MockCluster) -> None:
    """The exit code depends on which signal it was; the binding hides what its handler raised."""

    class TerminatedError(KeyboardInterrupt):
        """What the handler of SIGTERM raises."""

    def terminate(*_: object) -> None:
        raise TerminatedError

    def hiding(*_: object) -> None:
        with suppress(TerminatedError):
            signal.raise_signal(signal.SIGTERM)
        raise TypeError("expected header key to be unicode string")

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        with RecordSender(mock_cluster, TOPIC, Fixed(1), mock_cluster.client) as producer:
            producer._produce = hiding
            with pytest.raises(TerminatedError):
                send(producer, b"x", headers=[("a", b"")])
            assert producer.deliveries.handed_over == 0
        assert signal.getsignal(signal.SIGTERM) is terminate
    finally:
        signal.signal(signal.SIGTERM, before)


class Unprintable:
    """A header name that cannot be converted to text."""

    def __len__(self) -> int:
        """The length of a name."""
        return 0

    def __str__(self) -> str:
        """Raise, as a signal handler does."""
        raise KeyboardInterrupt


def test_a_client_that_may_not_write_ends_with_the_permission(mock_cluster: MockCluster) -> None:
    """A fatal error of an idempotent client is one of our errors, also from calls that only maintain it."""

    class Ended:
        """A client that raises a fatal error at every call."""

        def purge(self, **_: bool) -> None:
            """Do nothing: the queue is empty."""

        def poll(self, _: float) -> int:
            """Raise as librdkafka does without an error callback."""
            raise KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "no PID", fatal=True))

        flush = poll

    producer = RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client)
    real, producer._client = producer._client, Ended()  # type: ignore[assignment] # what it calls of a client
    for call in (producer.poll, producer.flush, producer.drop_queued):
        with pytest.raises(NotAuthorizedError, match="topic images: no PID") as caught:
            call()
        assert "Write" in str(caught.value.hint)
    producer.close()
    producer._client = real


def test_an_empty_record_that_is_not_taken_is_acknowledged_as_it_was_picked(mock_cluster: MockCluster) -> None:
    """A policy that counts what is in flight gets back as much as it counted."""
    policy = Learning(1)
    producer = RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client)
    producer.close()
    with pytest.raises(OperationError):
        send(producer, b"")
    assert [(key, size) for key, size in policy.asked] == [(None, 1)]
    assert [(partition, size) for partition, size, _ in policy.acks] == [(1, 1)]


def test_a_closed_producer_takes_nothing(mock_cluster: MockCluster) -> None:
    """Producing after the close is an error, and the record is not counted."""
    producer = RecordSender(mock_cluster, TOPIC, Fixed(1), mock_cluster.client)
    producer.close()
    with pytest.raises(OperationError, match="closed"):
        send(producer, b"x")
    assert producer.deliveries.handed_over == 0


def test_a_signal_ends_a_flush_that_would_last(mock_cluster: MockCluster) -> None:
    """Ctrl-C interrupts a flush that waits for unresponsive brokers; a flush with a timeout ends by itself."""
    client = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "message.timeout.ms": 300_000}
    producer = RecordSender(mock_cluster, TOPIC, Fixed(0), client)
    send(producer, b"x")
    assert producer.flush(0.05).in_flight == 1
    interrupt = Timer(0.5, signal.raise_signal, [signal.SIGINT])
    interrupt.start()
    with pytest.raises(KeyboardInterrupt):
        producer.flush()
    assert producer.deliveries.in_flight == 1
    producer.drop_queued()
    assert producer.deliveries.in_flight == 0
    producer.close()


def test_a_record_that_is_given_up_is_reported(mock_cluster: MockCluster) -> None:
    """If no broker responds, records fail with a reason, the policy learns NaN, and flush returns their number."""
    policy = Learning(0)
    client = {"bootstrap.servers": "127.0.0.1:1", "log_level": 0, "message.timeout.ms": 200}
    producer = RecordSender(mock_cluster, TOPIC, policy, client)
    send(producer, b"a")
    send(producer, b"b")
    with pytest.raises(PartialFailureError, match="2 of 2 records not acknowledged, 0 acknowledged") as caught:
        producer.flush()
    producer.close()
    assert [count for _, count in caught.value.failures] == ["2 records"]
    assert [math.isnan(latency_s) for _, _, latency_s in policy.acks] == [True, True]


def test_reloading_loses_no_record(mock_cluster: MockCluster) -> None:
    """A new policy routes from the next record on, by the last view; records queued before still arrive."""
    with RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client, refresh_s=600) as producer:
        for i in range(500):
            if i == 200:
                new = Fixed(1)
                producer.reload(policy=new)
                assert new.views[0] is producer.view
            send(producer, b"x")
        assert producer.flush().acknowledged == 500
    assert Counter(m.partition() for m in mock_cluster.messages(500)) == {0: 200, 1: 300}


def test_the_view_is_renewed_in_the_background(mock_cluster: MockCluster) -> None:
    """A later view shows moved leadership, without any record being produced."""
    policy = Fixed(0)
    with RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client, refresh_s=0.02):
        mock_cluster.leaders[0] = mock_cluster.leaders[0] % 3 + 1
        seen = set()
        while mock_cluster.leaders[0] not in seen:
            policy.refreshed.clear()
            assert policy.refreshed.wait(10), "no new view"
            view = policy.views[-1]
            seen.add(int(view.broker_id[view.leader[0]]))


def test_reloaded_scores_are_in_the_next_view(mock_cluster: MockCluster) -> None:
    """New scores cause a new view at once, however long the interval is."""
    policy = Fixed(0)
    with RecordSender(mock_cluster, TOPIC, policy, mock_cluster.client, refresh_s=600) as producer:
        assert producer.view.marginal_loads == ()
        policy.refreshed.clear()
        producer.reload(scores=load_scores(["disk=2"]))
        assert policy.refreshed.wait(10), "no new view"
        assert [(p.name, p.weight) for p in policy.views[-1].marginal_loads] == [("disk", 2.0)]


@pytest.mark.parametrize(("score", "often"), [("latency", True), ("disk", False)])
def test_statistics_come_often_where_latencies_count(mock_cluster: MockCluster, score: str, often: bool) -> None:
    """Statistics cost librdkafka milliseconds each, so they are frequent only if the policy uses latencies."""
    texts: list[str] = []
    settings = {**mock_cluster.client, "stats_cb": texts.append}
    scores = load_scores([score])
    with RecordSender(mock_cluster, TOPIC, Fixed(0), settings, scores=scores, refresh_s=600) as producer:
        end_s = monotonic() + (10.0 if often else 0.3)
        while len(texts) < 2 and monotonic() < end_s:
            producer.poll(0.1)
    assert (len(texts) >= 2) == often


def test_a_cluster_that_cannot_be_read_stops_no_record(mock_cluster: MockCluster) -> None:
    """If a refresh fails, the last view stays in use, and the error listener is called."""
    reported = Event()
    with RecordSender(
        mock_cluster,
        TOPIC,
        Fixed(0),
        mock_cluster.client,
        refresh_s=0.02,
        refresh_failed=lambda error: reported.set(),
    ) as producer:
        mock_cluster.fails_with = UnreachableError("nobody answers")
        assert reported.wait(10)
        send(producer, b"x")
        assert producer.flush().acknowledged == 1


def test_a_score_that_needs_rates_waits_for_them(mock_cluster: MockCluster) -> None:
    """The first view omits a score of rates, for lack of a second sample, and offsets are requested."""
    scores = load_scores(["leader-bytes-in"])
    with RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client, scores=scores) as producer:
        assert producer.view.marginal_loads == ()
    assert mock_cluster.reads[0].offsets


@pytest.mark.parametrize(
    ("topic", "client", "scores", "message"),
    [
        ("imagse", {}, [], "unknown topic: 'imagse'"),
        (TOPIC, {"no.such.setting": 1}, [], "client configuration: .*no.such.setting"),
        (TOPIC, {"linger.ms": "soon"}, [], "client configuration: Invalid value"),
        (TOPIC, {}, ["prometheus"], "score 'prometheus' needs prometheus"),
    ],
)
def test_invalid_client_settings_are_refused_at_once(
    mock_cluster: MockCluster, topic: str, client: dict[str, int], scores: list[str], message: str
) -> None:
    """An unknown topic, a wrong client setting and a score without its source are refused before any record."""
    with pytest.raises(UsageError, match=message):
        RecordSender(mock_cluster, topic, Fixed(0), {**mock_cluster.client, **client}, scores=load_scores(scores))


def test_a_record_beyond_the_clients_own_limit_names_that_limit(mock_cluster: MockCluster) -> None:
    """librdkafka reports its own limit as the broker's, so the hint names both."""
    client = {**mock_cluster.client, "message.max.bytes": 1000}
    with RecordSender(mock_cluster, TOPIC, Fixed(0), client) as sender, pytest.raises(RefusedByClusterError) as refused:
        send(sender, bytes(2000))
    assert "message.max.bytes of the client" in (refused.value.hint or "")


def test_a_missing_partition_is_an_error_of_the_topic(mock_cluster: MockCluster) -> None:
    """A partition that the topic lacks is refused, with the likely cause."""
    with RecordSender(mock_cluster, TOPIC, Fixed(0), mock_cluster.client) as producer:
        send(producer, b"x")
        producer.flush()
        producer.reload(policy=Fixed(99))
        with pytest.raises(OperationError, match=f"topic {TOPIC} or some of its partitions no longer exist"):
            send(producer, b"x")


def test_a_policy_that_counts_is_refreshed_by_the_thread_that_counts(mock_cluster: MockCluster) -> None:
    """A policy is refreshed in the thread that sends, so nothing else changes its counters meanwhile."""
    threads: list[str] = []

    class Counting(Learning):
        """Keeps which thread refreshes it."""

        def refresh(self, view: RoutingView) -> None:
            """Keep the thread."""
            super().refresh(view)
            threads.append(current_thread().name)

    with RecordSender(mock_cluster, TOPIC, Counting(0), mock_cluster.client, refresh_s=0.01) as producer:
        reads = len(mock_cluster.reads)
        # views that were read before may be used first
        while len(threads) < 3 or len(mock_cluster.reads) <= reads:
            producer.poll(0.02)
    assert set(threads) == {current_thread().name}


def test_a_view_that_a_policy_cannot_use_stops_no_record(mock_cluster: MockCluster) -> None:
    """If no partition has a leader for a moment, routing continues by the previous view, and this is reported."""

    class Leading(Learning):
        """Needs a leader, which views have at first."""

        is_led = True

        def refresh(self, view: RoutingView) -> None:
            """Keep the view, if it has a leader."""
            if not self.is_led:
                raise OperationError("no partition has a leader")
            super().refresh(view)

    said: list[Exception] = []
    policy = Leading(0)
    with RecordSender(
        mock_cluster, TOPIC, policy, mock_cluster.client, refresh_s=0.01, refresh_failed=said.append
    ) as producer:
        policy.is_led = False
        while not said:
            producer.poll(0.02)
        send(producer, b"x")
        assert producer.flush().acknowledged == 1
    assert "has a leader" in str(said[0])


@pytest.mark.parametrize("name", ["c3", "prequal", "join-idle-queue", "adaptive", "sticky"])
def test_a_refused_record_is_not_in_flight(mock_cluster: MockCluster, name: str) -> None:
    """A policy that counts records in flight forgets a record that librdkafka refused."""
    policy: Any = load_policy(name).create(Context())
    client = {**mock_cluster.client, "message.max.bytes": 5000}
    with RecordSender(mock_cluster, TOPIC, policy, client) as producer:
        for _ in range(20):
            with pytest.raises(RefusedByClusterError):
                send(producer, bytes(6000))
        with pytest.raises(TypeError):
            send(producer, b"x", headers=[("a", 1)], size_bytes=2)
        assert sum(policy.state.in_flight.pending) == 0


def test_partitions_unknown_to_the_client_wait(mock_cluster: MockCluster) -> None:
    """A view with more partitions than the client knows is not used yet; routing continues as before."""
    said: list[Exception] = []
    policy = load_policy("round-robin").create(Context())
    with RecordSender(
        mock_cluster, TOPIC, policy, mock_cluster.client, refresh_s=0.01, refresh_failed=said.append
    ) as producer:
        send(producer, b"x")
        producer.flush()
        mock_cluster.leaders = {**mock_cluster.leaders, len(mock_cluster.leaders): 1}
        while not said:
            producer.poll(0.02)
        for _ in range(20):
            send(producer, b"x")
        assert producer.flush().acknowledged == 21
    assert str(said[0]) == f"topic {TOPIC}: not all brokers know all of its partitions yet (5)"


def test_views_distinguish_queued_from_acknowledged_records(mock_cluster: MockCluster) -> None:
    """While the queue lags no byte counts as settled; once acknowledged, all do, including keys and headers."""
    policy = Asking(2)
    lagging = {**mock_cluster.client, "linger.ms": 60_000}
    with RecordSender(mock_cluster, TOPIC, policy, lagging, refresh_s=60) as producer:
        for _ in range(50):
            send(producer, bytes(100))
        send(producer, bytes(10), b"key", [("name", b"1234")])
        waiting = policy.next_view(producer)
        producer.flush()
        arrived = policy.next_view(producer)

    assert waiting.settled_bytes is not None
    assert arrived.settled_bytes is not None
    assert waiting.settled_bytes.tolist() == [0, 0, 0, 0]
    # the client also counts events that wait for a poll, such as its statistics
    assert 51 <= waiting.waiting_records <= 52
    assert arrived.settled_bytes.tolist() == [0, 0, 50 * 100 + 10 + 3 + 8, 0]
    assert arrived.waiting_records <= 1


def test_records_that_are_given_up_or_refused_do_not_wait_for_ever(mock_cluster: MockCluster) -> None:
    """Failed and refused records count as settled, so that no policy waits for them to show in the log dirs."""
    policy = Asking(1)
    lagging = {**mock_cluster.client, "linger.ms": 60_000, "message.max.bytes": 5000}
    producer = RecordSender(mock_cluster, TOPIC, policy, lagging, refresh_s=60)
    for _ in range(20):
        send(producer, bytes(100))
    with pytest.raises(RefusedByClusterError):
        send(producer, bytes(6000))
    producer.drop_queued()
    while producer.deliveries.in_flight:
        producer.poll(0.1)
    view = policy.next_view(producer)
    producer.close()

    assert view.settled_bytes is not None
    assert view.settled_bytes.tolist() == [0, 20 * 100 + 6000, 0, 0]


def test_a_new_policy_does_not_count_the_records_of_the_one_before(mock_cluster: MockCluster) -> None:
    """Records queued by a replaced policy wait in the first view of the new one, and are settled for the old alone."""
    before, after = Asking(0), Asking(0)
    lagging = {**mock_cluster.client, "linger.ms": 60_000}
    with RecordSender(mock_cluster, TOPIC, before, lagging, refresh_s=60) as producer:
        send(producer, bytes(100))
        producer.reload(policy=after)
        assert after.views[0].waiting_records == 1
        send(producer, bytes(10))
        producer.flush()
        view = after.next_view(producer)

    assert view.settled_bytes is not None
    assert view.settled_bytes.tolist() == [10, 0, 0, 0]


class LateClient:
    """Takes records for librdkafka; those of one broker are acknowledged only when the client is closed."""

    def __init__(self, late_partitions: set[int]) -> None:
        self._late_partitions = late_partitions
        self._reports: list[DeliveryCallback] = []
        self._late: list[DeliveryCallback] = []
        self.sent_bytes: Counter[int] = Counter()

    def produce(
        self, _topic: str, value: bytes, _key: None, partition: int, report: DeliveryCallback, *_more: object
    ) -> None:
        """Keep the delivery report."""
        self.sent_bytes[partition] += len(value)
        (self._late if partition in self._late_partitions else self._reports).append(report)

    def poll(self, _timeout_s: float = 0.0) -> None:
        """Acknowledge all records but the late ones."""
        reports, self._reports = self._reports, []
        for report in reports:
            report(None, Arrived())  # type: ignore[arg-type]

    def flush(self, _timeout_s: float) -> int:
        """Acknowledge all records."""
        self._reports += self._late
        self._late = []
        self.poll()
        return 0

    def purge(self) -> None:
        """Do nothing."""

    def __len__(self) -> int:
        return len(self._reports) + len(self._late)


class Arrived:
    """The message of a record that a broker acknowledged."""

    def offset(self) -> int:
        """Its offset."""
        return 0


@pytest.mark.parametrize("keyed", [False, True])
@pytest.mark.parametrize(("scores", "is_held_back"), [("latency", True), ("disk", False)])
def test_a_broker_whose_acknowledgements_stay_out_gets_little(
    mock_cluster: MockCluster, monkeypatch: pytest.MonkeyPatch, scores: str, is_held_back: bool, keyed: bool
) -> None:
    """By ``latency`` a broker gets no more once only the others acknowledge, whether records are picked in blocks or
    one by one; other scores ignore acknowledgements."""
    mock_cluster.leaders = {0: 1, 1: 2, 2: 3, 3: 1}
    client = LateClient({2})
    monkeypatch.setattr(record_sender, "sending_client", lambda *_: client)
    now_s = 0.0
    block = [bytes(1000)] * 100
    policy = load_policy("score").create(Context(seed=1, clock=lambda: now_s))
    with RecordSender(
        mock_cluster, TOPIC, policy, {}, scores=load_scores([scores]), refresh_s=60, clock=lambda: now_s
    ) as producer:
        for number in range(100):
            now_s = number / 500
            producer.produce_many(block, [1000] * 100, keys=[b"k"] * 100 if keyed else None)
        sent = np.bincount([1, 2, 3, 1], [client.sent_bytes[p] for p in range(4)])
        deliveries = producer.flush()
    assert (sent[3] < sent[[1, 2]].min() / 2) == is_held_back
    assert (deliveries.acknowledged, deliveries.in_flight) == (10_000, 0)
