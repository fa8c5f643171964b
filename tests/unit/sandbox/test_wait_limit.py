"""Waiting ends when the condition holds, or at the deadline."""

from __future__ import annotations

import pytest

from kafkabal.sandbox import WaitLimit


class Clock:
    """A clock that advances only while a caller sleeps."""

    now_s = 0.0

    def read(self) -> float:
        """Return the time in seconds."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Advance the time."""
        self.now_s += duration_s


@pytest.mark.parametrize(("true_at_s", "held", "ended_at_s"), [(0, True, 0), (3, True, 3), (11, False, 10)])
def test_until(true_at_s: float, held: bool, ended_at_s: float) -> None:
    """The wait returns true if the condition holds by the deadline, and never outlasts it."""
    clock = Clock()
    wait_limit = WaitLimit(deadline_s=10, interval_s=1, clock=clock.read, sleep=clock.sleep)
    assert wait_limit.until(lambda: clock.now_s >= true_at_s) is held
    assert clock.now_s == ended_at_s
