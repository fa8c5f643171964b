"""Sends blocks of records to one topic, each record where its router says, and tracks the fate of every one.

librdkafka does the sending: it batches, retries, keeps the records of a partition in order without duplicates
(idempotence), and follows a partition to its new leader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from math import inf, nan
from time import monotonic
from types import TracebackType
from typing import Self

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message

from kafkabal.config import DEFAULT_REFRESH_S, ClientSetting
from kafkabal.errors import OperationError, PartialFailureError
from kafkabal.model import I64
from kafkabal.producer.deferred_signals import hides_a_signal, signals_held_back, signals_noted
from kafkabal.producer.librdkafka_errors import error_of
from kafkabal.producer.record_handover import (
    DeliveryCallback,
    RecordHandover,
    ReportsByPartition,
    runs_of_one_partition,
)
from kafkabal.producer.records_in_flight import Acknowledged, PartitionTally, RecordsInFlight
from kafkabal.producer.routing_view_reader import StateReader
from kafkabal.producer.sending_client import sending_client, statistics_interval_s
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.producer.view_refresher import ViewRefresher
from kafkabal.routing import Policy, RoutingView
from kafkabal.scoring import WeightedScore
from kafkabal.sources import Headers
from kafkabal.telemetry import BrokerLatencies
from kafkabal.wording import counted_noun

_FULL_QUEUE_POLL_S = 0.05
"""Longest wait for delivery reports before a record that found the queue full is offered again. A batch is usually
acknowledged within milliseconds, which ends the wait earlier."""
_FLUSH_SLICE_S = 0.1
"""The longest a signal may be delayed: too short for a person to notice."""


@dataclass(frozen=True, slots=True)
class Deliveries:
    """What has become of the records so far."""

    handed_over: int
    """Taken by :meth:`RecordSender.produce_many`."""
    acknowledged: int
    """Acknowledged by the brokers."""
    failed: Mapping[str, int]
    """Number of records given up, by reason."""

    @property
    def in_flight(self) -> int:
        """Number of records neither acknowledged nor given up."""
        return self.handed_over - self.acknowledged - sum(self.failed.values())


class RecordSender:
    """Sends records to the partitions of one topic that a policy picks.

    One thread produces, polls and flushes. A second thread refreshes the view; once the sender is created, only that
    thread uses ``cluster``.

    Parameters
    ----------
    cluster
        Read every ``refresh_s`` seconds; stays open when the sender is closed.
    policy
        A new instance, used by this sender only.
    client
        Configuration of librdkafka, as :func:`~kafkabal.config.librdkafka_config.librdkafka_settings` makes it, and
        settings that override the defaults (idempotence, 5 ms of linger).
    scores
        What the ``score`` policy balances.
    refresh_s
        Seconds between two views of the cluster.
    latency
        Source of produce latencies; None uses this producer's own statistics.
    prometheus
        Value of the configured query by broker id.
    refresh_failed
        Called when the cluster could not be read; meanwhile records are routed by the last view.
    clock
        Seconds; must be the clock that the policy was given.

    Raises
    ------
    UsageError
        If the topic is unknown, the cluster does not supply what a score needs, or librdkafka rejects the
        configuration.
    KafkabalError
        If the cluster cannot be read.

    Examples
    --------
    ::

        with connect(connection) as cluster:
            policy = load_policy("score").create(Context(seed=1))
            settings = librdkafka_settings(connection)
            with RecordSender(cluster, "images", policy, settings, scores=load_scores(["disk"])) as sender:
                sender.produce_many(images, [len(image) for image in images])
    """

    def __init__(
        self,
        cluster: StateReader,
        topic: str,
        policy: Policy,
        client: Mapping[str, ClientSetting],
        *,
        scores: Iterable[WeightedScore] = (),
        refresh_s: float = DEFAULT_REFRESH_S,
        latency: BrokerLatencies | None = None,
        prometheus: Callable[[], Mapping[int, float]] | None = None,
        refresh_failed: Callable[[Exception], None] = lambda _: None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.topic = topic
        self._clock = clock
        self._refresh_failed = refresh_failed
        self._acknowledged = 0
        self._failed: Counter[str] = Counter()
        self._tallies: set[PartitionTally] = set()
        self._router = TopicRouter(topic, policy, refresh_failed)
        self._refresher = ViewRefresher(
            lambda: cluster,
            lambda: (self._router,),
            scores,
            refresh_s=refresh_s,
            latency=latency,
            prometheus=prometheus,
            clock=clock,
            refreshed=self._on_refreshed,
            failed=refresh_failed,
        )
        self._refresher.refresh()
        by_latency = self._refresher.needs_latency(policy.about)
        interval_s = statistics_interval_s(refresh_s, self.view.n_partitions) if by_latency else refresh_s
        self._client = sending_client(client, self._refresher.read_statistics, interval_s)
        self._produce: Callable[..., object] = self._client.produce
        self._handed_over = 0
        self._refresher.start(lambda: self._client)

    def _on_refreshed(self, faults: Mapping[str, Exception]) -> None:
        for fault in faults.values():
            self._refresh_failed(fault)

    def produce_many(
        self,
        values: Sequence[bytes | None],
        sizes: Sequence[int] | I64,
        *,
        keys: list[bytes | None] | None = None,
        headers: Sequence[Headers] | None = None,
        name_of: Callable[[int], str] = str,
        on_acknowledged: Callable[[Acknowledged], None] = lambda _: None,
        on_failed: Callable[[KafkaError], None] = lambda _: None,
    ) -> None:
        """Queue records in order; waits only while librdkafka's queue is full.

        Parameters
        ----------
        values
            Of each record; None for a tombstone.
        sizes
            Bytes of each record, key and headers included.
        keys, headers
            Of each record; None if no record has any.
        name_of
            What to call the record at a position in an error.
        on_acknowledged
            Called once all of them, or all that were queued before an error, are acknowledged.
        on_failed
            Called for each record that failed; ``on_acknowledged`` is not called then.

        Raises
        ------
        RefusedByClusterError, OperationError
            If a record is larger than the client may send or queue, the partition is no longer in the topic, or the
            sender is closed; the records before the refused one are queued.
        """
        router = self._router
        sizes = np.asarray(sizes, np.int64)
        flight = RecordsInFlight(
            values,
            sizes,
            on_acknowledged,
            partial(self._on_given_up, on_failed),
            partial(self._finish_partition, router),
        )
        router.watch_in_flight()
        partitions = self._pick_partitions(router, flight, sizes, keys)
        reports = ReportsByPartition(lambda partition: self._partition_report(router, flight.of_partition(partition)))
        handover = RecordHandover(self._produce, self.topic, values, keys, headers)
        try:
            with signals_noted() as came:
                for partition, count in runs_of_one_partition(partitions):
                    report, left, has_room = reports[partition], count, False
                    while left := left - (taken := handover.hand_over(partition, left, report)):
                        if has_room and not taken:
                            raise OperationError(
                                f"{name_of(handover.handed_over)}: larger than the whole queue of the client",
                                hint="raise queue.buffering.max.kbytes",
                            )
                        self.poll(_FULL_QUEUE_POLL_S)
                        has_room = not len(self._client)
        except Exception as error:
            at = handover.handed_over
            self._close_flight(router, flight, at, sizes)
            if isinstance(error, KafkaException):
                refused = error_of(error.args[0], self.topic)
                raise type(refused)(f"{name_of(at)}: {refused.message}", hint=refused.hint) from error
            if headers and hides_a_signal(error, headers[at]):
                for handle in came:
                    handle()
                raise KeyboardInterrupt from error
            raise
        except BaseException:
            # the current record may or may not be queued, so these records must not count as all done
            self._close_flight(router, flight, handover.handed_over + 1, sizes)
            raise
        self._close_flight(router, flight, handover.handed_over, sizes)
        self.poll()

    def _pick_partitions(
        self, router: TopicRouter, flight: RecordsInFlight, sizes: I64, keys: list[bytes | None] | None
    ) -> I64 | Iterable[int]:
        """The partition of each record: all picked at once, or one at a time as they are consumed."""
        if keys is not None or not router.picks_batches:
            return self._pick_one_by_one(router, flight, sizes, keys)
        partitions = router.pick_batch(sizes, self._clock())
        flight.add_all(partitions)
        self._handed_over += len(sizes)
        return partitions

    def _pick_one_by_one(
        self, router: TopicRouter, flight: RecordsInFlight, sizes: I64, keys: list[bytes | None] | None
    ) -> Iterator[int]:
        for key, size_bytes in zip(keys or repeat(None), sizes.tolist(), strict=False):
            partition = router.pick(key, size_bytes or 1)
            tally = flight.add_one(partition)
            if router.learns:
                tally.picked_bytes.append(size_bytes or 1)
            self._handed_over += 1
            yield partition

    def _close_flight(self, router: TopicRouter, flight: RecordsInFlight, queued: int, sizes: I64) -> None:
        """Count the records from a position on as neither sent nor in flight."""
        partitions = flight.partitions
        router.count_sent(partitions, sizes[: len(partitions)])
        unsent = list(zip(partitions[queued:].tolist(), sizes[queued:].tolist(), strict=False))
        self._handed_over -= len(unsent)
        for partition, size_bytes in unsent:
            router.settle(partition, size_bytes)
            if router.learns:
                router.acked(partition, size_bytes or 1, nan)
        flight.close(queued)

    def _finish_partition(self, router: TopicRouter, tally: PartitionTally) -> None:
        self._tallies.discard(tally)
        self._acknowledged += tally.records - tally.failed
        router.settle(tally.partition, tally.size_bytes)

    def _partition_report(self, router: TopicRouter, tally: PartitionTally) -> DeliveryCallback:
        """The delivery report shared by a partition's records; it also informs a policy that learns from deliveries."""
        self._tallies.add(tally)
        if not router.learns:
            return tally.report
        acked, start_s, partition = router.acked, self._clock(), tally.partition

        def report(error: KafkaError | None, message: Message) -> None:
            acked(partition, tally.picked_bytes.popleft(), nan if error is not None else self._clock() - start_s)
            tally.report(error, message)

        return report

    def _on_given_up(self, on_failed: Callable[[KafkaError], None], error: KafkaError, _message: Message) -> None:
        self._failed[error_of(error, self.topic).message] += 1
        on_failed(error)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Serve delivery reports for at most ``timeout_s``. Signals are handled when the call returns."""
        self._router.take_view()
        with self._naming_faults(), signals_held_back():
            self._client.poll(timeout_s)

    def flush(self, timeout_s: float | None = None) -> Deliveries:
        """Wait until the fate of all records is known, or until the timeout; a signal ends the wait within a moment.

        Without a timeout, librdkafka's ``delivery.timeout.ms`` limits it.

        Raises
        ------
        PartialFailureError
            If records were given up, now or earlier.
        """
        end_s = inf if timeout_s is None else self._clock() + timeout_s
        while self._flush_slice(end_s - self._clock()) and self._clock() < end_s:
            pass
        deliveries = self.deliveries
        if deliveries.failed:
            raise PartialFailureError(
                f"topic {self.topic}: {sum(deliveries.failed.values())} of "
                f"{counted_noun(deliveries.handed_over, 'record')} not "
                f"acknowledged, {deliveries.acknowledged} acknowledged",
                [(reason, counted_noun(count, "record")) for reason, count in deliveries.failed.items()],
            )
        return deliveries

    def reload(self, *, policy: Policy | None = None, scores: Iterable[WeightedScore] | None = None) -> None:
        """Route by another policy or other scores from the next record on; queued records keep their partitions.

        The new policy starts from the last view. New scores take effect with the next view, which is requested at once.
        If the sender was created without need of latencies, it measures them only once per refresh.
        """
        if policy is not None:
            router = TopicRouter(self.topic, policy, self._refresh_failed)
            # the last view shows none of its records
            router.show(self.view, len(self._client))
            self._router = router
        self._refresher.reload(scores)

    def drop_queued(self) -> None:
        """Give up records that have not been sent yet; they are reported as failed."""
        with self._naming_faults(), signals_held_back():
            self._client.purge(in_queue=True, in_flight=False)
            self._client.poll(0)

    @property
    def waiting_partitions(self) -> frozenset[int]:
        """Partitions of records that are neither acknowledged nor given up."""
        return frozenset(tally.partition for tally in self._tallies if tally.left)

    @property
    def deliveries(self) -> Deliveries:
        """The fate of the records, as far as :meth:`poll` has reported it."""
        acknowledged = sum(tally.records - tally.left - tally.failed for tally in self._tallies)
        return Deliveries(self._handed_over, self._acknowledged + acknowledged, dict(self._failed))

    @property
    def view(self) -> RoutingView:
        """The view that records are routed by."""
        assert self._router.view is not None, "shown when the sender was made"
        return self._router.view

    def close(self) -> None:
        """Drop what is not acknowledged, and stop; call :meth:`flush` first to lose no records."""
        self._refresher.close()
        self._produce = self._refuse
        self._client.purge()
        # a client with a fatal error raises it again here; the caller has it already
        with suppress(KafkaException):
            self._client.flush(0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Flush unless the block raised an error, then close."""
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def _refuse(self, *_: object) -> None:
        raise OperationError(f"topic {self.topic}: the producer is closed")

    def _flush_slice(self, at_most_s: float) -> int:
        """Flush briefly with signals held back; returns how many records and events are left."""
        with self._naming_faults(), signals_held_back():
            return self._client.flush(min(_FLUSH_SLICE_S, max(0.0, at_most_s)))

    @contextmanager
    def _naming_faults(self) -> Iterator[None]:
        """Turn a fatal error of an idempotent client, such as a missing permission, into one of our errors."""
        try:
            yield
        except KafkaException as error:
            raise error_of(error.args[0], self.topic) from error
