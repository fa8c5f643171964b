"""Ticks at regular intervals."""

from __future__ import annotations

import pytest

from kafkabal.simulator.ticks import Ticks


@pytest.mark.parametrize("interval_s", [0.05, 0.1, 1 / 3, 5.0])
def test_the_last_of_those_passed_is_the_one_that_counting_finds(interval_s: float) -> None:
    """Taken one by one or many at once, the ticks are the same, and none comes twice."""
    ticks, turn = Ticks(interval_s, first=1), 1
    for step in range(2000):
        until_s = step * step * 0.01
        expected = None
        while turn * interval_s <= until_s:
            expected, turn = turn * interval_s, turn + 1
        assert ticks.take(until_s) == expected
        assert ticks.next_s == turn * interval_s > until_s


def test_a_moment_is_taken_once_it_has_come() -> None:
    """A tick at exactly the current time counts, including the first at zero."""
    ticks = Ticks(0.1)
    assert ticks.take(0.0) == 0.0
    assert ticks.take(3 * 0.1) == 3 * 0.1
    assert ticks.take(0.35) is None
