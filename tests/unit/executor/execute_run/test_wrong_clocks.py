"""Hosts whose clocks are wrong, or are set while a run is under way."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.state.run_states import RunOutcome
from tools.model_check.crash_aftermath import leave
from tools.model_check.disturbances import NOTHING, SLEEP, Disturbance, Kind
from tools.model_check.process_life import Command, Life, Moment
from tools.model_check.world import first_world


@pytest.mark.parametrize("off_s", [-86_400.0, 86_400.0])
def test_clock_of_a_host_is_wrong(off_s: float, tmp_path: Path) -> None:
    """A run that another host has rolled back is closed on its first host too, whatever the clock says there."""
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
