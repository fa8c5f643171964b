"""Deadlines."""

from __future__ import annotations

from kafkabal.clusters.clock import Deadline
from kafkabal.clusters.simulated.fake_clock import FakeClock


def test_a_deadline_approaches_and_expires() -> None:
    """The remaining time shrinks with the clock, down to zero and not below."""
    clock = FakeClock()
    deadline = Deadline(3.0, clock)
    clock.sleep(1.0)
    assert (deadline.remaining_s, deadline.is_over) == (2.0, False)
    clock.sleep(5.0)
    assert (deadline.remaining_s, deadline.is_over) == (0.0, True)


def test_the_earlier_deadline_counts() -> None:
    """A limit for part of the work never outlasts the whole."""
    clock = FakeClock()
    deadline = Deadline(3.0, clock)
    assert deadline.at_most(1.0).remaining_s == 1.0
    assert deadline.at_most(10.0).remaining_s == 3.0
    clock.sleep(0.5)
    assert (deadline.at_most(10.0).remaining_s, str(deadline.at_most(10.0))) == (2.5, "3 s")
