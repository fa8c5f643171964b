"""Records that were queued together, until all of them are acknowledged.

What is done for each acknowledgement is done a million times a second, so it is next to nothing: of the records of a
flight that go to one partition, a lane, only how many are left is counted, and everything else is done once for the
lane. Brokers acknowledge the records of a partition in their order, so the last one has the highest offset.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkabal.model import I64

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message


class Acknowledged(NamedTuple):
    """What became of records that were queued together."""

    records: int
    """How many of them were sent: all, unless an error kept the last ones from being queued."""
    next_offsets: Mapping[int, int]
    """By partition: all of these records that went there are before this offset."""
    value_bytes: Mapping[int, int]
    """By partition: bytes of their values."""


class PartitionRecords:
    """The records of a flight that go to one partition."""

    __slots__ = ("_flight", "failed", "last", "left", "partition", "picked_bytes", "records", "size_bytes")

    def __init__(self, flight: RecordsInFlight, partition: int) -> None:
        self._flight = flight
        self.partition = partition
        self.records = 0
        self.left = 0
        """Records whose fate is not known."""
        self.failed = 0
        self.size_bytes = 0
        self.last: Message | None = None
        self.picked_bytes: deque[int] = deque()
        """Of the records that a policy that learns has picked and not heard of, in their order."""

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
        Of all records that are to be queued.
    sizes
        Bytes of each, key and headers included.
    on_acknowledged
        Called once the fate of all is known, if none failed.
    on_failed
        Called for each that failed.
    on_finished
        Called for each lane once the fate of its records is known, and the flight is complete.
    """

    def __init__(
        self,
        values: list[bytes],
        sizes: list[int],
        on_acknowledged: Callable[[Acknowledged], None],
        on_failed: Callable[[KafkaError, Message], None],
        on_finished: Callable[[PartitionRecords], None],
    ) -> None:
        self.partitions: list[int] = []
        """Of each record that a partition was picked for."""
        self.lanes: dict[int, PartitionRecords] = {}
        self._value_bytes = list(map(len, values))
        self._sizes = sizes
        self._on_acknowledged = on_acknowledged
        self.on_failed = on_failed
        self._on_finished = on_finished
        self._sent_bytes: Mapping[int, int] = {}
        self._is_complete = False
        self._open_lanes = 0

    def expect(self, partitions: list[int]) -> None:
        """Count records that will be queued, in this order."""
        self.partitions += partitions
        for partition, records in Counter(partitions).items():
            lane = self.lane(partition)
            lane.records += records
            lane.left += records

    def expect_one(self, partition: int) -> PartitionRecords:
        """Count one record that will be queued next; its lane."""
        self.partitions.append(partition)
        lane = self.lane(partition)
        lane.records += 1
        lane.left += 1
        return lane

    def lane(self, partition: int) -> PartitionRecords:
        """The lane of a partition."""
        lane = self.lanes.get(partition)
        if lane is None:
            lane = self.lanes[partition] = PartitionRecords(self, partition)
        return lane

    def close(self, queued: int) -> None:
        """No more records come; those from a position on were not queued."""
        for partition in self.partitions[queued:]:
            lane = self.lanes[partition]
            lane.records -= 1
            lane.left -= 1
        del self.partitions[queued:]
        column = np.array(self.partitions, np.int64)
        self._sent_bytes = _sums(column, self._value_bytes)
        for partition, size_bytes in _sums(column, self._sizes).items():
            self.lanes[partition].size_bytes = size_bytes
        self._is_complete = True
        self._open_lanes = len(self.lanes)
        for lane in list(self.lanes.values()):
            if not lane.left:
                self.finish(lane)

    def finish(self, lane: PartitionRecords) -> None:
        """The fate of the records of a lane is known, if no more of them come."""
        if not self._is_complete:
            return
        self._on_finished(lane)
        self._open_lanes -= 1
        if not self._open_lanes and not any(each.failed for each in self.lanes.values()):
            self._on_acknowledged(self._acknowledged())

    def _acknowledged(self) -> Acknowledged:
        # a broker that had a record already, from a retry, does not say where
        offsets = {p: lane.last.offset() for p, lane in self.lanes.items() if lane.last is not None}
        next_offsets = {p: offset + 1 for p, offset in offsets.items() if offset is not None and offset >= 0}
        return Acknowledged(len(self.partitions), next_offsets, self._sent_bytes)


def _sums(partitions: I64, n_bytes: list[int]) -> dict[int, int]:
    """Bytes of records by partition; those that have none are left out."""
    if not len(partitions):
        return {}
    sums = np.bincount(partitions, np.array(n_bytes[: len(partitions)], np.float64))
    return {int(p): int(sums[p]) for p in np.flatnonzero(np.bincount(partitions))}
