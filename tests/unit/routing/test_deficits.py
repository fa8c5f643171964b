"""What equally fast brokers lack is made up for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from kafkabal.model import F64
from kafkabal.routing.deficits import Deficits

LEADER = np.array([0, 1, 2, 3, 0, 1, 2, 3], np.int32)
EVEN = np.full(8, 1 / 8)
ALL = np.ones(8, np.bool_)


class Clock:
    """A clock that advances only on request."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def by_broker(of_partition: F64) -> Sequence[float]:
    """Sums by broker."""
    return [float(s) for s in np.bincount(LEADER, of_partition)]


def after(*sent: float, clock: Clock | None = None) -> Deficits:
    """Once so much was sent to each broker."""
    deficits = Deficits(clock or Clock())
    deficits.count(np.array([*sent, *sent]) / 2)
    return deficits


def test_who_got_less_gets_more_next() -> None:
    """One percent less than the mean gives 1.2 times the weight, much less 1.5 times, much more two thirds."""
    made_up = by_broker(after(99, 101, 100, 100).made_up_for(EVEN, EVEN, LEADER, ALL))
    assert made_up == pytest.approx([0.3, 0.2, 0.25, 0.25])
    made_up = by_broker(after(0, 200, 100, 100).made_up_for(EVEN, EVEN, LEADER, ALL))
    assert made_up[0] / made_up[2] == pytest.approx(1.5)
    assert made_up[1] / made_up[2] == pytest.approx(2 / 3)
    assert sum(made_up) == pytest.approx(1)


def test_slow_brokers_keep_their_weights() -> None:
    """Whatever a slow broker lacks; the others make up for their deficits among each other."""
    weights = np.array([0.01, 0.16, 0.165, 0.165] * 2)
    made_up = by_broker(after(0, 80, 120, 100).made_up_for(weights, EVEN, LEADER, LEADER > 0))
    assert made_up[0] == pytest.approx(0.02)
    assert sum(made_up) == pytest.approx(1)
    assert made_up[1] > made_up[3] > made_up[2]


def test_weights_stay_where_nothing_is_lacking() -> None:
    """Nothing was sent yet, all got the same, or no broker is fast."""
    for deficits, is_fast in ((after(0, 0, 0, 0), ALL), (after(9, 9, 9, 9), ALL), (after(0, 9, 9, 9), ~ALL)):
        assert deficits.made_up_for(EVEN, EVEN, LEADER, is_fast).tolist() == EVEN.tolist()


def test_old_deficits_are_forgotten() -> None:
    """A broker that was slow for long does not get most of the traffic for as long after it has recovered."""
    clock = Clock()
    deficits = after(0, 1000, 1000, 1000, clock=clock)
    clock.now = 100.0
    deficits.count(np.array([500.0, 1000, 1000, 1000] * 2))  # 1000 more for each
    made_up = by_broker(deficits.made_up_for(EVEN, EVEN, LEADER, ALL))
    assert made_up == pytest.approx([0.25] * 4, rel=0.01)


def test_weights_are_due_again_after_half_of_the_horizon() -> None:
    """A fortieth of what counts was sent since: no earlier, since weights take time to compute, and not much later, or
    brokers would get too much."""
    deficits = after(250, 250, 250, 250)
    deficits.made_up_for(EVEN, EVEN, LEADER, ALL)
    assert not deficits.is_due
    deficits.count(np.full(8, 125 + 3.0))
    assert not deficits.is_due
    deficits.count(np.full(8, 125 + 3.5))
    assert deficits.is_due


def test_new_partitions_and_partitions_without_leader_count_for_nobody() -> None:
    """A topic may grow, and a partition may have no leader."""
    deficits = after(0, 100, 100, 100)
    leader = np.array([*LEADER, 0, -1], np.int32)
    weights = np.array([*np.full(9, 1 / 9), 0.0])
    made_up = deficits.made_up_for(weights, weights, leader, leader >= 0)
    assert made_up[8] > made_up[1]
    assert made_up[9] == 0
    assert made_up.sum() == pytest.approx(1)
