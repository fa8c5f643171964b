"""How long a record waits, by what is in flight and what comes through."""

from __future__ import annotations

import pytest

from kafkabal.telemetry.backlog import Backlog


def test_a_steady_backlog_takes_its_length_over_the_rate() -> None:
    """A thousand in flight and a hundred a second: ten seconds."""
    backlog = Backlog()
    waits_s = [backlog.wait_s(at_s, 1000, 100 * at_s) for at_s in range(20)]
    assert waits_s[0] == 0.0, "nothing is known of the rate yet"
    assert waits_s[1:] == [pytest.approx(10.0)] * 19


def test_nothing_through_yet_is_less_than_one() -> None:
    """A broker that has acknowledged nothing is taken to be slower than one record in the time."""
    backlog = Backlog()
    backlog.wait_s(0.0, 0, 0)
    assert backlog.wait_s(0.5, 40, 0) == pytest.approx(20.0)
    assert Backlog().wait_s(0.0, 40, 0) == 0.0


def test_old_rates_are_forgotten() -> None:
    """When a broker becomes ten times slower, that is known after some memories."""
    backlog = Backlog(memory_s=1.0)
    for step in range(50):
        backlog.wait_s(0.1 * step, 100, 100 * step)
    slower_s = [backlog.wait_s(5 + 0.1 * step, 100, 4900 + 10 * step) for step in range(60)]
    assert slower_s[0] == pytest.approx(0.1, rel=0.2)
    assert slower_s == sorted(slower_s)
    assert slower_s[-1] == pytest.approx(1.0, rel=0.05)


def test_an_idle_broker_does_not_wait() -> None:
    """Without anything in flight nothing waits, whatever came through."""
    backlog = Backlog()
    assert [backlog.wait_s(at_s, 0, 7) for at_s in (0.0, 1.0, 2.0)] == [0.0, 0.0, 0.0]
