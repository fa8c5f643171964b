"""A broker that crashes again and again, and never stays away for ``--dead-after``."""

from __future__ import annotations

from pathlib import Path

from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import HealKind
from kafkabal.watch.simulation.simulated_months import simulate
from kafkabal.watch.simulation.simulation_case import BrokerFault, GrowthTrend, SimulationCase
from kafkabal.watch.simulation.simulation_result import SimulationResult
from kafkabal.watch.watch_events import EventKind

MINUTE_S = 60.0
STATE = cluster(brokers(4), [topic("t", *((b % 4 + 1, (b + 1) % 4 + 1) for b in range(16)), size_bytes=10 * GB)])


def crash_loop(folder: Path, *, away: float, there: float, times: int) -> SimulationResult:
    """Three days in which broker 4 crashes so many times from the first day on; minutes."""
    begins = (DAY_S + n * (away + there) * MINUTE_S for n in range(times))
    faults = tuple(BrokerFault(broker=4, at_s=at_s, for_s=away * MINUTE_S) for at_s in begins)
    return simulate(STATE, SimulationCase(growth=GrowthTrend(noise=0.3), faults=faults, throttle=None), 3.0, folder)


def copies(result: SimulationResult) -> list[tuple[HealKind, int]]:
    """What copied anything, and in which minute after the first crash it began."""
    return [(h.kind, round((h.at_s - DAY_S) / MINUTE_S)) for h in result.healings if h.moved_bytes]


def test_a_broker_in_a_crash_loop_is_repaired_once_and_filled_when_it_stays(tmp_path: Path) -> None:
    """Of each 30 minutes it is away for 25: it is repaired in its second absence, and filled an hour after its last."""
    result = crash_loop(tmp_path, away=25, there=5, times=12)

    (repair, repaired_at), (fill, filled_at) = copies(result)
    assert (repair, fill) == (HealKind.REPAIR, HealKind.FILL)
    assert 30 < repaired_at < 55
    assert 11 * 30 + 25 + 55 < filled_at < 11 * 30 + 25 + 75
    said = [e.message for e in result.events if e.broker == 4 and e.event is EventKind.BROKER_DEAD]
    assert ["it is flapping" in message for message in said] == [False] + 11 * [True]
    held = [e.message for e in result.events if e.event is EventKind.HELD_BACK]
    assert "fill held back: broker 4 is flapping" in held
    assert result.moved_twice == 0


def test_a_broker_that_crashes_after_each_repair_is_not_filled_again_and_again(tmp_path: Path) -> None:
    """Of each 70 minutes it is away for 40: the first return is trusted, no later one until it stays."""
    result = crash_loop(tmp_path, away=40, there=30, times=10)

    assert [kind for kind, _ in copies(result)] == [HealKind.REPAIR, HealKind.FILL, HealKind.REPAIR, HealKind.FILL]


def test_restarts_now_and_then_are_no_crash_loop(tmp_path: Path) -> None:
    """A broker that is restarted for 12 minutes every hour, six times, keeps its replicas."""
    assert copies(crash_loop(tmp_path, away=12, there=48, times=6)) == []
