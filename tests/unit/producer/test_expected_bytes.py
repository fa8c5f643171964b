"""How much a run expects to send, while it comes nearer to its end."""

from __future__ import annotations

from math import inf

import pytest

from kafkabal.producer.expected_bytes import ExpectedBytes


def test_at_first_it_is_the_size_of_the_source() -> None:
    """Of a stream, nothing is known."""
    assert ExpectedBytes(120).in_all() == 120
    assert ExpectedBytes(0).in_all() == inf


@pytest.mark.parametrize("factor", [0.1, 1.25, 8.0])
def test_what_is_left_becomes_as_many_bytes_as_what_was_read(factor: float) -> None:
    """A table may grow or shrink when its rows, or a field of them, become records."""
    expected = ExpectedBytes(10_000)
    for _ in range(100):
        expected.add(100, int(100 * factor), skipped_bytes=0)
        assert expected.in_all() == pytest.approx(10_000 * factor)


def test_what_earlier_runs_have_sent_does_not_count() -> None:
    """Only this run's own bytes do, even if a file has grown since it was listed."""
    expected = ExpectedBytes(10_000)
    expected.add(100, 110, skipped_bytes=9000)
    assert expected.in_all() == pytest.approx(1100)
    expected.add(9900, 10890, skipped_bytes=9000)
    assert expected.in_all() == 11_000
