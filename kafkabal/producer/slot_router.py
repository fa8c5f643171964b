"""Routes records for a caller that uses up slots itself, and reports which records have settled.

::

    while a slot lasts, a record without a key goes where the last one went: no call at all
    the first record of a slot asks for the next slot, and its delivery report says what has settled, once a batch:
    brokers acknowledge the records of a partition in order, so all earlier ones have settled too
    a policy without slots picks for every record
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import nan
from threading import RLock
from typing import TypeAlias

import numpy as np
from confluent_kafka import KafkaError, Message

from kafkabal.model import F64, I64
from kafkabal.producer.latch import Latch
from kafkabal.producer.reentered_locks import is_reentered
from kafkabal.producer.topic_router import TopicRouter
from kafkabal.routing import Policy, RoutingView, Slot, fitted_to

Report: TypeAlias = "Callable[[KafkaError | None, Message], None]"

UNROUTED = -1
"""Marks a record that the client's own partitioner routes."""
# librdkafka's batch: the short slots of a nearly empty topic do not each need a report of what has settled
_BYTES_BETWEEN_REPORTS = 16384
# before the first view: bytes that the client's own partitioner routes until the router checks for a view again
UNROUTED_BYTES = 65536


@dataclass(frozen=True, slots=True)
class RoutingStatus:
    """How the records of a topic are routed now."""

    topic: str
    policy: str
    view_age_s: float | None
    """Age of the view that records are routed by; None while the client's own partitioner routes them."""
    switches: int
    """How often the policy was asked for a slot or, if it has no slots, for a partition."""
    broker_bytes: dict[int, int]
    """Bytes routed, by the broker that led their partition then, as far as views show; those of records that failed
    later stay, so that it only grows."""
    excluded_partitions: tuple[int, ...]
    """Partitions without a live leader, which get no records."""


