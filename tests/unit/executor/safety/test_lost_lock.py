"""A lost lock: a stalled process continues only if no other has continued its run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters.simulated.fault_injection import CallOutcome, FaultyCluster
from kafkabal.errors import BusyError, NoResponseError
from kafkabal.executor.execute_run import apply, resume, roll_back
from kafkabal.executor.reopen_run import reopen_run
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_history import run_history
from kafkabal.executor.state.run_states import Goal, RunOutcome

_LONGER_THAN_A_SESSION_S = 40.0


def _do_nothing() -> None:
    pass


def _stand_still_at(scene: Any, method: str, number: int, meanwhile: Callable[[], object] = _do_nothing) -> None:
    """Stop the process at a call for longer than its session, and continue it."""
    first = scene.memory

    def stand_still(call: Any) -> None:
        if (call.method, call.method_number) == (method, number):
            first.stop()
            first.kafka.clock.sleep(_LONGER_THAN_A_SESSION_S)
            meanwhile()
            first.resume_process()

    scene.faulty.before.append(stand_still)


def _raise_once_later(scene: Any, method: str, after: tuple[str, int], error: Exception) -> None:
    """Let the first call of a method after another call fail."""
    errors: list[Exception] = []

    def fail(call: Any) -> None:
        if call.method == method and errors:
            raise errors.pop()
        if (call.method, call.method_number) == after:
            errors.append(error)

    scene.faulty.before.append(fail)


def _goes_on(scene: Any, action: Callable[[], Any]) -> None:
    result = action()
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    scene.assert_as_planned()


def test_stopped_process_whose_run_another_has_ended(scene: Any) -> None:
    """A process that wakes up when everything is done says so (75), and does not close a run that is no longer its
    own."""
    other, known = scene.memory.connect("other"), []

    def recorded() -> Any:
        found = find_run(scene.environment(other, host="three"))
        return found and (found.record, found.state)

    def end_it() -> None:
        resume(scene.environment(other, host="two"))
        known.append(recorded())

    _stand_still_at(scene, "broker_ids", 4, end_it)
    with pytest.raises(BusyError, match="lost the lock"):
        apply(scene.environment(), scene.plan, scene.options)
    assert known == [recorded()]
    scene.assert_as_planned()


def test_stopped_process_whose_run_another_has_touched(scene: Any) -> None:
    """It is enough that another process opened the run, even if it died before its first request."""
    other = scene.memory.connect("other")

    def open_and_die() -> None:
        reopen_run(scene.environment(other, host="two")).store.close()
        other.stop()
        other.kafka.clock.sleep(_LONGER_THAN_A_SESSION_S)

    _stand_still_at(scene, "broker_ids", 4, open_and_die)
    with pytest.raises(BusyError, match="was resumed by another process"):
        apply(scene.environment(), scene.plan, scene.options)
    # its moves are still in flight, for the next process to finish
    assert _recorded_state(scene, scene.memory.connect("another")).pending == []


def test_stopped_process_that_was_about_to_begin(scene: Any) -> None:
    """A process that stalls before it has written anything does not displace another's run."""
    other, known = scene.memory.connect("other"), []

    def record() -> Any:
        return find_run(scene.environment(other, host="three")).record  # type: ignore[union-attr]

    def do_the_same() -> None:
        apply(scene.environment(other, host="two"), scene.plan, scene.options)
        known.append(record())

    _stand_still_at(scene, "configs", 1, do_the_same)
    assert apply(scene.environment(), scene.plan, scene.options) is None
    assert known == [record()]
    scene.assert_as_planned()


@pytest.mark.parametrize(
    ("method", "number"),
    [("configs", 1), ("records.put", 2), ("broker_ids", 1), ("partition_status", 4), ("records.put", 4)],
    ids=["about to begin", "amid its record", "just begun", "amid the moves", "telling of a rate"],
)
def test_stopped_process_whose_run_no_other_resumed(scene: Any, method: str, number: int) -> None:
    """A process that stalled, before its first request or later, acquires the lock again and continues."""
    _stand_still_at(scene, method, number)
    _goes_on(scene, lambda: apply(scene.environment(), scene.plan, scene.options))


_HEAD_PUT, _LAST_PUT = 4, 8
"""A run that replaces another puts its part, its state, a summary of the other and its head, and deletes four keys."""


@pytest.fixture
def later(scene: Any) -> Any:
    """The unbalanced cluster after a run that was rolled back."""
    apply(scene.environment(), scene.plan, scene.options)
    roll_back(scene.environment())
    scene.assert_as_at_start()
    scene.faulty = FaultyCluster(scene.memory)
    return scene


