"""A rollback that is stopped or dies: its copies between log dirs do not continue without their throttle."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.executor.execute_run import apply, cancel, repair_run, roll_back
from kafkabal.executor.run_options import OnInterrupt, Throttle
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.run_request import request_cancel, request_pause
from kafkabal.executor.state.run_states import RunOutcome

_SLOW = Throttle(bytes_per_s=10**7, log_dir_bytes_per_s=10**5)
"""Copies between log dirs take minutes."""


@pytest.fixture
def copying_back(scene: Any) -> Any:
    """A complete run whose rollback takes long."""
    apply(scene.environment(), scene.plan, scene.options)
    scene.options = replace(scene.options, throttle=_SLOW)
    return scene


def _die_after(scene: Any, seconds: float) -> None:
    clock = scene.memory.kafka.clock
    dies_at_s = clock.monotonic() + seconds

    def die(_call: Any) -> None:
        if clock.monotonic() >= dies_at_s:
            raise scene.Crash

    scene.faulty.before.append(die)
    with pytest.raises(scene.Crash):
        roll_back(scene.environment(), options=scene.options)
    assert scene.memory.kafka.parts.copying


def test_terminal_that_closes_during_a_rollback(copying_back: Any) -> None:
    """The copy is cancelled before its throttle is restored."""
    clock, stop = copying_back.memory.kafka.clock, StopSwitch()
    clock.at(clock.monotonic() + 3.0, lambda: stop.request(StopReason.TERMINATE))
    assert roll_back(copying_back.environment(stop=stop), options=copying_back.options).outcome is RunOutcome.STOPPED
    copying_back.assert_clean()


def test_terminal_that_closes_and_copies_that_may_finish(copying_back: Any) -> None:
    """With ``--on-interrupt finish`` the throttle stays until the copy has arrived."""
    clock, stop = copying_back.memory.kafka.clock, StopSwitch()
    clock.at(clock.monotonic() + 3.0, lambda: stop.request(StopReason.TERMINATE))
    options = replace(copying_back.options, on_interrupt=OnInterrupt.FINISH)
    assert roll_back(copying_back.environment(stop=stop), options=options).outcome is RunOutcome.STOPPED
    copying_back.assert_clean()
    assert copying_back.placement_now()["b", 0] == copying_back.placement["b", 0]


def test_cancel_of_a_rollback_that_died(copying_back: Any) -> None:
    """Another process cancels the rollback's copies, and not only the plan's."""
    _die_after(copying_back, 3.0)
    assert cancel(copying_back.next_process()).outcome is RunOutcome.STOPPED
    copying_back.assert_clean()


def test_repair_leaves_copies_their_throttle(copying_back: Any) -> None:
    """A copy between log dirs is in flight too: repair says so, and a later one restores the rest."""
    _die_after(copying_back, 3.0)
    found = repair_run(copying_back.next_process())
    assert found.outcome is RunOutcome.DETACHED
    assert "the throttle of b-0, still in flight" in found.pending
    copying_back.memory.kafka.clock.sleep(3600.0)
    assert repair_run(copying_back.environment()).pending == []
    copying_back.assert_clean()


@pytest.mark.parametrize("is_cancelled", [False, True], ids=["pause", "cancel"])
def test_a_request_to_a_process_that_has_died_stops_no_rollback(scene: Any, is_cancelled: bool) -> None:
    """It was sent to the run before the rollback: taken now, it would cancel or pause the rollback."""
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 3)
    if is_cancelled:
        request_cancel(environment)
    else:
        request_pause(environment, is_paused=True)
    assert roll_back(environment).outcome is RunOutcome.COMPLETE
    scene.assert_as_at_start()
