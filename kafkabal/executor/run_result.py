"""The result of a run, for the last line and the exit code."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.executor.state.run_states import Goal, RunOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of one command that worked on a run."""

    run_id: str
    goal: Goal
    outcome: RunOutcome
    stop_reason: StopReason | None
    """Why the run stopped early, if it did."""
    done: int
    """Partitions in place."""
    deleted: int
    """Partitions that were deleted with their topics before they were in place."""
    total: int
    copied_bytes: int
    elapsed_s: float
    problems: dict[str, str]
    """Partition to reason, for those that are not in place."""
    skipped: int
    """How many of these another tool has moved: they stay there, even if the run is resumed."""
    pending: list[str]
    """Throttles of ours that are still on the cluster."""
    journal: Path

    @property
    def is_worth_resuming(self) -> bool:
        """Whether a resume may do what is left; it skips again whatever another tool has moved."""
        return bool(self.pending) or self.stop_reason is not None or len(self.problems) > self.skipped

    @property
    def is_complete(self) -> bool:
        """Whether everything was done and nothing is left behind."""
        return self.outcome is RunOutcome.COMPLETE and not self.pending and self.stop_reason is None