@pytest.mark.parametrize("answer", [None, CallOutcome.TIMEOUT, CallOutcome.RESPONSE_LOST])
@pytest.mark.parametrize("number", range(1, _LAST_PUT + 1))
def test_stopped_process_that_was_recording_its_run(later: Any, number: int, answer: CallOutcome | None) -> None:
    """Whichever write of its start a process stalled at, it applies its plan, and the previous run is kept."""
    _stand_still_at(later, "records.put", number)
    if answer is not None:
        later.faulty.fail_method("records.put", answer, number)
    _goes_on(later, lambda: apply(later.environment(), later.plan, later.options))
    kept = run_history(later.environment(later.memory.connect("another"), host="another")).runs
    assert [run.goal for run in kept] == [Goal.APPLY, Goal.ROLL_BACK]


@pytest.mark.parametrize("number", range(_HEAD_PUT + 1, _LAST_PUT + 1))
def test_stopped_process_whose_run_another_has_ended_as_it_began(later: Any, number: int) -> None:
    """If another process resumed the run that it was recording, it ends with 75, as at any later time."""
    other = later.memory.connect("other")
    _stand_still_at(later, "records.put", number, lambda: resume(later.environment(other, host="two")))
    with pytest.raises(BusyError, match="was resumed by another process"):
        apply(later.environment(), later.plan, later.options)
    later.assert_as_planned()


def _roll_back_meanwhile(scene: Any, run_states: list[Any]) -> Callable[[], None]:
    other = scene.memory.connect("other")

    def undo_it() -> None:
        roll_back(scene.environment(other, host="two"))
        run_states.append(_recorded_state(scene, other))

    return undo_it


def _recorded_state(scene: Any, memory: Any) -> Any:
    return find_run(scene.environment(memory, host="three")).state  # type: ignore[union-attr]


@pytest.mark.parametrize("number", [4, 5], ids=["of a rate", "of the end"])
def test_stopped_process_that_was_writing_when_another_rolled_its_run_back(scene: Any, number: int) -> None:
    """Its write arrives late, and neither hides that the run has been rolled back nor starts its moves again."""
    states: list[Any] = []
    undo_it = _roll_back_meanwhile(scene, states)
    _stand_still_at(scene, "records.put", number, undo_it)
    with pytest.raises(BusyError, match="was resumed by another process"):
        apply(scene.environment(), scene.plan, scene.options)
    assert states == [_recorded_state(scene, scene.memory.connect("another"))]
    assert (states[0].goal, states[0].outcome) == (Goal.ROLL_BACK, RunOutcome.COMPLETE)
    scene.assert_as_at_start()


def test_stopped_process_that_was_reopening_a_run_that_another_rolled_back(scene: Any) -> None:
    """The same holds if its late write is the one with which it reopens the run: the other has reopened it too."""
    environment, states = scene.crash_before("elect_preferred_leaders"), list[Any]()
    _stand_still_at(scene, "records.put", 1, _roll_back_meanwhile(scene, states))
    with pytest.raises(BusyError, match="was resumed by another process"):
        resume(environment)
    assert states == [_recorded_state(scene, scene.memory.connect("another"))]
    scene.assert_as_at_start()


@pytest.mark.parametrize("answer", [CallOutcome.TIMEOUT, CallOutcome.RESPONSE_LOST])
@pytest.mark.parametrize("number", [4, 5], ids=["of a rate", "of the end"])
def test_stopped_process_whose_record_was_not_acknowledged(scene: Any, number: int, answer: CallOutcome) -> None:
    """Whether or not its write reached the cluster, no other process has touched the run: it continues."""
    scene.faulty.after.append(lambda call: scene.memory.kafka.clock.sleep(0.01))
    _stand_still_at(scene, "records.put", number)
    scene.faulty.fail_method("records.put", answer, number)
    _goes_on(scene, lambda: apply(scene.environment(), scene.plan, scene.options))
    assert not find_run(scene.environment(host="another")).is_open  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("method", "after", "error"),
    [
        ("lock", ("partition_status", 4), BusyError("the coordinator still counts us in")),
        ("records.get_all", ("lock", 2), NoResponseError("it is busy")),
    ],
    ids=["its own former membership", "no answer"],
)
def test_lock_that_is_retaken_at_the_second_try(
    scene: Any, method: str, after: tuple[str, int], error: Exception
) -> None:
    """What blocks the lock just after waking up may be itself, or temporary: it retries for a while."""
    _stand_still_at(scene, "partition_status", 4)
    _raise_once_later(scene, method, after, error)
    _goes_on(scene, lambda: apply(scene.environment(), scene.plan, scene.options))


def test_stopped_process_that_went_on_with_a_run(scene: Any) -> None:
    """The same holds for a run that this process has only resumed."""

    def crash(call: Any) -> None:
        if (call.method, call.method_number) == ("broker_ids", 4):
            raise scene.Crash

    scene.faulty.before.append(crash)
    with pytest.raises(scene.Crash):
        apply(scene.environment(), scene.plan, scene.options)
    environment = scene.next_process()
    _stand_still_at(scene, "partition_status", 2)
    _goes_on(scene, lambda: resume(environment))
