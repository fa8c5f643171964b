"""Gives partitions bytes in proportion to their weights, slot by slot: stride scheduling by bytes, brokers first.

::

    a slot is as long as a batch, but ends when its broker is half a percent ahead of its weight
    at the end of a slot:
        book its bytes to its partition and to the broker that leads it
        take the broker with the least (bytes + half a slot) / weight,
        and of its partitions the one with the least (bytes + half a slot) / weight; the one of its last slot
        again, until that got the bytes of a stay
        all records whose first byte falls into the slot go there

If a record overruns its slot, the excess is booked at once. So at any moment no broker is further ahead of another than
one slot and one record, divided by its weight, whatever the record sizes, and no partition by more than that and a
stay. This also holds when weights change: what a partition is ahead of its old weight counts under the new ones.
Consecutive records share a batch.

Brokers begin their slots behind, because the others had theirs meanwhile, and end them ahead: so they never are all
even at once, as they would be after a round of equal slots, but none gets further ahead, and slots are longer.

Source: C. A. Waldspurger and W. E. Weihl, Stride Scheduling, MIT/LCS/TM-528, 1995 (hierarchical, with exact costs).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable
from heapq import heapify, heappush, heapreplace
from math import inf
from typing import Final

import numpy as np

from kafkabal.model import F64, I32, I64
from kafkabal.routing.policy_protocol import Slot

# minimum of slots per partition, or per broker, before weights are recomputed. Of 1, 4, 8 and 16, 16 leaves chunks of
# 1 MB unbalanced by 1.2% if brokers held unequal bytes before, the others by 0.4% at most
# (python -m benchmarks.evenness); recomputing takes a millisecond at 1,000 partitions
_LEAST_SLOTS: Final = 4
# a slot ends when its broker is ahead of its weight by half of this fraction: with 200 records per broker the fullest
# ends within 1.01 of the mean. With 1/200 the fullest broker is 0.01% lower in the mean of the 204 workloads of
# benchmarks/routing_constants.py; with 1/50 0.1% fuller, and 0.6% where 2,000 records of 1 kB go to four (2026-11)
SLOT_PART: Final = 1 / 100
# the same at high rates. Of 40 MB in records of 100 B, three brokers got 136 to 174 requests with 1/50, 215 to 285 with
# 1/100; the fullest of 300,000 records ends 0.1% fuller, with 1/25 0.3%. With 1/50, four brokers that got 20,000 rows
# ended at up to 1.012 of the mean; 1/60 takes 2 to 5% more slots (2026-11)
SLOT_PART_AT_SPEED: Final = 1 / 60
# the same for the last part of a run whose end is known, and that part: to make up for a slot that has just begun, and
# for what they are ahead, two brokers need a fortieth of all bytes. Of 20,000 rows and 3,000 files, four brokers ended
# at 1.0013 and 1.0016 of the mean, without it at 1.0075 and 1.0082 (means of four runs each, 2026-11)
_SLOT_PART_AT_END: Final = 1 / 400
_END_PART: Final = 1 / 20
# fraction of a unit by which a slot may exceed its limit to reach a whole unit: twice a measured rate is seldom exactly
# two
_NEARLY_A_UNIT: Final = 0.1
MOST_SLOTS: Final = 64
"""The most slots that are planned at once; as many as the plug-in of librdkafka takes."""
# slots are planned ahead only if records overran them by less than this fraction so far
_LARGEST_OVERRUN: Final = 1 / 16
# records picked in one go, so that their columns stay in the processor's cache
_AT_ONCE: Final = 16384


class ByteStride:
    """Partitions for the record stream of one producer.

    Parameters
    ----------
    slot_bytes
        Approximate maximum of a slot, 1 or more; a slot holds whole records of mean length, at least one.
    start
        Which of equal partitions comes first, 0 to 1; the producers of one topic start at different places.
    when_used_up
        Called before a slot once the bytes that the weights were set for are sent; may set new weights.
    expected_bytes
        Called for each slot: about how many bytes come in all, infinite if unknown. The last slots are short, so that
        brokers end even.
    """

    def __init__(
        self,
        slot_bytes: int,
        start: float,
        when_used_up: Callable[[], None],
        expected_bytes: Callable[[], float] = lambda: inf,
    ) -> None:
        self._expected_bytes = expected_bytes
        self._max_slot_bytes = slot_bytes
        self._max_part = SLOT_PART
        self._stored_per_led = 1.0
        self._are_brokers_enough = False
        self._spare_bytes = 0.0
        self._unit_bytes = 0.0
        self._start = start
        self._when_used_up = when_used_up
        self._pending: tuple[F64, float, I32 | None] | None = None
        self._span_bytes = 0.0
        self._used_up_at_bytes = 0.0
        # a topic has at least one partition
        self._sent = [0]
        self._total_bytes = 0
        self._counted_records = self._counted_bytes = 0
        self._planned_slots = 0
        # most bytes by which a slot was overrun: nearly the whole of the largest record
        self._largest_excess_bytes = 0
        # one tuple, so that no other thread sees the weights of one moment with the booked bytes of another
        self._weights_and_booked: tuple[list[float], list[float]] = [1.0], [0.0]
        self._broker_weights: list[float] = [1.0]
        self._broker_booked = [0.0]
        # sent, but not among the booked bytes: with new weights, brokers start at what they are ahead
        self._unbooked_bytes = 0.0
        self._broker_of = [0]
        self._brokers: list[tuple[float, float, int]] = []
        self._partitions: list[list[tuple[float, float, int]]] = []
        self._stay_bytes = 0
        self._keeps_stays = False
        # by broker: what its partition still gets before another one is chosen
        self._stay_left_bytes: list[int] = []
        self._tie_breaker = [0.0]
        self._broker = -1
        self._slot_end_bytes = 0
        self.slot = Slot()
        """A caller may use it up without :meth:`pick`; it then calls :meth:`enter_slot` for the next record."""

    @property
    def sent_bytes(self) -> I64:
        """int64, shape (n_partitions,): bytes of all records so far; shape (1,) before the first record."""
        sent = np.array(self._sent, np.int64)
        # the slot may be of a partition that was added since
        sent[min(self.slot.partition, len(sent) - 1)] += self._slot_end_bytes - self.slot.left_bytes
        return sent

    @property
    def total_bytes(self) -> int:
        """Bytes of all records so far."""
        return self._total_bytes + self._slot_end_bytes - self.slot.left_bytes

    @property
    def ahead_bytes(self) -> F64:
        """float64, shape (n_partitions,): bytes that each got beyond its weight; later slots of the others make up for
        them."""
        weights, booked = (np.array(column) for column in self._weights_and_booked)
        booked[min(self.slot.partition, len(booked) - 1)] += self._slot_end_bytes - self.slot.left_bytes
        # summed in order, as the Java partitioner does
        ahead: F64 = booked - weights * np.cumsum(booked)[-1]
        return ahead

    @property
    def mean_record_bytes(self) -> int:
        """Mean of all records so far (the first of a slot stands for those that :meth:`pick` never saw); 0 before
        any."""
        return self._counted_bytes // self._counted_records if self._counted_records else 0

    @property
    def least_horizon_bytes(self) -> int:
        """What weights should be computed for at least, so that nothing overshoots before others are asked for; 0
        before any record, as their length is unknown."""
        if self._max_part < inf:
            return self._least_span_bytes()
        # bytes are not balanced, and a slow broker has to be left at once: with whole slots the p99 of KIP-794's
        # benchmark was 164 ms in place of 147
        return _LEAST_SLOTS * len(self._weights_and_booked[0]) * self.mean_record_bytes

    @property
    def is_fine_grained(self) -> bool:
        """Whether a slot plus the largest overrun is small compared to what each broker has."""
        most_bytes = self._bytes_per_broker() * SLOT_PART + self._spare_bytes_per_broker()
        are_slots_short = self._max_part <= SLOT_PART_AT_SPEED or self._max_slot_bytes <= most_bytes
        return are_slots_short and self._largest_excess_bytes <= most_bytes

    def set_weights(self, weights: F64, span_bytes: float, broker: I32 | None = None) -> None:
        """Use new weights from the next :meth:`pick` on, or from the next slot if the caller uses up slots itself.

        May be called by another thread.

        Parameters
        ----------
        weights
            float64, shape (n_partitions,), >= 0, summing to 1.
        span_bytes
            About how much to send before ``when_used_up`` is called; at least some slots per partition.
        broker
            int32, shape (n_partitions,): broker that leads each partition, -1 if none does; None puts all on one
            broker.
        """
        self._pending = weights, span_bytes, broker

    def set_span(self, span_bytes: float) -> None:
        """Call ``when_used_up`` after this many bytes next time, with unchanged weights."""
        self._span_bytes = span_bytes

    def set_slot_bytes(
        self,
        slot_bytes: int,
        max_part: float,
        unit_bytes: float = 0.0,
        *,
        stay_bytes: int = 0,
        stored_per_led: float = 1.0,
        spare_bytes: float = 0.0,
        are_brokers_enough: bool = False,
        keeps_stays: bool = False,
    ) -> None:
        """Use slots of about this length from the next one on. May be called by another thread.

        Parameters
        ----------
        max_part
            A slot ends earlier if its broker gets ahead of its weight by half this fraction of what it got so far.
        unit_bytes
            What arrives while the client keeps a batch open; 0 if unknown. A slot of at least this length is a multiple
            of it: otherwise the remaining records would linger in a batch that gets no more. With a linger of 5 ms,
            records wait 2.5 ms in slots of 5 ms and 2.9 ms in slots of 7.
        stay_bytes
            What a partition gets before its broker takes another one. Longer than a slot, it fills batches sooner:
            short slots would otherwise fill a batch of each partition at once, and brokers would get as many requests.
        stored_per_led
            What a broker gets for each byte of the partitions that it leads, 1 or more: its replicas of others count.
        spare_bytes
            Length that slots of all brokers together may have besides, by weight; 0 or more.
        are_brokers_enough
            Whether weights have taken effect once each broker had some slots, whichever of its partitions got them.
        keeps_stays
            Whether new weights leave a partition the rest of its stay, and a shorter stay ends a longer one.
        """
        self._keeps_stays = keeps_stays
        self._are_brokers_enough = are_brokers_enough
        self._stored_per_led, self._spare_bytes = stored_per_led, spare_bytes
        self._max_slot_bytes, self._max_part, self._unit_bytes = slot_bytes, max_part, unit_bytes
        self.set_stay_bytes(stay_bytes)

    def set_stay_bytes(self, stay_bytes: int) -> None:
        """Change only what a partition gets before another one takes over. May be called by another thread."""
        self._stay_bytes = stay_bytes

    def pick(self, key: bytes | None, size_bytes: int) -> int:  # noqa: ARG002 - see kafkabal.routing.policy_protocol.Pick
        """Partition of the next record."""
        slot = self.slot
        if slot.left_bytes <= 0 or self._pending is not None:
            self.enter_slot(size_bytes)
        else:
            self._counted_records += 1
            self._counted_bytes += size_bytes
        slot.left_bytes -= size_bytes
        return slot.partition

    def enter_slot(self, size_bytes: int) -> int:
        """Begin the slot of the next record, which has this size; returns the slot's bytes, from which the caller
        subtracts the record."""
        self._enter_slot(size_bytes)
        self._counted_records += 1
        self._counted_bytes += size_bytes
        return self._slot_end_bytes

    def plan_slots(
        self, size_bytes: int, overruns: Iterable[tuple[int, int]], ahead_bytes: int
    ) -> list[tuple[int, int]]:
        """The next slots in order, partition and bytes: one, or some short ones if records hardly overrun them.

        They count as sent.

        Parameters
        ----------
        size_bytes
            Of the next record.
        overruns
            Partition, and bytes by which records overran a slot that was planned before.
        ahead_bytes
            Slots are planned for all of these if there are not too many.
        """
        for partition, n_bytes in overruns:
            self._book_overrun(partition, n_bytes)
        end_bytes = self._total_bytes + ahead_bytes
        self.enter_slot(size_bytes)
        slots = [self._book_whole_slot()]
        # at first only as many as there were: sizes of later records are unknown
        most = min(MOST_SLOTS, self._planned_slots)
        while (
            len(slots) < most
            and self._total_bytes < end_bytes
            and self._largest_excess_bytes <= slots[-1][1] * _LARGEST_OVERRUN
        ):
            self._enter_slot(size_bytes)
            slots.append(self._book_whole_slot())
        self._planned_slots += len(slots)
        return slots

    def fill(self, size_bytes: I64, out: I32) -> None:
        """Partitions of the next records: the same as from one :meth:`pick` per record."""
        for start in range(0, len(out), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            self._fill(size_bytes[rows], out[rows])

    def _fill(self, size_bytes: I64, out: I32) -> None:
        n = len(out)
        before = [0, *np.cumsum(size_bytes).tolist()]
        slot, done = self.slot, 0
        partitions, records = [], []
        while done < n:
            if slot.left_bytes <= 0 or self._pending is not None:
                self._enter_slot(before[done + 1] - before[done])
            end = min(bisect_left(before, before[done] + slot.left_bytes, done), n)
            slot.left_bytes -= before[end] - before[done]
            self._counted_records += end - done
            self._counted_bytes += before[end] - before[done]
            partitions.append(slot.partition)
            records.append(end - done)
            done = end
        out[:] = np.array(partitions, np.int32).repeat(records)

    def _enter_slot(self, next_bytes: int) -> None:
        """Book the finished slot, and choose the partition of the next one."""
        self._book()
        if self._is_renewal_due():
            self._renew_weights(next_bytes)
        # the chosen broker and partition keep their places in the heaps until :meth:`_book` replaces their entries
        self._broker = broker = self._brokers[0][2]
        self.slot.partition = self._partitions[broker][0][2]
        self._slot_end_bytes = self.slot.left_bytes = self._slot_bytes(broker, next_bytes)

    def _is_renewal_due(self) -> bool:
        return self._pending is not None or self._total_bytes >= self._used_up_at_bytes

    def _book_whole_slot(self) -> tuple[int, int]:
        """Count all bytes of the slot that has just begun; returns its partition and bytes."""
        slot = self.slot.partition, self._slot_end_bytes
        self.slot.left_bytes = 0
        self._book()
        return slot

    def _book(self) -> None:
        """Count the bytes of the slot, and update the heap entries of its partition and broker."""
        slot, broker = self.slot, self._broker
        if broker < 0:
            return
        partition, n_bytes = slot.partition, self._slot_end_bytes - slot.left_bytes
        self._largest_excess_bytes = max(self._largest_excess_bytes, -slot.left_bytes)
        # so that calling it again does not count the slot twice
        self._slot_end_bytes = slot.left_bytes = 0
        self._broker = -1
        self._total_bytes += n_bytes
        self._sent[partition] += n_bytes
        self._weights_and_booked[1][partition] += n_bytes
        self._broker_booked[broker] += n_bytes
        if self._keeps_stays:
            self._stay_left_bytes[broker] = min(self._stay_left_bytes[broker], self._stay_bytes)
        self._stay_left_bytes[broker] -= n_bytes
        if self._stay_left_bytes[broker] <= 0:
            heapreplace(self._partitions[broker], self._partition_entry(partition))
            self._stay_left_bytes[broker] = self._stay_bytes
        heapreplace(self._brokers, (self._broker_priority(broker), self._tie_breaker[partition], broker))

    def _book_overrun(self, partition: int, n_bytes: int) -> None:
        """Count bytes beyond a planned slot. The heaps take them into account when the partition and its broker are
        booked next."""
        self._largest_excess_bytes = max(self._largest_excess_bytes, n_bytes)
        self._total_bytes += n_bytes
        self._sent[partition] += n_bytes
        self._weights_and_booked[1][partition] += n_bytes
        broker = self._broker_of[partition]
        self._broker_booked[broker] += n_bytes
        self._stay_left_bytes[broker] -= n_bytes

    def _partition_entry(self, partition: int) -> tuple[float, float, int]:
        weights, booked = self._weights_and_booked
        return (booked[partition] + self._half_bytes) / weights[partition], self._tie_breaker[partition], partition

    def _broker_priority(self, broker: int) -> float:
        return (self._broker_booked[broker] + self._half_bytes) / self._broker_weights[broker]

    def _renew_weights(self, next_bytes: int) -> None:
        """Switch to the pending weights; if there are none and the current ones are used up, ask for some."""
        if self._pending is None:
            self._when_used_up()
        if self._pending is not None:
            weights, self._span_bytes, broker = pending = self._pending
            self._switch_weights(weights, broker, next_bytes)
            # only now: a signal's handler may raise half way, and another thread may have set other weights
            if self._pending is pending:
                self._pending = None
        self._set_end_of_span()

    def _switch_weights(self, weights: F64, broker: I32 | None, next_bytes: int) -> None:
        """Switch to new weights, and make up for what partitions are ahead of the old ones."""
        n = len(weights)
        stays = self._stays_in_progress()
        ahead = self.ahead_bytes
        ahead = np.where(weights > 0, ahead, 0.0) if len(ahead) == n else np.zeros(n)
        self._sent += [0] * (n - len(self._sent))
        used = np.flatnonzero(weights > 0)
        brokers = np.zeros(n, np.int64) if broker is None else np.maximum(broker, 0)
        n_brokers = int(brokers.max()) + 1
        self._broker_of = brokers.tolist()
        self._weights_and_booked = weights.tolist(), ahead.tolist()
        of_broker = np.bincount(brokers, weights, n_brokers)
        self._broker_weights = of_broker.tolist()
        self._broker_booked = np.bincount(brokers, ahead, n_brokers).tolist()
        self._unbooked_bytes = self._total_bytes - float(np.cumsum(ahead)[-1])
        self._half_bytes = self._usual_slot_bytes(next_bytes) / 2
        self._tie_breaker = ((np.arange(n) / n - self._start) % 1.0).tolist()
        self._partitions = [[] for _ in range(n_brokers)]
        self._stay_left_bytes = [self._stay_bytes] * n_brokers
        for partition in used.tolist():
            if partition in stays:
                self._stay_left_bytes[brokers[partition]] = stays[partition]
                entry = -inf, self._tie_breaker[partition], partition
            else:
                entry = self._partition_entry(partition)
            heappush(self._partitions[brokers[partition]], entry)
        self._brokers = [
            (self._broker_priority(b), min(turn for _, turn, _ in self._partitions[b]), b)
            for b in np.unique(brokers[used]).tolist()
        ]
        heapify(self._brokers)

    def _stays_in_progress(self) -> dict[int, int]:
        """By partition: bytes that it still gets before another one takes over, if it has got some."""
        if not self._keeps_stays:
            return {}
        left = enumerate(self._stay_left_bytes)
        return {self._partitions[b][0][2]: n_bytes for b, n_bytes in left if 0 < n_bytes < self._stay_bytes}

    def _set_end_of_span(self) -> None:
        self._used_up_at_bytes = self._total_bytes + max(self._span_bytes, self._least_span_bytes())

    def _least_span_bytes(self) -> int:
        if not self._counted_records:
            return 0
        n = len(self._brokers) if self._are_brokers_enough else len(self._weights_and_booked[0])
        return _LEAST_SLOTS * n * self._usual_slot_bytes(self.mean_record_bytes)

    def _bytes_per_broker(self) -> float:
        """What each broker got so far, in the mean."""
        return self._total_bytes * self._stored_per_led / len(self._broker_weights)

    def _spare_bytes_per_broker(self) -> float:
        return self._spare_bytes / len(self._broker_weights)

    def _usual_slot_bytes(self, next_bytes: int) -> int:
        """A slot of a broker with an even weight, from half of it behind to half of it ahead."""
        slot_bytes = float(self._max_slot_bytes)
        if self._max_part < inf:
            part_bytes = self._bytes_per_broker() * self._max_part
            slot_bytes = min(slot_bytes, part_bytes + self._spare_bytes_per_broker())
        return self._whole_records(slot_bytes, next_bytes)

    def _slot_bytes(self, broker: int, next_bytes: int) -> int:
        """The slot that this broker may have now: while it gets n bytes, its share of all bytes grows by weight * n."""
        slot_bytes, weight = float(self._max_slot_bytes), self._broker_weights[broker]
        if self._max_part < inf and weight < 1:
            ahead_bytes = self._broker_booked[broker] - weight * (self._total_bytes - self._unbooked_bytes)
            is_last_part = self._total_bytes >= (1 - _END_PART) * self._expected_bytes()
            part = _SLOT_PART_AT_END if is_last_part else self._max_part
            most_bytes = part / 2 * weight * self._total_bytes * self._stored_per_led
            most_bytes += weight * self._spare_bytes / 2
            slot_bytes = min(slot_bytes, (most_bytes - ahead_bytes) / (1 - weight))
        return self._whole_records(slot_bytes, next_bytes)

    def _whole_records(self, slot_bytes: float, next_bytes: int) -> int:
        """Whole records: a slot of one and a quarter records would give two to every fourth slot."""
        mean_bytes = self.mean_record_bytes or next_bytes
        units = int(slot_bytes / self._unit_bytes + _NEARLY_A_UNIT) if self._unit_bytes else 0
        if units > 0:
            slot_bytes = units * self._unit_bytes
        return max(1, round(slot_bytes / mean_bytes)) * mean_bytes
