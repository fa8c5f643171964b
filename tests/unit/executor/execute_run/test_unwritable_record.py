"""The run record on the cluster cannot be written for a while, since too few of its replicas are in sync."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kafkabal.errors import NoResponseError, OperationError, TemporaryRefusalError, UnreachableError
from kafkabal.executor.execute_run import apply, cancel
from kafkabal.executor.run_events import Trouble, Warned
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_request import ThrottleChange, request_throttle
from kafkabal.executor.state.run_states import RunOutcome

MB = 10**6
_WRITE_S = 45.0
"""How long a write is tried before it fails."""


_TOO_FEW = TemporaryRefusalError("cannot write to topic __kafkabal: NOT_ENOUGH_REPLICAS")


def _refuse_writes(scene: Any, since_s: float, until_s: float = float("inf"), error: OperationError = _TOO_FEW) -> None:
    """Let writes of the record fail between two times, each after as long as it is tried."""
    clock = scene.memory.kafka.clock

    def refuse(call: Any) -> None:
        if call.method == "records.put" and since_s <= clock.monotonic() < until_s:
            clock.sleep(_WRITE_S)
            raise error

    scene.faulty.before.append(refuse)


def _ask_for_another_rate(scene: Any, at_s: float) -> None:
    def ask() -> None:
        request_throttle(scene.environment(scene.memory), ThrottleChange(bytes_per_s=5 * MB))

    scene.memory.kafka.clock.at(at_s, ask)


def test_a_throttle_that_cannot_be_recorded_is_waited_for(scene: Any) -> None:
    """However often the record refuses the new rate, nothing starts without it; the run continues when it can."""
    _ask_for_another_rate(scene, 1.0)
    _refuse_writes(scene, 1.5, until_s=280.0)
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    assert {t.error for t in scene.recorder.of(Trouble)} == {_TOO_FEW.message}
    scene.assert_as_planned()


@pytest.mark.parametrize("error", [_TOO_FEW, UnreachableError("no leader"), NoResponseError("no answer")], ids=repr)
def test_a_throttle_that_can_never_be_recorded_ends_the_run(scene: Any, error: OperationError) -> None:
    """After five minutes what is in flight is cancelled and its throttle restored; the hint says how to continue."""
    _ask_for_another_rate(scene, 1.0)
    _refuse_writes(scene, 1.5, error=error)
    with pytest.raises(type(error), match=error.message) as ended:
        apply(scene.environment(), scene.plan, scene.options)
    assert "kafkabal rebalance resume" in (ended.value.hint or "")
    scene.assert_clean()


def test_a_stop_does_not_wait_for_the_record(scene: Any) -> None:
    """A signal ends the run within a few writes, with nothing in flight and every throttle restored."""
    _ask_for_another_rate(scene, 1.0)
    _refuse_writes(scene, 1.5)
    environment, clock = scene.environment(), scene.memory.kafka.clock
    clock.at(60.0, lambda: environment.stop.request(StopReason.TERMINATE))
    result = apply(environment, scene.plan, scene.options)
    assert result is not None
    assert (result.outcome, result.pending) == (RunOutcome.STOPPED, [])
    assert clock.monotonic() < 60.0 + 5 * _WRITE_S
    scene.assert_clean()


def test_a_crashed_run_is_cancelled_at_once(scene: Any) -> None:
    """The emergency stop waits for no record: it cancels and restores first, and reports what the record lacks."""
    scene.options = replace(scene.options, throttle=Throttle(bytes_per_s=MB // 10, log_dir_bytes_per_s=MB // 10))
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 2)
    assert scene.memory.kafka.catch_up().moving
    began_s = scene.memory.kafka.clock.monotonic()
    _refuse_writes(scene, 0.0)
    in_flight_until: list[float] = []
    scene.faulty.before.append(
        lambda call: (
            in_flight_until.append(scene.memory.kafka.clock.monotonic())
            if call.method == "alter_reassignments"
            else None
        )
    )
    result = cancel(environment)
    assert result.outcome is RunOutcome.STOPPED
    assert in_flight_until[0] - began_s < 3 * _WRITE_S
    assert any("cannot update the run record" in w.message for w in scene.recorder.of(Warned))
    scene.assert_clean()
