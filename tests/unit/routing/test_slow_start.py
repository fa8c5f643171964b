"""Which brokers are held back, by what they acknowledge."""

from __future__ import annotations

import numpy as np

from kafkabal.model import Bools
from kafkabal.routing.slow_start import SlowStart

LEADER = np.array([0, 1, 2, 3, 0, 1, 2, 3], np.int32)
KIB = 1024.0


class Clock:
    """A clock that advances only on request."""

    now = 0.0

    def __call__(self) -> float:
        """The time."""
        return self.now


def held_after(at_s: float, sent: list[float], settled: list[float]) -> Bools:
    """Brokers that are held back after one look, from KiB by broker."""
    clock = Clock()
    slow_start = SlowStart(clock)
    clock.now = at_s
    of_partition = (np.array([*column, *column]) * KIB / 2 for column in (sent, settled))
    held: Bools = slow_start.held_back(*of_partition, LEADER)[:4]
    return held


def test_a_broker_that_acknowledges_nothing_is_held_back_once_others_do() -> None:
    """A slow broker is held back from the first acknowledgements of the others on, no broker earlier."""
    assert not held_after(0.03, [1000] * 4, [0] * 4).any()
    assert held_after(0.03, [1000] * 4, [200, 200, 200, 0]).tolist() == [False, False, False, True]


def test_equal_brokers_are_not_held_back() -> None:
    """Brokers with some more or less in flight get on; so does any broker with little or a wait too short to matter."""
    assert not held_after(0.2, [1000, 1200, 900, 1000], [400, 500, 500, 300]).any()
    assert not held_after(0.2, [1000, 1000, 1000, 60], [999, 999, 999, 0]).any()
    assert not held_after(0.01, [1000, 1000, 1000, 1000], [900, 900, 900, 700]).any()


def test_a_broker_gets_on_once_it_has_acknowledged() -> None:
    """A broker is held back only until its backlog is as short as the others', and old acknowledgements fade."""
    clock = Clock()
    slow_start = SlowStart(clock)
    sent = np.full(8, 500 * KIB)
    clock.now = 0.1
    slow = np.array([400.0, 400, 400, 0, 400, 400, 400, 0]) * KIB
    assert slow_start.held_back(sent, slow, LEADER).tolist() == [False, False, False, True] * 2
    assert slow_start.mean_acknowledged_bytes == 600 * KIB
    clock.now = 1.1
    assert not slow_start.held_back(sent, np.full(8, 480 * KIB), LEADER).any()
    clock.now = 9.1
    assert not slow_start.held_back(sent, np.full(8, 500 * KIB), LEADER).any()
    assert 40 * KIB < slow_start.mean_acknowledged_bytes < 41 * KIB


def test_new_partitions_and_partitions_without_leader_count_for_nobody() -> None:
    """A topic may grow, and a partition may have no leader."""
    clock = Clock()
    slow_start = SlowStart(clock)
    slow_start.held_back(np.zeros(4), np.zeros(4), np.array([0, 1, 2, 3], np.int32))
    clock.now = 0.1
    leader = np.array([0, 1, 2, 3, -1], np.int32)
    sent, settled = np.array([500.0, 500, 500, 500, 0]), np.array([400.0, 400, 400, 0, 0])
    held = slow_start.held_back(sent * KIB, settled * KIB, leader)
    assert held.tolist() == [False, False, False, True, False]
