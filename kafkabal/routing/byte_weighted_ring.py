"""Give partitions their weights in bytes, record by record, without deciding anew for every record.

The stream of bytes is laid along a ring of slots, each as long as a batch. Slots belong to partitions, in number as
their weights, as evenly spaced as can be. A record goes to the partition in whose slot its first byte falls, so
records that come one after the other share a batch, and a cumulative sum finds the partitions of all records at once.

Records are not as long as slots, so that a partition gets a little more or less than its due. When the ring is used
up, the next one is laid out so that it pays the debts of all earlier ones. Where sizes are so unlike that much is owed
by then, rings become shorter.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Final

import numpy as np

from kafkabal.model.cluster_state import F64, I32, I64
from kafkabal.routing.weighted_rings import evenly_spaced, whole_shares

# slots a ring has for each partition at least, and all together, unless that is less
_LEAST_SLOTS = 16
# and so many once two rings in a row left hardly anything owing
_EVEN_SLOTS = 64
_MOST_SLOTS = 8192
# of a partition's part of the span: rings become shorter if more is owed at the end of one, longer if far less
_OWED, _HARDLY_OWED = 0.02, 0.005
# records decided at once, so that their columns stay in the cache
_AT_ONCE = 16384
# the golden ratio: successive rings start in places that never come close to each other for long
_TURN: Final = 0.6180339887498949


class ByteRing:
    """Partitions of a stream of records of one producer.

    Parameters
    ----------
    slot_bytes
        About how long a slot is, 1 or more: whole records of mean length, one at least.
    start
        Where on the circle the first ring starts, 0 to 1; producers of one topic start in different places.
    when_used_up
        Called before a further ring is laid out; may set new weights.
    """

    def __init__(self, slot_bytes: int, start: float, when_used_up: Callable[[], None]) -> None:
        self._usual_slot_bytes = slot_bytes
        self._start = start
        self._when_used_up = when_used_up
        self._weights: F64 = np.empty(0)
        self._span_bytes = 0.0
        self._slots_a_partition = _LEAST_SLOTS
        self._awaited: tuple[F64, float] | None = None
        # a topic has one partition at least
        self._sent: I64 = np.zeros(1, np.int64)
        self._sent_before: I64 = self._sent
        self._records = 0
        self._in_ring = [0]
        self._records_in_ring = 0
        self._at_bytes = 0
        self._length_bytes = 0
        self._partition = 0
        self._entered_bytes = 0
        self._slot_end_bytes = 0

    @property
    def sent_bytes(self) -> I64:
        """int64, shape (n_partitions,): bytes of all records so far; of one partition before the first of them."""
        sent = self._sent + np.array(self._in_ring, np.int64)
        sent[self._partition] += self._at_bytes - self._entered_bytes
        return sent

    @property
    def mean_record_bytes(self) -> int:
        """Of all records so far, 0 before the first."""
        records = self._records + self._records_in_ring
        return int(self.sent_bytes.sum()) // records if records else 0

    @property
    def is_even(self) -> bool:
        """Whether rings have left hardly anything owing for a while, as they do if records are of like sizes."""
        return self._slots_a_partition >= _EVEN_SLOTS

    def set_weights(self, weights: F64, span_bytes: float) -> None:
        """Follow new weights from the next record on; called by another thread amid a pick, from the next slot on.

        Parameters
        ----------
        weights
            float64, shape (n_partitions,), >= 0, summing to 1.
        span_bytes
            About how long a ring is to be, as far as that leaves each partition some slots.
        """
        self._awaited = weights, span_bytes
        self._slot_end_bytes = 0

    def set_span(self, span_bytes: float) -> None:
        """Lay rings of about this length from the next one on, for the weights that there are."""
        self._span_bytes = span_bytes

    def set_slot_bytes(self, slot_bytes: int) -> None:
        """Take slots of about this length, at once if those of the ring are far from it. May be called as above."""
        before, self._usual_slot_bytes = self._usual_slot_bytes, slot_bytes
        if not before * 4 / 5 <= slot_bytes <= before * 5 / 4:
            self._length_bytes = self._slot_end_bytes = 0

    def pick(self, key: bytes | None, size_bytes: int) -> int:  # noqa: ARG002 - see kafkabal.routing.policy_protocol.Pick
        """Partition of the next record."""
        at = self._at_bytes
        if at >= self._slot_end_bytes:
            self._enter_slot(size_bytes)
            at = self._at_bytes
        self._at_bytes = at + size_bytes
        self._records_in_ring += 1
        return self._partition

    def fill(self, size_bytes: I64, out: I32) -> None:
        """Partitions of the next records: what as many calls of :meth:`pick` would give."""
        for start in range(0, len(out), _AT_ONCE):
            rows = slice(start, start + _AT_ONCE)
            self._fill(size_bytes[rows], out[rows])

    def _fill(self, size_bytes: I64, out: I32) -> None:
        first_byte = np.cumsum(size_bytes) - size_bytes
        done = 0
        while done < len(out):
            self._go_on(int(size_bytes[done]))
            # read once: another thread that asks for other slots makes it 0
            length_bytes = self._length_bytes
            if self._at_bytes >= length_bytes:
                continue
            origin = int(first_byte[done]) - self._at_bytes
            end = done + int(np.searchsorted(first_byte[done:], origin + length_bytes))
            self._fill_within(first_byte[done:end] - origin, size_bytes[done:end], out[done:end])
            done = end

    def _fill_within(self, at_bytes: I64, size_bytes: I64, out: I32) -> None:
        self._at_bytes = self._entered_bytes = int(at_bytes[-1] + size_bytes[-1])
        at_bytes //= self._slot_bytes
        self._ring.take(at_bytes, out=out, mode="clip")
        sent = np.bincount(out, size_bytes, len(self._weights)).astype(np.int64)
        self._in_ring = [a + b for a, b in zip(self._in_ring, sent.tolist(), strict=True)]
        self._records_in_ring += len(out)

    def _enter_slot(self, next_bytes: int) -> None:
        """Find the partition that gets records one by one until the end of its slot."""
        self._go_on(next_bytes)
        slot = self._at_bytes // self._slot_bytes
        self._partition = self._list[slot]
        self._slot_end_bytes = (slot + 1) * self._slot_bytes

    def _go_on(self, next_bytes: int) -> None:
        """Book what came one by one, and take the next ring where the last is used up or out of date."""
        at, self._slot_end_bytes = self._at_bytes, 0
        self._in_ring[self._partition] += at - self._entered_bytes
        self._entered_bytes = at
        if self._awaited is not None or at >= self._length_bytes:
            self._renew(next_bytes)

    def _renew(self, next_bytes: int) -> None:
        """Lay out the next ring, for new weights where there are some, else so that it pays what is owed."""
        if self._awaited is None:
            self._when_used_up()
        if self._awaited is None:
            self._settle(len(self._weights))
            self._judge()
        else:
            (self._weights, self._span_bytes), self._awaited = self._awaited, None
            self._settle(len(self._weights))
            self._sent_before = self._sent.copy()
        self._lay_out(self.mean_record_bytes or min(next_bytes, self._usual_slot_bytes))

    def _judge(self) -> None:
        """Pay sooner or later from now on, by what the ring that is used up leaves owing beyond a slot."""
        sent = self._sent - self._sent_before
        owed_bytes = float(np.abs(self._weights * sent.sum() - sent).max()) - self._slot_bytes
        part_bytes = self._span_bytes / len(self._weights)
        if owed_bytes > _OWED * part_bytes:
            self._slots_a_partition = max(_LEAST_SLOTS, self._slots_a_partition // 2)
        elif owed_bytes < _HARDLY_OWED * part_bytes:
            self._slots_a_partition = min(_MOST_SLOTS, self._slots_a_partition * 2)

    def _settle(self, n_partitions: int) -> None:
        """Book what went into the ring that is left."""
        self._sent = np.append(self.sent_bytes, np.zeros(max(0, n_partitions - len(self._sent)), np.int64))
        self._records += self._records_in_ring
        self._in_ring = [0] * len(self._sent)
        self._records_in_ring = 0
        self._at_bytes = self._entered_bytes = 0

    def _lay_out(self, mean_bytes: int) -> None:
        # slots of a record and a quarter would give two records to every fourth of them, always of the same partitions
        self._slot_bytes = max(1, round(self._usual_slot_bytes / mean_bytes)) * mean_bytes
        n = len(self._weights)
        most = min(_MOST_SLOTS, self._slots_a_partition * n)
        n_slots = max(_LEAST_SLOTS * n, min(most, ceil(self._span_bytes / self._slot_bytes)))
        self._length_bytes = n_slots * self._slot_bytes
        sent = self._sent - self._sent_before
        due = self._weights * (sent.sum() + self._length_bytes) - sent
        # one that got far too much still keeps a tenth of its slots, so that none is left without
        due = np.maximum(due, 0.1 * self._weights * self._length_bytes)
        self._start = (self._start + _TURN) % 1.0
        ring = evenly_spaced(whole_shares(due, n_slots))
        turned = int(self._start * n_slots)
        self._ring = np.concatenate((ring[turned:], ring[:turned]))
        self._list: list[int] = self._ring.tolist()
