"""Ticks after early pauses and at regular intervals."""

from __future__ import annotations

from itertools import accumulate

import pytest

from kafkabal.simulator.ticks import Ticks


@pytest.mark.parametrize("interval_s", [0.05, 0.1, 1 / 3, 5.0])
@pytest.mark.parametrize("early_s", [(), (0.1, 0.2, 0.4)])
def test_the_last_of_those_passed_is_the_one_that_counting_finds(interval_s: float, early_s: tuple[float, ...]) -> None:
    """Taken one by one or many at once, the ticks are the same, and none comes twice."""
    early = [0.0, *accumulate(early_s)]
    times = early[1:] + [early[-1] + n * interval_s for n in range(1, 900_000)]
    ticks, turn = Ticks(interval_s, early_s), 0
    for step in range(2000):
        until_s = step * step * 0.01
        expected = None
        while times[turn] <= until_s:
            expected, turn = times[turn], turn + 1
        assert ticks.take(until_s) == expected
        assert ticks.next_s == times[turn] > until_s


def test_a_moment_is_taken_once_it_has_come() -> None:
    """A tick at exactly the current time counts."""
    ticks = Ticks(0.1)
    assert ticks.take(0.0) is None
    assert ticks.take(3 * 0.1) == 3 * 0.1
    assert ticks.take(0.35) is None
