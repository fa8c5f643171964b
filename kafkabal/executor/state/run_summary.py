"""Summary of a run in one line: who, when, why, how much, and with what outcome."""

from __future__ import annotations

import msgspec

from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState


class RunSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a run once its record is gone."""

    run_id: str
    plan_id: str
    started_at: str
    last_at: str
    """When it was last recorded; its end if it has an outcome."""
    host: str
    user: str
    why: str
    goal: Goal
    phase: Phase
    outcome: RunOutcome | None
    """None if it has not ended."""
    partitions: int
    planned_bytes: int
    """Total bytes of all copies to other brokers."""


def summary_of(record: RunRecord, state: RunState) -> RunSummary:
    """Summarise a run from its record and state."""
    return RunSummary(
        run_id=record.run_id,
        plan_id=record.plan_id,
        started_at=record.started_at,
        last_at=state.at or record.started_at,
        host=record.host,
        user=record.user,
        why=record.why,
        goal=state.goal,
        phase=state.phase,
        outcome=state.outcome,
        partitions=len(record.partitions),
        planned_bytes=sum(p.copy_bytes * len(p.to_add) for p in record.partitions),
    )
