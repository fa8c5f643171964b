"""Every call failing, timing out or losing its response, alone and in pairs."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kafkabal.clusters.simulated.fault_injection import WRITES, CallOutcome
from kafkabal.errors import OperationError
from kafkabal.executor.execute_run import apply, resume
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import RunOutcome as End


def _calls(make_scene: Callable[[], Any]) -> int:
    scene = make_scene()
    apply(scene.environment(), scene.plan, scene.options)
    return len(scene.faulty.calls)


def _survives(scene: Any, faults: list[tuple[int, CallOutcome]]) -> None:
    """The run ends as planned, or before it began; then it can be started again."""
    for number, outcome in faults:
        scene.faulty.fail_call(number, outcome)
    try:
        result = apply(scene.environment(), scene.plan, scene.options)
        assert result is not None
        assert result.outcome is End.COMPLETE
    except OperationError:
        scene.faulty.heal()
        if find_run(scene.environment()) is None:
            scene.assert_as_at_start()
            return
        resume(scene.environment())
    scene.assert_as_planned()


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("outcome", list(CallOutcome))
def test_any_single_call_going_wrong(make_scene: Callable[[], Any], outcome: CallOutcome, every: int) -> None:
    """Whichever call fails, the run ends as planned with every config as it was."""
    for number in range(1 + len(outcome) % every, _calls(make_scene) + 1, every):
        _survives(make_scene(), [(number, outcome)])


@pytest.mark.parametrize("pairs", [25, pytest.param(3000, marks=pytest.mark.sweep)])
def test_any_two_calls_going_wrong(make_scene: Callable[[], Any], pairs: int) -> None:
    """Two failing calls in one run, at random moments, do no more harm than one."""
    draw = random.Random(1)
    moments = [(number, outcome) for number in range(1, _calls(make_scene) + 1) for outcome in CallOutcome]
    for _ in range(pairs):
        _survives(make_scene(), draw.sample(moments, 2))


@pytest.mark.parametrize("method", sorted(WRITES - {"create_topics"}))
def test_answers_that_never_come(make_scene: Callable[[], Any], method: str) -> None:
    """If one kind of call never gets a response, the run ends in bounded time, and a resume finds nothing missing."""
    scene = make_scene()
    scene.faulty.fail_method(method, CallOutcome.RESPONSE_LOST)
    with suppress(OperationError):  # what took effect is seen at the next look, answer or not
        apply(scene.environment(), scene.plan, scene.options)
    assert scene.memory.kafka.clock.monotonic() < 3600
    scene.faulty.heal()
    if find_run(scene.environment()) is not None:
        with suppress(RunClosedError):
            resume(scene.environment())
        scene.assert_as_planned()


def test_minute_without_a_connection(make_scene: Callable[[], Any]) -> None:
    """A minute without a connection is waited out."""
    scene = make_scene()
    clock = scene.memory.kafka.clock

    def cut(call: Any) -> None:
        if 4.0 <= clock.monotonic() < 64.0:
            scene.faulty.fail_call(call.number, CallOutcome.TIMEOUT)

    scene.faulty.before.append(cut)
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert result.outcome is End.COMPLETE
    scene.assert_as_planned()
