"""Flights report each fact once, and only for records that are in the topic."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.producer.records_in_flight import Acknowledged, PartitionTally, RecordsInFlight


class Message:
    """A record that a broker acknowledged."""

    def __init__(self, offset: int | None) -> None:
        self._offset = offset

    def offset(self) -> int | None:
        """Its offset."""
        return self._offset


class Bench:
    """A flight, and what it reported."""

    def __init__(self, partitions: list[int]) -> None:
        self.acknowledged: list[Acknowledged] = []
        self.failed: list[Any] = []
        self.finished: list[PartitionTally] = []
        values = [b"x" * n for n in range(len(partitions))]
        self.flight = RecordsInFlight(
            values,
            np.array([len(value) + 10 for value in values]),
            self.acknowledged.append,
            lambda error, _: self.failed.append(error),
            self.finished.append,
        )
        self.flight.add_all(np.array(partitions))

    def report(self, partition: int, offset: int | None = 0, error: Any = None) -> None:
        """Report the delivery of a record, or its failure."""
        self.flight.by_partition[partition].report(error, Message(offset))  # type: ignore[arg-type]


def test_all_records_are_acknowledged_together() -> None:
    """Offsets are those after the last record of each partition, bytes are those of the values."""
    bench = Bench([0, 0, 1])
    bench.flight.close(3)
    bench.report(0, 7)
    bench.report(1, 3)
    assert not bench.acknowledged
    bench.report(0, 8)
    assert bench.acknowledged == [Acknowledged(3, {0: 9, 1: 4}, {0: 1, 1: 2})]
    assert {tally.partition: tally.size_bytes for tally in bench.finished} == {0: 21, 1: 12}


def test_a_record_that_failed_keeps_the_others_from_counting() -> None:
    """If a record fails, no flight reports that all arrived; each failure is reported."""
    bench = Bench([0, 0])
    bench.flight.close(2)
    bench.report(0, error="late")
    bench.report(0, 1)
    assert (bench.acknowledged, bench.failed) == ([], ["late"])
    assert [(tally.records, tally.failed) for tally in bench.finished] == [(2, 1)]


def test_an_offset_that_no_broker_reported_is_left_out() -> None:
    """A record that was already in the topic counts, without an offset."""
    bench = Bench([0])
    bench.flight.close(1)
    bench.report(0, None)
    assert bench.acknowledged == [Acknowledged(1, {}, {0: 0})]


@pytest.mark.parametrize("queued", [0, 1, 2, 3])
def test_records_that_were_not_queued_are_not_waited_for(queued: int) -> None:
    """Queued records count whether they are acknowledged before or after the flight is complete."""
    for early in range(queued + 1):
        bench = Bench([0, 1, 0])
        for partition in [0, 1, 0][:early]:
            bench.report(partition)
        bench.flight.close(queued)
        for partition in [0, 1, 0][early:queued]:
            bench.report(partition)
        assert [each.records for each in bench.acknowledged] == [queued]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.randoms())
def test_flights_end_once_in_any_order(partitions: list[int], random: Any) -> None:
    """The end of a flight is reported once, with its last acknowledgement, in whatever order these come."""
    bench = Bench(partitions)
    bench.flight.close(len(partitions))
    order = list(partitions)
    random.shuffle(order)
    for left, partition in enumerate(reversed(order)):
        assert not bench.acknowledged, left
        bench.report(partition)
    assert [each.records for each in bench.acknowledged] == [len(partitions)]


def test_a_flight_costs_nothing_for_partitions_without_records() -> None:
    """Two records take as many interpreted steps among 10,000 partitions as among two."""

    def steps(partition: int) -> int:
        flight = Bench([0]).flight
        count = 0

        def trace(*_: Any) -> Any:
            nonlocal count
            count += 1
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            flight.add_all(np.array([0, partition]))
        finally:
            sys.settrace(before)
        return count

    assert steps(9_999) == steps(1)
