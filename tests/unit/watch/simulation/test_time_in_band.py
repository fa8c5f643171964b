"""How findings at moments become a fraction of the time."""

from __future__ import annotations

from kafkabal.watch.simulation.time_in_band import TimeInBand


def test_a_finding_holds_until_the_next_one() -> None:
    """Four of ten seconds count, and in one of them a score is outside."""
    time = TimeInBand()
    time.find(0.0, is_counted=True, is_in_band=True)
    time.find(3.0, is_counted=True, is_in_band=False)
    time.find(4.0, is_counted=False, is_in_band=False)
    time.find(10.0, is_counted=True, is_in_band=True)

    assert time.fraction == 3 / 4


def test_no_time_that_counts_breaks_no_promise() -> None:
    """As on a cluster that lacks a broker from beginning to end."""
    time = TimeInBand()
    time.find(0.0, is_counted=False, is_in_band=False)
    time.find(9.0, is_counted=False, is_in_band=False)

    assert time.fraction == 1.0
