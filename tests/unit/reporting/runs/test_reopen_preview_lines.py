"""What resuming or rolling back a run is said to move."""

from __future__ import annotations

import pytest

from kafkabal.executor.observe.duration_estimate import PartitionCopies
from kafkabal.executor.reopen_preview import PreviewedMove, ReopenPreview
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.reporting.runs.reopen_preview_lines import preview_lines

_MIB = 2**20
_FOUND = FoundRun(
    RunRecord(
        run_id="r",
        plan_id="p",
        cluster_id="c",
        started_at="2026-01-01T00:00:00+00:00",
        host="one",
        options=RunOptions(),
        partitions=(),
    ),
    RunState(phase=Phase.CLOSED),
    None,
)


@pytest.mark.parametrize(
    ("move", "extent", "line"),
    [
        (
            PreviewedMove("t-0", (1, 2), (3, 2), PartitionCopies(1, {3: 7 * _MIB}, {}), {}),
            "7.00 MiB between brokers",
            "  t-0: 1,2 to 3,2, 7.00 MiB",
        ),
        (
            PreviewedMove("t-0", (2, 3), (2, 3), PartitionCopies(2, {}, {}), {}),
            "0 B between brokers",
            "  t-0: cancels its reassignment",
        ),
        (
            PreviewedMove("t-0", (2, 3), (2, 3), PartitionCopies(2, {}, {2: 5 * _MIB}), {2: "/d1"}),
            "0 B between brokers, 5.00 MiB between log dirs",
            "  t-0: to /d1 on broker 2, 5.00 MiB",
        ),
    ],
)
def test_moves_between_brokers_and_log_dirs_are_shown(move: PreviewedMove, extent: str, line: str) -> None:
    """Bytes of both are in the sum; a log dir is named where it alone changes, and a cancel where nothing moves."""
    first, second = preview_lines(_FOUND, Goal.APPLY, ReopenPreview((move,), ()))
    assert first == f"run r of 2026-01-01T00:00:00Z moves 1 of 0 partitions, {extent}"
    assert second == line


def test_a_cancel_moves_nothing() -> None:
    """Only what is in flight is counted, and no bytes."""
    move = PreviewedMove("t-0", (1, 2), (1, 2), PartitionCopies(1, {}, {}), {})
    assert list(preview_lines(_FOUND, Goal.CANCEL, ReopenPreview((move,), ()))) == [
        "run r of 2026-01-01T00:00:00Z cancels the moves of 1 of 0 partitions",
        "  t-0: cancels its reassignment",
    ]


def test_a_cancel_with_nothing_in_flight() -> None:
    """It says what is left to do, not that it cancels the moves of 0 partitions."""
    assert list(preview_lines(_FOUND, Goal.CANCEL, ReopenPreview((), ()))) == [
        "run r of 2026-01-01T00:00:00Z has no reassignment in flight: only restores its throttles"
    ]
