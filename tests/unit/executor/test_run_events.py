"""Reporters that fail or block: the run does what it would do without them."""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_events import Event, PartitionDone, RunProgress, Warned, report_in_background
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_states import Phase, RunOutcome
from kafkabal.isolated_listeners import IsolatedListener

_ERRORS = (errno.EIO, errno.EPIPE, errno.ENOSPC)


class _FailsAt:
    """Raises at one event and all later ones, like a closed stream."""

    def __init__(self, number: int, code: int) -> None:
        self.number, self.code, self.seen = number, code, 0

    def on_event(self, event: Event) -> None:
        self.seen += 1
        if self.seen >= self.number:
            raise OSError(self.code, "gone")


def _events_of_a_run(scene: Any) -> int:
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    return len(scene.recorder.events)


@pytest.mark.parametrize("code", _ERRORS)
def test_run_completes_whatever_event_the_output_fails_at(make_scene: Callable[[], Any], code: int) -> None:
    """With a writer that fails from any event on, the plan is applied and no throttle is left."""
    for number in range(1, _events_of_a_run(make_scene()) + 1):
        scene = make_scene()
        scene.recorder = _FailsAt(number, code)
        result = apply(scene.environment(), scene.plan, scene.options)
        assert result is not None
        assert result.outcome is RunOutcome.COMPLETE, number
        assert scene.recorder.seen == number, "a listener that failed is not called again"
        scene.assert_as_planned()


@pytest.mark.parametrize("code", _ERRORS)
def test_stopped_run_ends_cleanly_whatever_event_the_output_fails_at(make_scene: Callable[[], Any], code: int) -> None:
    """If asked to stop at the event at which its output fails, a run cancels by its policy and leaves nothing
    behind."""
    for number in range(1, _events_of_a_run(make_scene()) + 1):
        scene = make_scene()
        scene.recorder = failing = _FailsAt(number, code)
        environment = scene.environment()
        stop = environment.stop

        def stop_and_fail(event: Event, failing: _FailsAt = failing, stop: Any = stop) -> None:
            if failing.seen + 1 == failing.number:
                stop.request(StopReason.TERMINATE)
            _FailsAt.on_event(failing, event)

        failing.on_event = stop_and_fail  # type: ignore[method-assign]
        result = apply(environment, scene.plan, scene.options)
        assert result is not None
        assert result.pending == []
        scene.assert_clean()
        assert scene.journal().read_bytes().splitlines()[-1].startswith(b'{"record":"closed"')


@pytest.mark.parametrize("code", _ERRORS)
def test_error_of_the_cluster_is_the_one_that_is_raised(make_scene: Callable[[], Any], code: int) -> None:
    """If the cluster fails for good while the output is gone, cleaning up is the same as with an output."""
    from kafkabal.clusters.simulated.fault_injection import CallOutcome
    from kafkabal.errors import RefusedByClusterError

    scene = make_scene()
    scene.recorder = _FailsAt(1, code)
    scene.faulty.fail_method("reassignments", CallOutcome.REFUSED)
    with pytest.raises(RefusedByClusterError):
        apply(scene.environment(), scene.plan, scene.options)
    assert scene.configs_now() == scene.configs


def test_blocked_reporter_does_not_block_the_run(scene: Any) -> None:
    """A run whose reporter blocks at its first event completes, and the queue of events stays bounded."""
    free, seen = threading.Event(), []

    class Blocked:
        def on_event(self, event: Event) -> None:
            free.wait(60.0)
            seen.append(event)

    listener = report_in_background(Blocked(), capacity=5)
    scene.recorder = listener
    result = apply(scene.environment(), scene.plan, scene.options)
    assert result is not None
    assert result.outcome is RunOutcome.COMPLETE
    assert not listener.flush(0.01)
    assert not listener.close(0.01)
    free.set()
    assert listener.close(60.0)
    assert 1 <= len(seen) <= 7
    scene.assert_as_planned()


def test_skipped_events_are_counted() -> None:
    """Once a blocked reporter continues, it is told how many events it missed, not counting progress."""
    free, entered, seen = threading.Event(), threading.Event(), []

    class Blocked:
        def on_event(self, event: Event) -> None:
            entered.set()
            free.wait(60.0)
            seen.append(event)

    listener = report_in_background(Blocked(), capacity=1)
    done = PartitionDone(partition="t-0", copy_bytes=1)
    listener.on_event(done)
    assert entered.wait(60.0)
    listener.on_event(done)
    for _ in range(3):
        listener.on_event(done)
        listener.on_event(_progress())
    free.set()
    assert listener.flush(60.0)
    listener.on_event(done)
    assert listener.close(60.0)
    assert [e.message for e in seen if isinstance(e, Warned)] == ["the output was blocked: 3 events were not written"]


def test_failed_reporter_is_reported_once_and_closed() -> None:
    """A reporter's first error is passed on, later events are ignored, and its end is not called."""
    errors: list[Exception] = []
    ended: list[bool] = []
    listener = report_in_background(
        _FailsAt(2, errno.ENOSPC), on_failure=errors.append, at_end=lambda: ended.append(True)
    )
    for _ in range(5):
        listener.on_event(Warned(message="x"))
    assert listener.close(60.0)
    assert [e.errno for e in errors if isinstance(e, OSError)] == [errno.ENOSPC]
    assert ended == []


def test_exits_and_signals_pass_through() -> None:
    """A hard stop raised within a listener still ends the run at once."""
    from kafkabal.executor.safety.stop_request import HardStop

    class Stops:
        def on_event(self, event: Event) -> None:
            raise HardStop

    with pytest.raises(HardStop):
        IsolatedListener(Stops()).on_event(Warned(message="x"))


def test_phases_reach_a_healthy_reporter_in_order(scene: Any) -> None:
    """A background listener passes on every event, in order."""
    from kafkabal.executor.run_events import PhaseEntered

    recorder = scene.recorder
    listener = report_in_background(recorder)
    scene.recorder = listener
    apply(scene.environment(), scene.plan, scene.options)
    assert listener.close(60.0)
    phases = [e.phase for e in recorder.of(PhaseEntered)]
    assert phases == [Phase.RECORDED, Phase.MOVING, Phase.ELECTING, Phase.RESTORING]


def _progress() -> RunProgress:
    return RunProgress(
        done_bytes=0,
        total_bytes=0,
        done_partitions=0,
        total_partitions=0,
        in_flight=0,
        waiting=0,
        postponed=0,
        bytes_per_s=0.0,
        left_s=None,
        arriving_bytes={},
    )
