"""How long a record waits, from the records in flight and the rate of acknowledgements."""

from __future__ import annotations

import pytest

from kafkabal.telemetry.broker_backlog import Backlog


def test_a_steady_backlog_takes_its_length_over_the_rate() -> None:
    """A thousand in flight at a hundred per second wait ten seconds."""
    backlog = Backlog()
    waits_s = [backlog.wait_s(at_s, 1000, 100 * at_s) for at_s in range(20)]
    assert waits_s[0] == 0.0, "nothing is known of the rate yet"
    assert waits_s[1:] == [pytest.approx(10.0)] * 19


def test_no_rate_is_made_up_before_the_first_acknowledgement() -> None:
    """Before the first acknowledgement a broker is as slow as its records have waited, however many there are."""
    few, many = Backlog(), Backlog()
    for backlog, count in ((few, 4), (many, 4000)):
        backlog.wait_s(0.0, count, 0)
        assert backlog.wait_s(0.5, count, 0) == pytest.approx(0.5)
    assert Backlog().wait_s(0.0, 40, 0) == 0.0


def test_a_broker_that_stops_is_slower_than_one_record() -> None:
    """A broker that stops is estimated to take longer than the memory span per record."""
    backlog = Backlog(memory_s=0.1)
    for step in range(10):
        backlog.wait_s(0.1 * step, 40, step + 1)
    assert [backlog.wait_s(0.9 + step, 40, 10) > 40 * 0.1 for step in (1, 2, 3)] == [True] * 3


def test_old_rates_are_forgotten() -> None:
    """A broker that becomes ten times slower is recognised after a few memory spans."""
    backlog = Backlog(memory_s=1.0)
    for step in range(50):
        backlog.wait_s(0.1 * step, 100, 100 * step)
    slower_s = [backlog.wait_s(5 + 0.1 * step, 100, 4900 + 10 * step) for step in range(60)]
    assert slower_s[0] == pytest.approx(0.1, rel=0.2)
    assert slower_s == sorted(slower_s)
    assert slower_s[-1] == pytest.approx(1.0, rel=0.05)


def test_an_idle_broker_does_not_wait() -> None:
    """Without records in flight the wait is zero, whatever was acknowledged before."""
    backlog = Backlog()
    assert [backlog.wait_s(at_s, 0, 7) for at_s in (0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0]


def test_what_was_acknowledged_without_a_backlog_is_no_rate() -> None:
    """A broker that has acknowledged the one record it got is not slow when a thousand come at once."""
    backlog = Backlog()
    backlog.wait_s(0.0, 0, 0)
    assert backlog.wait_s(0.05, 1000, 1) == 0.0
    assert backlog.wait_s(0.1, 900, 101) == pytest.approx(900 * 0.05 / 100)
