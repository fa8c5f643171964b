"""The clock of the machine, and deadlines."""

from __future__ import annotations

import time

from kafkabal.clusters.clock import Deadline, SystemClock
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


def test_time_counts_while_the_machine_is_suspended() -> None:
    """A lock whose session has expired meanwhile must not look fresh to a laptop that was opened again."""
    boot = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    before, now, after = time.clock_gettime(boot), SystemClock().monotonic(), time.clock_gettime(boot)
    assert before <= now <= after
