"""Absences of a flapping broker add up, and are forgotten if it stays."""

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
    return absences.flapping(at_s + later * MINUTE_S)


def test_absences_that_follow_each_other_add_up() -> None:
    """After 20 minutes away and 10 there, a broker that is missing again for 15 was absent for 20 - 5 + 15 minutes."""
    assert after(60, 20, 10, later=15) == {4: 30 * MINUTE_S}


@pytest.mark.parametrize(("minutes", "later"), [((60,), 20.0), ((60, 20), 0.0), ((60, 20, 41), 15.0)])
def test_one_absence_or_one_long_after_another_is_none_of_a_flapping_broker(
    minutes: tuple[float, ...], later: float
) -> None:
    """A first absence does not count here, nor one that begins when the last was over for twice its time."""
    assert after(*minutes, later=later) == {}


def test_a_broker_that_stays_is_trusted_again() -> None:
    """However long it was missing, it counts as flapping for no longer than twice --dead-after once it is back."""
    assert after(60, 600, 10, 600, later=59) == {4: pytest.approx(0.5 * MINUTE_S)}
    assert after(60, 600, 10, 600, later=60) == {}


def test_a_broker_that_stays_registered_was_not_absent() -> None:
    """A broker that only cannot be reached, again and again, is not flapping."""
    assert after(60, 20, 1, 20, is_dead=False) == {}


def test_a_watch_that_is_started_again_knows_earlier_absences() -> None:
    """What was kept while a broker was back continues: its absence falls while no watch runs, and then adds up."""
    before, after_start = RepeatedAbsences(30 * MINUTE_S), RepeatedAbsences(30 * MINUTE_S)
    assert before.update([], [4], [4], 100.0)
    assert not before.update([], [4], [4], 200.0)
    assert before.update([4], [], [], 100.0 + 20 * MINUTE_S)

    kept = before.kept(100.0 + 24 * MINUTE_S)
    after_start.restore(kept, 6 * MINUTE_S, 7.0)
    after_start.update([], [4], [4], 7.0)

    assert after_start.flapping(7.0 + 15 * MINUTE_S) == {4: pytest.approx(30 * MINUTE_S)}


def test_a_broker_that_was_missing_when_the_watch_ended_was_so_only_until_then() -> None:
    """It may have been back in between, and one long absence is still the first one."""
    before, after_start = RepeatedAbsences(30 * MINUTE_S), RepeatedAbsences(30 * MINUTE_S)
    before.update([], [4], [4], 0.0)

    after_start.restore(before.kept(8 * MINUTE_S), 600 * MINUTE_S, 0.0)
    after_start.update([], [4], [4], 0.0)
    assert after_start.flapping(MINUTE_S) == {}
    after_start.update([4], [], [], 2 * MINUTE_S)
    after_start.update([], [4], [4], 4 * MINUTE_S)

    assert after_start.flapping(4 * MINUTE_S) == {4: pytest.approx(9 * MINUTE_S)}


def test_what_is_forgotten_is_not_kept() -> None:
    """A broker that has stayed for long enough takes no room in the ledger; a shorter --dead-after limits the rest."""
    absences, shorter = RepeatedAbsences(30 * MINUTE_S), RepeatedAbsences(5 * MINUTE_S)
    absences.update([], [4], [4], 0.0)
    absences.update([4], [], [], 20 * MINUTE_S)
    assert absences.kept(61 * MINUTE_S) == {}

    shorter.restore(absences.kept(20 * MINUTE_S), 0.0, 0.0)
    shorter.update([], [4], [4], 2 * MINUTE_S)

    assert shorter.flapping(2 * MINUTE_S) == {4: pytest.approx(4 * MINUTE_S)}
