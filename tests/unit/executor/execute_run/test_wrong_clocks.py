"""Hosts whose clocks are wrong, or are set during a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import UnsafeError
from kafkabal.executor.execute_run import apply, roll_back
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import RunOutcome
from tools.model_check.crash_aftermath import leave
from tools.model_check.disturbances import NOTHING, SLEEP, Disturbance, Kind
from tools.model_check.process_life import Command, Life, Moment
from tools.model_check.world import first_world


@pytest.mark.parametrize("off_s", [-86_400.0, 86_400.0])
def test_clock_of_a_host_is_wrong(off_s: float, tmp_path: Path) -> None:
    """A run that another host has rolled back is closed on its first host too, whatever the clock there says."""
    world = first_world(1)
    world.clocks_off_s["one"] = off_s

    def die_while_moving(moment: Moment) -> Disturbance:
        is_moving = bool(world.kafka.parts.moving) and moment.method != SLEEP
        return Disturbance(Kind.CRASH) if is_moving else NOTHING

    life = Life(world, tmp_path, die_while_moving)
    leave(life, life.run(Command.APPLY, "one"))
    life = Life(world, tmp_path, lambda _: NOTHING)
    rolled_back = life.run(Command.ROLL_BACK, "two")
    assert rolled_back.result is not None
    assert rolled_back.result.outcome is RunOutcome.COMPLETE
    leave(life, rolled_back)
    assert isinstance(Life(world, tmp_path, lambda _: NOTHING).run(Command.RESUME, "one").error, RunClosedError)


class _Stepped:
    """A clock with a wrong wall time."""

    def __init__(self, clock: FakeClock, off: timedelta) -> None:
        self._off = off
        self.monotonic: Callable[[], float] = clock.monotonic
        self.sleep: Callable[[float], None] = clock.sleep
        self._now: Callable[[], datetime] = clock.utc_now

    def utc_now(self) -> datetime:
        """Wall time of this host."""
        return self._now() + self._off


@pytest.mark.parametrize(("host", "without"), [("one", ()), ("two", ()), ("one", (Capability.RECORDS,))])
def test_run_of_a_clock_that_was_ahead_hides_no_later_one(
    scene: Any, host: str, without: tuple[Capability, ...]
) -> None:
    """A closed run dated next year: one that crashed today is still found on every host, and cannot be forgotten."""
    client = scene.faulty.inner = InMemoryCluster(scene.memory.kafka, without=without)
    ahead = replace(scene.environment(), clock=_Stepped(scene.memory.kafka.clock, timedelta(days=365)))
    apply(ahead, scene.plan, scene.options)
    roll_back(ahead)
    first = find_run(ahead)
    assert first is not None
    at_call = len(scene.faulty.calls) + 40
    environment = scene.environment(host=host)

    def die(made: Any) -> None:
        if made.number == at_call:
            raise scene.Crash

    scene.faulty.before.append(die)
    with pytest.raises(scene.Crash):
        apply(environment, scene.plan, scene.options)
    client.stop()
    scene.memory.kafka.clock.sleep(31.0)
    scene.faulty.before.clear()
    scene.faulty.inner = client.connect("later")
    for looking in {"one", host}:
        found = find_run(scene.environment(host=looking))
        assert found is not None
        assert found.is_open
        assert found.record.run_id != first.record.run_id
        assert (found.journal is not None) == (looking == host)
        with pytest.raises(UnsafeError, match="is unfinished"):
            apply(scene.environment(host=looking), scene.plan, scene.options)
