"""Executes an order to produce: checks, then reads back what earlier runs left in the topic, then sends."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kafkabal.clusters import InFlight, ReadRequest
from kafkabal.config import ClientSetting
from kafkabal.producer.expected_bytes import ExpectedBytes
from kafkabal.producer.policy_for_librdkafka import check_key_order, client_policy
from kafkabal.producer.progress_listener import DeliveryListener, DeliveryProgress
from kafkabal.producer.record_names import found_records
from kafkabal.producer.record_sender import RecordSender
from kafkabal.producer.record_size_check import OVERHEAD_BYTES, check_sizes
from kafkabal.producer.routing_view_reader import StateReader
from kafkabal.producer.same_topic_check import same_topic_check
from kafkabal.producer.send_manifest import ManifestHeader, SendManifest
from kafkabal.producer.send_source import SendRun
from kafkabal.producer.sent_record_reader import SentRecordReader
from kafkabal.producer.topic_facts import TopicDescriber, TopicFacts, current_topic_id, topic_facts
from kafkabal.producer.unsent_records import SendOutcome, has_other_rows
from kafkabal.producer.why_records_wait import LastReading, why_records_wait
from kafkabal.routing import Context, PolicyChoice, RoutingView, view_of
from kafkabal.scoring import WeightedScore
from kafkabal.sources import Source
from kafkabal.telemetry import BrokerLatencies

_BATCH_BYTES = 1_000_000
"""librdkafka's default, and the default limit of one request to a broker."""
_QUEUE_BYTES = 256 * 2**20
"""One second at 2 Gbit/s: a smaller queue would run empty during a refresh, a larger one only delays a stop."""
_LEAST_MESSAGE_BYTES, _MOST_MESSAGE_BYTES = 1000, 1_000_000_000
"""Range of librdkafka's own limit; a topic may allow less or more."""
_DELIVERY_MS = 120_000
"""As in Kafka's Java producer: long enough to replace a broker, and a run that hangs still ends."""
_SETTLE_S = 2.0
"""Within this time, what a dead process had written to its sockets reaches the brokers' logs: brokers answer a request
in milliseconds, or in a second when they are busy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProduceOrder:
    """What to send, where, and how."""

    topic: str
    source: Source
    policy: PolicyChoice
    client: Mapping[str, ClientSetting]
    scores: tuple[WeightedScore, ...] = ()
    refresh_s: float
    manifest_path: Callable[[TopicFacts], Path] | None = None
    """Where the manifest of a topic is stored; None stores none."""
    may_break_key_order: bool = False
    resend: bool = False
    """Send files again if they changed since they were sent."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class ProduceResult:
    """The result of an order to produce."""

    outcome: SendOutcome
    view: RoutingView
    """The topic after everything was sent."""


def produce_source(
    order: ProduceOrder,
    cluster: StateReader,
    brokers: TopicDescriber,
    *,
    listener: DeliveryListener,
    new_scores: Callable[[], tuple[WeightedScore, ...] | None],
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    new_id: Callable[[], str],
    latency: BrokerLatencies | None = None,
    prometheus: Callable[[], Mapping[int, float]] | None = None,
) -> ProduceResult:
    """Send what an order specifies.

    Parameters
    ----------
    cluster
        Read by a thread of its own until this function returns.
    brokers
        Describe the topic; over connections of their own, so that no reading of the cluster delays them.
    new_scores
        Called about once a second; returns the scores to route by from now on, or None to keep the current ones.
    new_id
        Makes a random id for a new manifest.
    latency, prometheus
        As of :class:`~kafkabal.producer.record_sender.RecordSender`.

    Raises
    ------
    UsageError
        If the policy would break the order of keyed records, or the source, topic or manifest do not fit.
    KafkabalError
        As :meth:`~kafkabal.producer.send_source.SendRun.send`.
    """
    reader = SentRecordReader(order.client, order.topic)
    facts = topic_facts(brokers, order.topic)
    _check_key_order(order, facts)
    listing = order.source.listing()
    check_sizes(order.source, listing.parts, facts.max_record_bytes, clock=clock, takes_long=listener.measures)
    with _manifest(order, facts, reader, new_id) as manifest:
        if order.resend and has_other_rows(order.source, manifest, listing.parts):
            manifest.start_over(new_id(), reader.end_offsets())
        found = _read_back(manifest, reader, listener, sleep)
        listener.starts(total_bytes=listing.size_bytes, total_records=listing.records)
        expected, read = ExpectedBytes(listing.size_bytes), LastReading(cluster)
        with RecordSender(
            read,
            order.topic,
            client_policy(order.policy, order.client).create(
                Context(seed=order.seed, clock=clock, expected_bytes=expected.in_all)
            ),
            {**topic_settings(facts), **order.client},
            scores=order.scores,
            refresh_s=order.refresh_s,
            latency=latency,
            prometheus=prometheus,
            refresh_failed=listener.refresh_failed,
            clock=clock,
        ) as sender:
            run = SendRun(
                sender,
                order.source,
                manifest,
                found=found,
                expected=expected,
                resend=order.resend,
                same_topic=same_topic_check(
                    facts.topic_id,
                    partial(current_topic_id, brokers, order.topic),
                    order.topic,
                    listener.topic_check_failed,
                ),
                progressed=_follow_progress(listener, new_scores, sender),
                stalled=partial(_explain_wait, listener, read, facts),
                clock=clock,
            )
            outcome = run.send(listing)
    return ProduceResult(outcome, view_of(cluster.read(ReadRequest(in_flight=InFlight.OMITTED)).state, order.topic))


