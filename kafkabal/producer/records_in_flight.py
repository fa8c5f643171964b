"""Records that were queued together (a flight), until all of them are acknowledged.

There are up to a million acknowledgements a second, so each must cost next to nothing: a tally only counts how many of
its partition's records are left, and everything else happens once for all of them. Brokers acknowledge the records of a
partition in order, so the last one has the highest offset.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from confluent_kafka import KafkaError, Message

from kafkabal.model import I64


class Acknowledged(NamedTuple):
    """What became of records that were queued together."""

    records: int
    """How many were sent: all, unless an error kept the last ones from being queued."""
    next_offsets: Mapping[int, int]
    """By partition: all of these records that went there are before this offset."""
    value_bytes: Mapping[int, int]
    """By partition: bytes of the records' values."""


class PartitionTally:
    """The records of a flight that go to one partition."""

    __slots__ = ("_flight", "failed", "last", "left", "partition", "picked_bytes", "records", "size_bytes")

    def __init__(self, flight: RecordsInFlight, partition: int) -> None:
        self._flight = flight
        self.partition = partition
        self.records = 0
        self.left = 0
        """Number of records whose fate is unknown."""
        self.failed = 0
        self.size_bytes = 0
        self.last: Message | None = None
        self.picked_bytes: deque[int] = deque()
        """Sizes, in order, of records that a learning policy has picked and has no report of yet."""

    def report(self, error: KafkaError | None, message: Message) -> None:
        """Delivery report of one record."""
        if error is not None:
            self.failed += 1
            self._flight.on_failed(error, message)
        self.left = left = self.left - 1
        if not left:
            self.last = message
            self._flight.finish(self)


class RecordsInFlight:
    """Records that are queued together.

    Parameters
    ----------
    values
        Of all records to be queued.
    sizes
        Bytes of each, key and headers included.
    on_acknowledged
        Called once the fate of all records is known, if none failed.
    on_failed
        Called for each record that failed.
    on_finished
        Called for each partition once the fate of its records is known and the flight is complete.
    """

    def __init__(
        self,
        values: Sequence[bytes | None],
        sizes: I64,
        on_acknowledged: Callable[[Acknowledged], None],
        on_failed: Callable[[KafkaError, Message], None],
        on_finished: Callable[[PartitionTally], None],
    ) -> None:
        self._picked_at_once: I64 | None = None
        self._picked: list[int] = []
        self.by_partition: dict[int, PartitionTally] = {}
        self._value_bytes = _lengths(values)
        self._sizes = sizes
        self._on_acknowledged = on_acknowledged
        self.on_failed = on_failed
        self._on_finished = on_finished
        self._sent_bytes: Mapping[int, int] = {}
        self._queued = 0
        self._is_complete = False
        self._n_open = 0

    @property
    def partitions(self) -> I64:
        """The partitions of all records picked so far."""
        return np.array(self._picked, np.int64) if self._picked_at_once is None else self._picked_at_once

    def add_all(self, partitions: I64) -> None:
        """Count the records that will be queued, in this order; they are the whole flight."""
        self._picked_at_once = partitions
        counts = np.bincount(partitions)
        for partition in np.flatnonzero(counts).tolist():
            tally = self.of_partition(partition)
            tally.records += int(counts[partition])
            tally.left += int(counts[partition])

    def add_one(self, partition: int) -> PartitionTally:
        """Count the one record that will be queued next; returns the tally of its partition."""
        self._picked.append(partition)
        tally = self.of_partition(partition)
        tally.records += 1
        tally.left += 1
        return tally

    def of_partition(self, partition: int) -> PartitionTally:
        """The tally of a partition."""
        tally = self.by_partition.get(partition)
        if tally is None:
            tally = self.by_partition[partition] = PartitionTally(self, partition)
        return tally

    def close(self, queued: int) -> None:
        """No more records follow; those from position ``queued`` on were not queued."""
        partitions = self.partitions
        for partition in partitions[queued:].tolist():
            tally = self.by_partition[partition]
            tally.records -= 1
            tally.left -= 1
        queued_to = partitions[:queued]
        self._queued = len(queued_to)
        self._sent_bytes = _sums(queued_to, self._value_bytes)
        for partition, size_bytes in _sums(queued_to, self._sizes).items():
            self.by_partition[partition].size_bytes = size_bytes
        self._is_complete = True
        self._n_open = len(self.by_partition)
        for tally in list(self.by_partition.values()):
            if not tally.left:
                self.finish(tally)

    def finish(self, tally: PartitionTally) -> None:
        """Report a partition as finished, unless more records of the flight may follow."""
        if not self._is_complete:
            return
        self._on_finished(tally)
        self._n_open -= 1
        if not self._n_open and not any(each.failed for each in self.by_partition.values()):
            self._on_acknowledged(self._acknowledged())

    def _acknowledged(self) -> Acknowledged:
        # after a retry, a broker that already had a record does not report its offset
        offsets = {p: tally.last.offset() for p, tally in self.by_partition.items() if tally.last is not None}
        next_offsets = {p: offset + 1 for p, offset in offsets.items() if offset is not None and offset >= 0}
        return Acknowledged(self._queued, next_offsets, self._sent_bytes)


def _lengths(values: Sequence[bytes | None]) -> I64:
    """Bytes of each value; 0 for a record without one, as nearly no data set has."""
    try:
        return np.fromiter(map(len, values), np.int64, len(values))  # type: ignore[arg-type] # None has no length
    except TypeError:
        return np.array([len(value or b"") for value in values], np.int64)


def _sums(partitions: I64, n_bytes: I64) -> dict[int, int]:
    """Bytes of records by partition; partitions without records are left out."""
    if not len(partitions):
        return {}
    sums = np.bincount(partitions, n_bytes[: len(partitions)])
    return {int(p): int(sums[p]) for p in np.flatnonzero(np.bincount(partitions))}
