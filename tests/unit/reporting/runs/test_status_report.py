"""What ``rebalance status`` says of a run that a process works on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from kafkabal.executor.live_run_status import PartitionState, RunStatus
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.reporting.runs.result_report import STAYS_WITH_OTHER_TOOL
from kafkabal.reporting.runs.status_report import progress_line, status_report
from tests.unit.executor.conftest import found_run, planned_partition


def _status(done_bytes: int, phase: Phase = Phase.MOVING, window: str | None = None) -> RunStatus:
    record = RunRecord(
        run_id="r",
        plan_id="p",
        cluster_id="c",
        started_at="2026-01-01T00:00:00+00:00",
        host="one",
        options=RunOptions(window=window),
        partitions=(),
    )
    return RunStatus(
        found=FoundRun(record, RunState(phase=phase), None),
        stages=Counter({Stage.MOVING: 2, Stage.WAITING: 3, Stage.PLACED: 5}),
        differing=(),
        throttles=("rate of broker 1",),
        unknown_throttles=(),
        foreign=0,
        holder="kafkabal on one (process 7)",
        done_bytes=done_bytes,
        total_bytes=1000,
    )


def test_a_live_run_shows_its_progress() -> None:
    """Share, rate and time left come from two observations; a single one gives no rate."""
    first, second = _status(200), _status(400)
    assert progress_line(first) == "moving, 20% of 1000 B; 2 partitions in flight, 3 waiting"
    line = progress_line(second.since(first, 2.0))
    assert line == "moving, 40% of 1000 B, 100 B/s, 6 s left; 2 partitions in flight, 3 waiting"
    report = status_report(second)
    assert report.headline.startswith("run r: moving, 40%")
    assert any("'cancel' and 'throttle RATE' reach the run from any host" in note for note in report.notes)


def test_a_run_between_log_dirs_has_no_rate() -> None:
    """Its copies are not measured, so they do not seem to stand still."""
    first, second = (replace(_status(0), total_bytes=0) for _ in range(2))
    assert progress_line(second.since(first, 2.0)) == "moving; 2 partitions in flight, 3 waiting"


def test_bytes_that_were_cancelled_give_no_negative_rate() -> None:
    """A restarted copy may have fewer bytes than at the previous observation."""
    assert _status(100).since(_status(300), 2.0).bytes_per_s == 0.0
    assert _status(100).since(_status(300), 2.0).left_s is None


def test_an_unknown_lock_holder_is_reported() -> None:
    """Before the advice to resume a run, a note says that a process may be working on it."""
    report = status_report(replace(_status(200), holder=None, why_holder_unknown="no coordinator"))
    reported = [note.startswith("unknown whether a process works on it: no coordinator") for note in report.notes]
    assert reported.index(True) < len(reported) - 1


@pytest.mark.parametrize(
    ("window", "word"),
    [
        (None, "paused: continues with 'kafkabal"),
        ("01:00-05:00", "opens (01:00-05:00), or if a command paused it, with 'kafkabal"),
    ],
)
def test_a_pause_names_its_end(window: str | None, word: str) -> None:
    """A requested pause ends by a command, one outside the window by the clock."""
    assert any(word in note for note in status_report(_status(0, Phase.PAUSED, window)).notes)


def test_a_partition_with_another_leader_is_listed_separately() -> None:
    """If its replicas are in place and only its leader is not, both headline and table say so."""
    stages = (Stage.PLACED, Stage.MISPLACED)
    differing = tuple(
        PartitionState(f"t-{number}", stage, (1, 2), (1, 2), 2, 0, 0) for number, stage in enumerate(stages)
    )
    status = replace(_status(0), holder=None, throttles=(), differing=differing, stages=Counter(stages))
    assert status_report(status).headline == "run r: 1 of 0 partitions not in place, 1 not led as planned"


def test_a_run_that_only_left_throttles_has_all_partitions_in_place() -> None:
    """Nothing that is not in place is no count of 0."""
    status = replace(_status(0), holder=None, throttles=(), stages=Counter(), unknown_throttles=("broker 4: dead",))
    assert status_report(status).headline == "run r: all partitions in place, throttles of 1 broker unknown"


def test_changes_after_a_completed_run_are_not_its_failures() -> None:
    """What others have moved since is told from what the run did not do."""
    found = replace(_status(0).found, state=RunState(phase=Phase.CLOSED, outcome=RunOutcome.COMPLETE))
    moved, led = (
        PartitionState(f"t-{number}", stage, (1, 2), (1, 2), 2, 0, 0)
        for number, stage in enumerate((Stage.MISPLACED, Stage.PLACED))
    )
    status = replace(_status(0), found=found, holder=None, stages=Counter())

    def headline(*differing: PartitionState) -> str:
        return status_report(replace(status, differing=differing)).headline

    assert headline(moved, led) == (
        "run r: completed, 1 of 0 partitions moved since, 1 led by another broker since, 1 throttle set"
    )
    assert headline(led) == "run r: completed, 1 led by another broker since, 1 throttle set"
    assert headline() == "run r: completed; all partitions in place, 1 throttle set"


@pytest.mark.parametrize(
    ("phase", "outcome", "word"),
    [(Phase.CLOSED, RunOutcome.COMPLETE, "completed, "), (Phase.MOVING, None, "")],
)
def test_replicas_on_a_broker_that_does_not_respond_have_not_moved(
    phase: Phase, outcome: RunOutcome | None, word: str
) -> None:
    """Their log dirs are unknown: the headline neither says that they moved since nor that they are not in place."""
    found = replace(_status(0).found, state=RunState(phase=phase, outcome=outcome))
    unseen = PartitionState("t-0", Stage.LOG_DIR_UNKNOWN, (1, 2), (1, 2), 1, 0, 0)
    status = replace(_status(0), found=found, holder=None, stages=Counter(), throttles=(), differing=(unseen,))
    report = status_report(status)
    assert report.headline == f"run r: {word}log dirs of 1 of 0 partitions unknown"
    stages = [column.values for table in report.tables for column in table.columns if column.key == "stage"]
    assert stages == [["log-dir-unknown"]]
    assert not any("partitions have changed" in note for note in report.notes)


def test_throttles_that_cannot_be_read_are_not_counted_as_set() -> None:
    """A dead broker may hold throttles: they are unknown, so the run is neither settled nor said to have left some."""
    unknown = ("broker 3: unreachable", "topic a: denied", "topic b: denied")
    status = replace(_status(0), holder=None, throttles=(), unknown_throttles=unknown)
    report = status_report(status)
    assert not status.is_as_planned
    assert report.headline.endswith(", throttles of 1 broker and 2 topics unknown")
    assert "throttles unknown: broker 3: unreachable" in report.notes


def test_a_completed_run_that_only_left_throttles_says_how_to_restore_them() -> None:
    """Its partitions are in place, so nothing is said of changed ones."""
    found = _status(0).found
    found = replace(found, state=RunState(phase=Phase.CLOSED, outcome=RunOutcome.COMPLETE))
    notes = status_report(replace(_status(0), found=found, holder=None)).notes
    assert notes[-1] == "the run completed; restore its throttles with 'kafkabal rebalance repair'"


@pytest.mark.parametrize(
    ("goal", "stages", "throttles", "note"),
    [
        (Goal.APPLY, (Stage.FOREIGN, Stage.WAITING), (), "continue with {resume}, or revert with {rollback}"),
        (Goal.APPLY, (Stage.FOREIGN,), ("rate of broker 1",), "continue with {resume}, or revert with {rollback}"),
        (Goal.APPLY, (Stage.FOREIGN,), (), "{stays}, or revert the rest with {rollback}"),
        (Goal.ROLL_BACK, (Stage.WAITING,), (), "continue with {resume}"),
        (Goal.ROLL_BACK, (Stage.FOREIGN,), (), "{stays}"),
    ],
)
def test_the_next_command(goal: Goal, stages: tuple[Stage, ...], throttles: tuple[str, ...], note: str) -> None:
    """A resume is proposed only if it may do something, and a rollback only of a run that is not one already."""
    differing = tuple(PartitionState(f"t-{n}", stage, (1, 2), (1, 3), 1, 0, 0) for n, stage in enumerate(stages))
    found = replace(_status(0).found, state=RunState(goal=goal, phase=Phase.CLOSED, outcome=RunOutcome.PARTIAL))
    status = replace(_status(0), found=found, holder=None, differing=differing, throttles=throttles)
    commands = {name: f"'kafkabal rebalance {name}'" for name in ("resume", "rollback")}
    assert status_report(status).notes[-1] == note.format(stays=STAYS_WITH_OTHER_TOOL, **commands)


def test_partitions_in_flight_are_listed_first() -> None:
    """Of hundreds of partitions the first few are shown: those in flight, then those that wait, then wrong leaders."""
    stages = (Stage.PLACED, Stage.WAITING, Stage.MOVING, Stage.PLACED, Stage.COPYING)
    differing = tuple(
        PartitionState(f"t-{number}", stage, (1, 2), (1, 2), 2, 0, 0) for number, stage in enumerate(stages)
    )
    (table,) = status_report(replace(_status(0), differing=differing)).tables
    assert list(table.columns[0].values) == ["t-2", "t-4", "t-1", "t-0", "t-3"]


@pytest.mark.parametrize(
    ("goal", "stages", "said"),
    [
        (Goal.APPLY, {Stage.PLACED: 3}, "completed; all partitions in place"),
        (
            Goal.APPLY,
            {Stage.PLACED: 1, Stage.GONE: 2},
            "completed; 1 of 3 partitions in place, 2 deleted with their topics",
        ),
        (Goal.CANCEL, {Stage.PLACED: 1, Stage.WAITING: 2}, "cancelled; nothing in flight"),
    ],
)
@pytest.mark.parametrize(("throttles", "rest"), [((), "no throttles left"), (("rate of broker 1",), "1 throttle set")])
@pytest.mark.parametrize("outcome", [RunOutcome.COMPLETE, RunOutcome.STOPPED])
def test_only_what_is_in_place_is_said_to_be(
    goal: Goal, stages: dict[Stage, int], said: str, throttles: tuple[str, ...], rest: str, outcome: RunOutcome
) -> None:
    """Partitions of deleted topics are not in place, nor are those whose moves were cancelled."""
    partitions = tuple(planned_partition((1, 2), (3, 2), number=n) for n in range(3))
    found = found_run(*partitions, state=RunState(goal=goal, phase=Phase.CLOSED, outcome=outcome))
    status = replace(_status(0), found=found, stages=Counter(stages), throttles=throttles, holder=None)
    # what a stopped run has left to do may be its throttles alone
    said = said.removeprefix("completed; ") if throttles and outcome is RunOutcome.STOPPED else said
    assert status_report(status).headline == f"run r: {said}, {rest}"
