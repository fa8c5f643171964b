"""What a run reports to people: only what is true."""

from __future__ import annotations

from typing import Any

import pytest

from kafkabal.executor import (
    Event,
    Goal,
    PartitionFailed,
    PartitionPostponed,
    Phase,
    PhaseEntered,
    Started,
    StopReason,
    StopRequested,
    ThrottleChanged,
    Trouble,
)
from kafkabal.executor.run_events import Submitted
from kafkabal.executor.state.journal_records import EffectKind
from kafkabal.reporting.runs.progress_messages import ProgressMessages


def _said(*events: Event) -> list[str]:
    said: list[str] = []

    def no_display(what: str, total: int) -> Any:
        raise AssertionError

    messages = ProgressMessages(said.append, said.append, no_display)
    for event in events:
        messages.on_event(event)
    return said


def _started(**facts: Any) -> Started:
    given = {
        "partitions": 2,
        "copy_bytes": 2**30,
        "log_dir_bytes": 0,
        "throttle_bytes_per_s": 50_000_000,
        "log_dir_throttle_bytes_per_s": 100_000_000,
        "predicted_s": None,
        "goal": Goal.APPLY,
        **facts,
    }
    return Started(
        run_id="r",
        lock_scope="this cluster",
        has_cluster_record=True,
        **given,
    )


def _phases(*phases: Phase) -> list[PhaseEntered]:
    return [PhaseEntered(phase=phase) for phase in phases]


def test_outside_its_window_a_run_reports_when_it_continues() -> None:
    """Nothing is in flight and no throttle is set yet, so neither is mentioned."""
    closed = PhaseEntered(phase=Phase.PAUSED, opens_in_s=7 * 3600 + 120)
    said = _said(_started(), *_phases(Phase.MOVING, Phase.CANCELLING, Phase.RESTORING), closed)
    assert said[1:] == ["outside the time window: paused, continues in 7 h 2 min"]


def test_a_run_that_has_sent_requests_reports_its_cleanup() -> None:
    """The end of a window, or a request, finds moves in flight and throttles."""
    sent = Submitted(effect=1, kind=EffectKind.REASSIGN, items=2, failed=0)
    said = _said(_started(), sent, *_phases(Phase.CANCELLING, Phase.RESTORING, Phase.PAUSED))
    assert said[1:] == [
        "waiting until no reassignment is in flight",
        "restoring throttles",
        "paused; continue with 'kafkabal rebalance resume'",
    ]


@pytest.mark.parametrize(("predicted_s", "reported"), [(None, False), (0.07, False), (90.0, True)])
def test_a_prediction_of_less_than_the_rest_of_a_run_is_not_reported(predicted_s: float | None, reported: bool) -> None:
    """A run of a few bytes takes seconds all the same."""
    (line,) = _said(_started(predicted_s=predicted_s))
    assert ("about" in line) is reported


def test_a_run_within_brokers_reports_the_throttle_of_log_dirs() -> None:
    """Copies between log dirs do not use the rate between brokers."""
    (line,) = _said(_started(copy_bytes=0, log_dir_bytes=2**20))
    assert "1.00 MiB between log dirs, at 100 MB/s per broker" in line


def test_a_cancellation_announces_no_copies() -> None:
    """What its plan would have copied, and how long, is not said of a run that copies nothing more."""
    said = _said(_started(goal=Goal.CANCEL, predicted_s=90.0))
    assert said == ["run r: cancelling its reassignments in flight; lock: this cluster"]


def test_a_run_with_nothing_left_to_move() -> None:
    """Neither bytes nor a throttle are announced, as of a resume that only elects leaders or restores throttles."""
    assert _said(_started(partitions=0, copy_bytes=0)) == ["run r: nothing to move; lock: this cluster"]


def test_partitions_held_up_for_one_reason_are_one_line() -> None:
    """A broker that dies holds up thousands at once: the first few are named before whatever is said next."""
    names = [f"t-{number}" for number in range(1208)]
    events = [PartitionPostponed(partition=name, reason="broker 3 is dead") for name in names]
    other = PartitionPostponed(partition="u-0", reason="broker 4 is dead")
    failed = [PartitionFailed(partition=name, reason="topic deleted") for name in names[:2]]
    said = _said(*events[:3], other, *events[3:], *failed, *_phases(Phase.ELECTING), events[0])
    assert said == [
        "t-0, t-1, t-2, t-3, t-4 and 1,203 more wait: broker 3 is dead",
        "u-0 waits: broker 4 is dead",
        "t-0, t-1: topic deleted",
        "electing preferred leaders",
    ]


def test_the_end_of_a_run_holds_nothing_back() -> None:
    """What failed last is written when the display closes, though no other event follows."""
    said: list[str] = []
    messages = ProgressMessages(said.append, said.append, lambda *_: pytest.fail("no progress to display"))
    messages.on_event(PartitionFailed(partition="t-0", reason="topic deleted"))
    messages.close()
    assert said == ["t-0: topic deleted"]


def test_a_throttle_is_reported_as_it_was_written() -> None:
    """A rate is shown in the units that express it exactly: 50 MB/s in decimal ones, 20 MiB/s in binary ones."""
    changed = ThrottleChanged(bytes_per_s=20 * 2**20, reason="as requested")
    assert "at 50 MB/s per broker" in _said(_started())[0]
    assert _said(changed) == ["throttle: 20.0 MiB/s, as requested"]


def test_a_wait_of_many_attempts_is_one_line() -> None:
    """It says what is waited for and how long at most; another reason, and another wait, are new lines."""
    waits = [("gone", 0.0), ("gone", 1.0), ("gone", 3.0), ("refused", 7.0), ("refused", 0.0)]
    said = _said(*(Trouble(error=error, since_s=s, next_try_s=1.0, give_up_s=300.0) for error, s in waits))
    assert said == [f"{error}; retrying for up to 5 min" for error in ("gone", "refused", "refused")]


@pytest.mark.parametrize(
    ("reason", "line"),
    [
        (StopReason.INTERRUPT, "press Ctrl-C again to abort and leave reassignments and throttles in place"),
        (StopReason.TERMINATE, "a second SIGTERM aborts and leaves reassignments and throttles in place"),
    ],
)
def test_a_stop_names_the_signal_that_aborts(reason: StopReason, line: str) -> None:
    """A service that was terminated has no terminal to press Ctrl-C in."""
    assert _said(StopRequested(reason=reason)) == [f"stopping gracefully; {line}"]