def _check_key_order(order: ProduceOrder, facts: TopicFacts) -> None:
    if not order.may_break_key_order and (order.source.is_keyed or facts.is_compacted):
        why = "the records have keys" if order.source.is_keyed else f"topic {order.topic} is compacted"
        check_key_order(order.policy, why, "--any-key-order")


def _manifest(
    order: ProduceOrder, facts: TopicFacts, reader: SentRecordReader, new_id: Callable[[], str]
) -> SendManifest:
    header = ManifestHeader(
        id=new_id(),
        cluster_id=facts.cluster_id,
        topic=facts.topic,
        topic_id=facts.topic_id,
        source=order.source.name,
        options=dict(order.source.options),
        offsets=dict(reader.end_offsets()),
    )
    if order.manifest_path is None:
        return SendManifest.in_memory(header)
    return SendManifest.open(order.manifest_path(facts), header)


def _read_back(
    manifest: SendManifest, reader: SentRecordReader, listener: DeliveryListener, sleep: Callable[[float], None]
) -> dict[int, int]:
    """Records that are in the topic but not in the manifest; see :func:`found_records`."""
    if manifest.is_clean:
        return {}
    listener.reads_back()
    sleep(_SETTLE_S)
    return found_records(manifest, reader.messages_since(manifest.offsets))


def _explain_wait(
    listener: DeliveryListener, read: LastReading, facts: TopicFacts, partitions: Collection[int]
) -> None:
    state = read.state
    if state is not None and state.topics.index_of(facts.topic) >= 0:
        why = why_records_wait(state, facts.topic, partitions, facts.min_in_sync)
        if why:
            listener.waits(why)


def topic_settings(facts: TopicFacts) -> Mapping[str, ClientSetting]:
    """Client settings for the topic: its batch size and compression, and a queue bounded in bytes for large records."""
    settings: dict[str, ClientSetting] = {
        "message.max.bytes": min(max(facts.max_record_bytes, _LEAST_MESSAGE_BYTES), _MOST_MESSAGE_BYTES),
        "batch.size": min(_BATCH_BYTES, max(1, facts.max_record_bytes - OVERHEAD_BYTES)),
        "queue.buffering.max.kbytes": max(_QUEUE_BYTES, 2 * facts.max_record_bytes) // 1024,
        "delivery.timeout.ms": _DELIVERY_MS,
    }
    return settings if facts.compression is None else {**settings, "compression.type": facts.compression}


def _follow_progress(
    listener: DeliveryListener,
    new_scores: Callable[[], tuple[WeightedScore, ...] | None],
    sender: RecordSender,
) -> Callable[[DeliveryProgress], None]:
    """A callback that reports progress, and passes new scores to the sender."""

    def progressed(progress: DeliveryProgress) -> None:
        listener.progressed(progress)
        scores = new_scores()
        if scores is not None:
            sender.reload(scores=scores)

    return progressed
