"""An open run: the requests that it takes, when it must stop, and what it tells of a phase."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from kafkabal.executor.begin_run import begin_run
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_events import PhaseEntered, StopRequested
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_request import RunRequest, ThrottleChange
from kafkabal.executor.state.run_states import Goal, Phase


@pytest.fixture
def context(scene: Any) -> Any:
    """A run that has just begun."""
    opened = begin_run(scene.environment(), scene.plan, scene.options)
    assert opened is not None
    scene.recorder.events.clear()
    yield opened
    opened.store.close()


def test_requests_are_taken_once(context: RunContext) -> None:
    """The latest one, unless it was taken before; a pause holds until the next one says otherwise."""
    requests: list[RunRequest | None] = [None]
    context.latest_request = lambda: requests[-1]
    assert context.take_request() is None
    requests.append(RunRequest(requested=ThrottleChange(bytes_per_s=7), is_paused=True, asked_at="1"))
    assert context.take_request() == requests[-1]
    assert context.is_paused
    context.throttling.change(context.throttling.throttle, "1")
    assert context.take_request() is None
    assert context.is_paused
    requests.append(RunRequest(asked_at="2"))
    assert context.take_request() == requests[-1]
    assert not context.is_paused


def test_a_request_to_cancel(scene: Any, context: RunContext) -> None:
    """It turns the switch and is reported; it counts as taken, and the throttle stays."""
    throttle = context.throttling.throttle
    context.latest_request = lambda: RunRequest(is_cancelled=True, is_paused=True, asked_at="1")
    assert context.take_request() is None
    assert context.stop.reason is StopReason.CANCELLED
    assert [e.reason for e in scene.recorder.of(StopRequested)] == [StopReason.CANCELLED]
    assert (context.throttling.throttle, context.state.asked_at) == (throttle, "1")
    assert context.take_request() is None
    assert len(scene.recorder.of(StopRequested)) == 1


def test_when_a_run_stops(scene: Any, context: RunContext) -> None:
    """At its limit, or when it was asked to."""
    assert not context.should_stop()
    context.ends_at_s = context.clock.monotonic() + 5.0
    scene.memory.kafka.clock.sleep(4.0)
    assert not context.should_stop()
    scene.memory.kafka.clock.sleep(1.0)
    assert context.should_stop()
    assert context.stop.reason is StopReason.MAX_RUNTIME
    assert context.elapsed_s == 5.0


@pytest.mark.parametrize("is_paused", [False, True])
def test_a_pause_until_the_window_opens(scene: Any, context: RunContext, is_paused: bool) -> None:
    """The event says when it opens, unless the pause is one on request; other phases say nothing."""
    now: datetime = context.clock.utc_now().astimezone()
    opens = now.replace(second=0, microsecond=0) + timedelta(minutes=10)
    window = f"{opens:%H:%M}-{opens + timedelta(minutes=30):%H:%M}"
    context.options = msgspec.structs.replace(context.options, window=window)
    assert context.seconds_until_window() == pytest.approx((opens - now).total_seconds())
    context.is_paused = is_paused
    context.enter(Goal.APPLY, Phase.MOVING)
    context.enter(Goal.APPLY, Phase.PAUSED)
    moving, paused = scene.recorder.of(PhaseEntered)
    assert moving == PhaseEntered(phase=Phase.MOVING)
    assert paused.phase is Phase.PAUSED
    assert paused.opens_in_s == (None if is_paused else pytest.approx((opens - now).total_seconds()))
    assert now.astimezone(UTC) == context.clock.utc_now()
    context.options = msgspec.structs.replace(context.options, window=None)
    assert context.seconds_until_window() == 0.0
