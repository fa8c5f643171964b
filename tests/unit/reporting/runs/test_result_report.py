"""The sentence at the end of a run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafkabal.executor import Goal, RunOutcome, RunResult
from kafkabal.reporting.runs.result_report import result_report, summary

STOPPED = RunResult(
    run_id="r",
    goal=Goal.APPLY,
    outcome=RunOutcome.STOPPED,
    stop_reason=None,
    done=0,
    deleted=0,
    total=20,
    copied_bytes=0,
    elapsed_s=1.0,
    problems={},
    skipped=0,
    pending=[],
    journal=Path("/j"),
)


@pytest.mark.parametrize(
    ("only_restores", "said"),
    [
        (True, "run r: all throttles restored"),
        (False, "run r: 0 of 20 partitions moved, 0 B copied in 1 s; all throttles restored"),
    ],
)
def test_a_repair_counts_no_moves(*, only_restores: bool, said: str) -> None:
    """A command that only restores throttles does not say that it moved 0 of 20 partitions."""
    assert summary(STOPPED, only_restores=only_restores) == said
    assert result_report(STOPPED, "rebalance repair", only_restores=only_restores).headline == said


def test_a_long_list_of_throttles_is_cut() -> None:
    """A thousand moves in flight do not make a line of a thousand names."""
    left = replace(STOPPED, pending=[f"the throttle of t-{n}, still in flight" for n in range(1000)])
    assert summary(left).endswith("the throttle of t-4, still in flight and 995 more")


def test_partitions_that_were_deleted() -> None:
    """Partitions that are neither moved nor a problem are accounted for."""
    ended = replace(STOPPED, outcome=RunOutcome.COMPLETE, done=16, deleted=4)
    assert summary(ended) == "run r: 16 of 20 partitions moved, 4 deleted with their topics, 0 B copied in 1 s"
