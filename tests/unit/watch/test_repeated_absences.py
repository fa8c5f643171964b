"""Absences of a broker that comes and goes add up, and are forgotten if it stays."""

from __future__ import annotations

import pytest

from kafkabal.watch.repeated_absences import RepeatedAbsences

MINUTE_S = 60.0


def after(*minutes: float, later: float = 0.0, is_dead: bool = True) -> dict[int, float]:
    """Seconds found after a broker was there and missing in turn for so many minutes, and a while later."""
    absences, at_s = RepeatedAbsences(30 * MINUTE_S), 0.0
    for n, lasting in enumerate(minutes):
        at_s += lasting * MINUTE_S
        missing = [4] if n % 2 == 0 else []
        absences.update({4}.difference(missing), missing, missing if is_dead else [], at_s)
    return absences.that_come_and_go(at_s + later * MINUTE_S)


def test_absences_that_follow_each_other_add_up() -> None:
    """After 20 minutes away and 10 there, a broker that is missing again for 15 was absent for 20 - 5 + 15 minutes."""
    assert after(60, 20, 10, later=15) == {4: 30 * MINUTE_S}


@pytest.mark.parametrize(("minutes", "later"), [((60,), 20.0), ((60, 20), 0.0), ((60, 20, 41), 15.0)])
def test_one_absence_or_one_long_after_another_is_none_of_a_broker_that_comes_and_goes(
    minutes: tuple[float, ...], later: float
) -> None:
    """A first absence does not count here, nor one that begins when the last was over for twice its time."""
    assert after(*minutes, later=later) == {}


def test_a_broker_that_stays_is_trusted_again() -> None:
    """However long it was missing, it comes and goes for no longer than twice --dead-after once it is back."""
    assert after(60, 600, 10, 600, later=59) == {4: pytest.approx(0.5 * MINUTE_S)}
    assert after(60, 600, 10, 600, later=60) == {}


def test_a_broker_that_stays_registered_was_not_absent() -> None:
    """A broker that only cannot be reached, again and again, does not come and go."""
    assert after(60, 20, 1, 20, is_dead=False) == {}