class SlotRouter(TopicRouter):
    """The routing of one topic of one producer; any thread may use it.

    Parameters
    ----------
    policy
        A new instance.
    any_key_order
        Let a policy that does not keep the order of keys route records with keys.
    hears_of_deliveries
        Whether the reports of records that are delivered are called, too: without them all that was sent counts as
        settled.
    clock
        Seconds; the clock that the policy was given.
    failed
        Called with the error of a policy that could not use a view.
    recreated
        Called in place of :meth:`show` when the topic was re-created with fewer partitions: what the policy has counted
        by partition means nothing any more.
    """

    def __init__(
        self,
        topic: str,
        policy: Policy,
        *,
        any_key_order: bool,
        hears_of_deliveries: bool,
        clock: Callable[[], float],
        failed: Callable[[Exception], None],
        recreated: Callable[[RoutingView, int], None],
    ) -> None:
        super().__init__(topic, policy, failed)
        self.routes_keys = any_key_order or policy.about.keeps_key_order
        """Whether records with keys are routed; if not, the client's own partitioner takes them."""
        self.first_reading = Latch()
        """Set once records are routed, or the cluster could not be read."""
        self._clock = clock
        self._recreated = recreated
        self._hears_of_deliveries = hears_of_deliveries
        self._enter_slot: Callable[[int], int] | None = self._enter_unrouted_slot
        self._is_routing = False
        self._lock = RLock()
        self._switches = 0
        # before the first view, only the last entry exists: it counts records that were not routed
        self._sent = [0]
        self._next_report_at_bytes = [0]
        self._slot_bytes = 0
        self._broker_bytes: tuple[dict[int, int], F64] = {}, np.zeros(0)
        """Bytes by broker, and how many of each partition's bytes are among them."""
        self.slot = Slot(UNROUTED)
        """The current slot: the caller routes records without keys by it until it is used up."""

    def route(self, key: bytes | None, size_bytes: int, report: Report | None) -> tuple[int, Report | None]:
        """The partition of the next record, and the callback for its delivery report.

        Parameters
        ----------
        size_bytes
            Of key, value and headers.
        report
            The caller's own delivery callback, None if it has none.

        Returns
        -------
        tuple
            :data:`UNROUTED` for a record without an order to keep, if this thread is routing another one.
        """
        if is_reentered(self._lock) and not (key is not None and self._policy.about.keeps_key_order):
            return UNROUTED, report
        with self._lock:
            if self._unseen_view is not None:
                self.take_view()
            if self._enter_slot is None:
                return self._pick_one(key, size_bytes, report)
            slot = self.slot
            if slot.left_bytes > 0:
                slot.left_bytes -= size_bytes
                return slot.partition, report
            return self._next_slot(self._enter_slot, size_bytes, report)

    def runs(self, sizes: Sequence[int]) -> Iterator[tuple[int, int, int, Report | None]]:
        """Runs of records without keys that go to one partition: first, end, partition, and the report of the first
        record.

        If the policy has no slots, each record is a run.
        """
        before = [0, *accumulate(sizes)]
        done = 0
        while done < len(sizes):
            partition, report = self.route(None, sizes[done], None)
            end = done + 1
            if self._enter_slot is not None:
                with self._lock:
                    last = before[end] + max(0, self.slot.left_bytes)
                    end = min(max(end, bisect_left(before, last, end)), len(sizes))
                    self.slot.left_bytes -= before[end] - before[done + 1]
            yield done, end, partition, report
            done = end

    def not_sent(self, partition: int, size_bytes: int) -> None:
        """The client did not take a record that was routed."""
        if partition == UNROUTED:
            return
        with self._lock:
            if self._enter_slot is not None:
                self.slot.left_bytes += size_bytes
                return
            self._sent[partition] -= size_bytes
            if self.learns:
                self.acked(partition, size_bytes, nan)

    def leave_slot(self) -> None:
        """Begin another slot with the next record: the client refuses the partition of this one.

        The rest of the slot counts as sent, or the policy would choose the same partition again.
        """
        with self._lock:
            self.slot.left_bytes = 0

    def show(self, view: RoutingView, waiting_records: int) -> None:
        """Route by a new view from the next slot on; may be called by any thread."""
        if self._view is not None and view.n_partitions < self._view.n_partitions:
            self._recreated(view, waiting_records)
            self.leave_slot()
            return
        super().show(view, waiting_records)
        if not self._is_routing:
            with self._lock:
                self._start_routing(view.n_partitions)
            self.first_reading.set()

    def await_other_threads(self, at_most_s: float) -> None:
        """Wait until no thread that routes a record right now is still at it."""
        if self._lock.acquire(timeout=at_most_s):
            self._lock.release()

    def status(self) -> RoutingStatus:
        """How records are routed now."""
        with self._lock:
            self.take_view()
            self._count_for_brokers()
            view, (of_broker, _) = self._view, self._broker_bytes
        name = self._policy.about.name
        if view is None:
            return RoutingStatus(self.topic, name, None, self._switches, {}, ())
        return RoutingStatus(
            topic=self.topic,
            policy=name,
            view_age_s=self._clock() - view.at_s,
            switches=self._switches,
            broker_bytes=of_broker,
            excluded_partitions=tuple(np.flatnonzero(view.leader < 0).tolist()),
        )

    def _use(self, view: RoutingView) -> None:
        now = self._view
        # with latencies, many views with the same leaders come a second
        if now is not None and not (
            np.array_equal(now.leader, view.leader) and np.array_equal(now.broker_id, view.broker_id)
        ):
            with self._lock:
                self._count_for_brokers()
        super()._use(view)

    def _count_for_brokers(self) -> None:
        """Count what was routed by the current view for the brokers that lead in it."""
        view = self._view
        if view is None:
            return
        before, counted = self._broker_bytes
        counted = fitted_to(counted, view.n_partitions)
        sent = np.array(self._sent_so_far()[: view.n_partitions], np.float64)
        led = view.leader >= 0
        new = np.bincount(view.leader[led], (sent - counted)[led], view.n_brokers)
        of_broker = {b: before.get(b, 0) + int(n) for b, n in zip(view.broker_id.tolist(), new, strict=True)}
        # what went to a partition without a leader counts for its next one; in one step, because a signal's handler may
        # ask for the status between any two
        self._broker_bytes = {**before, **of_broker}, np.where(led, sent, counted)

    def _pick_one(self, key: bytes | None, size_bytes: int, report: Report | None) -> tuple[int, Report | None]:
        partition = self.pick(key, size_bytes)
        self._switches += 1
        self._sent[partition] += size_bytes
        if self.learns:
            report = self._learning_report(partition, size_bytes, report)
        return partition, report

    def _next_slot(
        self, enter: Callable[[int], int], size_bytes: int, report: Report | None
    ) -> tuple[int, Report | None]:
        slot = self.slot
        self._sent[slot.partition] += self._slot_bytes - slot.left_bytes
        if self._is_routing:
            self.watch_in_flight()
        self._slot_bytes = enter(size_bytes)
        slot.left_bytes -= size_bytes
        self._switches += 1
        partition = slot.partition
        through_bytes = self._sent[partition] + size_bytes
        if self._asks_what_settled and self._is_routing and through_bytes >= self._next_report_at_bytes[partition]:
            self._next_report_at_bytes[partition] = through_bytes + _BYTES_BETWEEN_REPORTS
            report = self._settling_report(partition, through_bytes, report)
        return partition, report

    def _enter_unrouted_slot(self, _size_bytes: int) -> int:
        """The slot while no view exists."""
        self.slot.left_bytes = UNROUTED_BYTES
        return UNROUTED_BYTES

    def _settling_report(self, partition: int, through_bytes: int, report: Report | None) -> Report:
        """The report of the first record of a slot: whatever went to its partition up to it has settled."""

        def settle(error: KafkaError | None, message: Message) -> None:
            self.settle(partition, max(0, through_bytes - self._settled[partition]))
            if report is not None:
                report(error, message)

        return settle

    def _learning_report(self, partition: int, size_bytes: int, report: Report | None) -> Report:
        """The report of a record for a policy that learns from each delivery."""
        start_s = self._clock()

        def learn(error: KafkaError | None, message: Message) -> None:
            with self._lock:
                self.acked(partition, size_bytes, nan if error is not None else self._clock() - start_s)
            if report is not None:
                report(error, message)

        return learn

    def _sent_so_far(self) -> list[int]:
        """By partition: bytes that were routed there."""
        sent = self._sent.copy()
        if self._enter_slot is not None:
            sent[self.slot.partition] += self._slot_bytes - self.slot.left_bytes
        return sent

    def _awaited_and_settled(self) -> tuple[I64, I64]:
        """By partition: bytes up to the last record that is reported, and how many of them have settled; of later ones
        nothing will be known before the next slot."""
        if not self._hears_of_deliveries:
            sent = np.array(self._sent_so_far(), np.int64)
            return sent, sent
        awaited = np.maximum(np.array(self._next_report_at_bytes, np.int64) - _BYTES_BETWEEN_REPORTS, 0)
        return awaited, np.array(self._settled, np.int64)

    def _start_routing(self, n_partitions: int) -> None:
        self._sent = [0] * n_partitions
        self._next_report_at_bytes = [0] * n_partitions
        self._slot_bytes = 0
        # the caller may still hold the slot of records that were not routed
        self.slot.left_bytes = 0
        # a policy without slots gets an empty one, so that it picks for every record
        self.slot = Slot(UNROUTED) if self._slot_policy is None else self._slot_policy.slot
        self._enter_slot = None if self._slot_policy is None else self._slot_policy.enter_slot
        self._is_routing = True

    def _extend_counters(self, n_partitions: int) -> None:
        super()._extend_counters(n_partitions)
        self._sent += [0] * (n_partitions - len(self._sent))
        self._next_report_at_bytes += [0] * (n_partitions - len(self._next_report_at_bytes))
