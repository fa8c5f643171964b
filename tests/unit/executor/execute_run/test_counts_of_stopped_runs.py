"""What a stopped run says it has done is what the cluster has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from kafkabal.clusters import Fault
from kafkabal.executor.execute_run import apply, cancel, resume
from kafkabal.executor.live_run_status import run_status
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_events import Finished, PartitionDone
from kafkabal.executor.run_options import OnInterrupt
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import Goal
from kafkabal.model import TopicPartition

_STOPS_S = [half / 2 for half in range(2, 60)]
"""Every half second: a turn takes two, so that many of them lie between the end of a copy and its observation."""


def _in_place(scene: Any) -> int:
    found = find_run(scene.environment())
    return int(run_status(scene.memory, found).stages[Stage.PLACED])


def _stopped(scene: Any, after_s: float, policy: OnInterrupt) -> RunResult:
    clock, stop = scene.memory.kafka.clock, StopSwitch()
    clock.at(clock.monotonic() + after_s, lambda: stop.request(StopReason.TERMINATE))
    options = msgspec.structs.replace(scene.options, on_interrupt=policy)
    result = apply(replace(scene.environment(), stop=stop), scene.plan, options)
    assert result is not None
    return result


@pytest.mark.parametrize("policy", [OnInterrupt.CANCEL, OnInterrupt.FINISH])
def test_copies_that_complete_during_the_stop_count(make_scene: Callable[[], Any], policy: OnInterrupt) -> None:
    """The result, the last event and the events of partitions count what is in place, whenever the run is stopped."""
    for after_s in _STOPS_S:
        scene = make_scene()
        result = _stopped(scene, after_s, policy)
        (finished,) = scene.recorder.of(Finished)
        done = {event.partition: event.copy_bytes for event in scene.recorder.of(PartitionDone)}
        in_place = _in_place(scene)
        assert (result.done, finished.done_partitions, len(done)) == (in_place,) * 3, after_s
        assert result.copied_bytes >= sum(done.values()), after_s
        assert not result.problems.keys() & done.keys(), after_s


def test_a_run_that_is_stopped_before_it_has_observed_anything(scene: Any) -> None:
    """What an earlier process of the run has moved counts, not zero."""
    _stopped(scene, 5.0, OnInterrupt.CANCEL)
    before, stop = _in_place(scene), StopSwitch()
    assert before
    stop.request(StopReason.TERMINATE)
    result = resume(replace(scene.environment(), stop=stop))
    assert (result.done, result.copied_bytes) == (before, 0)


def test_a_cancelled_run_keeps_what_it_has_moved(scene: Any) -> None:
    """The moves that had finished count as in place, whichever process cancels the rest."""
    environment = scene.crash_where(lambda call: call.method == "alter_reassignments" and call.method_number == 3)
    result = cancel(environment)
    assert result.goal is Goal.CANCEL
    assert result.done == _in_place(scene) > 0


def test_reasons_outlive_the_wait_for_copies_in_flight(scene: Any) -> None:
    """A partition that was given up before the stop is named after it, though the copies in flight were awaited."""
    refused, alter = TopicPartition("b", 1), scene.memory.alter_reassignments

    def refuse(moves: Any, **options: Any) -> Any:
        faults = {refused: Fault("POLICY_VIOLATION", "")} if moves.get(refused) else {}
        return {**alter({n: to for n, to in moves.items() if n not in faults}, **options), **faults}

    scene.memory.alter_reassignments = refuse
    result = _stopped(scene, 12.0, OnInterrupt.FINISH)
    assert list(result.problems) == [str(refused)]
