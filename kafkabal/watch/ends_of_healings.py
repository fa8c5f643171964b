"""How healings that have ended are recorded in the ledger: this watch's own, and those that a killed watch left."""

from __future__ import annotations

import math
from datetime import datetime
from typing import Final

from kafkabal.executor import FoundRun, Goal, RunOutcome
from kafkabal.model import ClusterState, TopicPartition
from kafkabal.plan import partition_rows
from kafkabal.watch.decide_healing import HealKind
from kafkabal.watch.heal import HealResult
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger

_LONGEST_LAG_S: Final = 60.0
"""Brokers learn of a completed move within seconds: until then one may show the former placement."""


def never_began(result: HealResult) -> bool:
    """Whether a healing has changed nothing, because another run was active."""
    return result.is_busy and not result.may_have_moved_more


def with_result(
    ledger: HealingLedger, result: HealResult, at_s: float, *, has_failed: bool, is_cancelled: bool
) -> HealingLedger:
    """The ledger with the result of a healing of this watch.

    Parameters
    ----------
    at_s
        Seconds since the epoch.
    is_cancelled
        Whether an operator has cancelled it.
    """
    kind, entry = result.healing.kind, ledger.entry_of(result.plan_id)
    moved_bytes = None if result.may_have_moved_more else result.moved_bytes
    if entry is not None and not result.is_busy:
        ledger = ledger.with_end(
            entry,
            at_s=at_s,
            moved_bytes=moved_bytes,
            succeeded=not has_failed,
            was_cancelled=is_cancelled,
            is_complete=not (result.problem or result.was_stopped),
        )
    elif never_began(result):
        ledger = ledger.without_latest(result.plan_id)
    if kind is HealKind.RESUME and not result.is_busy and (has_failed or ledger.has_failed(kind)):
        ledger = ledger.with_entry(HealingEntry(at_s=at_s, kind=kind, moved_bytes=0, succeeded=not has_failed))
    if kind is HealKind.PROMOTE and not (result.problem or result.was_stopped):
        ledger = ledger.without_demotion(result.healing.brokers)
    elif entry is not None and result.done:
        # even if it was stopped, failed in part, or an earlier process began it
        ledger = ledger.with_demotion_by(entry)
    if kind is HealKind.DEMOTE:
        ledger = ledger.without_demotion(result.healing.brokers - ledger.demoted.keys())
    return ledger


def with_ends_of_runs(ledger: HealingLedger, latest: FoundRun | None, at_s: float) -> HealingLedger:
    """The ledger without healings that never began, with ends of the others; the latest run of the cluster has ended.

    Parameters
    ----------
    at_s
        Seconds since the epoch.
    """
    plan_id, began_at_s = "", -math.inf
    if latest is not None:
        plan_id, began_at_s = latest.record.plan_id, datetime.fromisoformat(latest.record.started_at).timestamp()
    ledger = ledger.without_never_begun(plan_id, began_at_s)
    for hidden in ledger.hidden_by(plan_id):
        # its run, if it began, had ended when the latest one began; what it has done is unknown
        ended_at_s = min(began_at_s, at_s)
        ledger = ledger.with_end(hidden, at_s=ended_at_s, moved_bytes=None, succeeded=False)
        ledger = ledger.with_demotion_by(hidden)
    entry = ledger.entry_of(plan_id)
    if latest is not None and latest.state.has_begun and entry is not None and entry.ended_at_s is None:
        is_rolled_back = latest.state.goal is Goal.ROLL_BACK
        ledger = ledger.with_end(
            entry,
            at_s=at_s,
            moved_bytes=None,
            succeeded=latest.state.outcome is RunOutcome.COMPLETE and not is_rolled_back,
            was_cancelled=latest.state.outcome is RunOutcome.STOPPED or is_rolled_back,
            is_complete=latest.state.outcome is RunOutcome.COMPLETE and not is_rolled_back,
        ).with_demotion_by(entry)
    return ledger.without_demotion(ledger.usual_s.keys() - ledger.demoted.keys())


def rolled_back(ledger: HealingLedger, latest: FoundRun | None) -> HealingEntry | None:
    """The healing that has succeeded, and whose run, the latest of the cluster, an operator has rolled back since."""
    if latest is None or latest.state.goal is not Goal.ROLL_BACK:
        return None
    entry = ledger.entry_of(latest.record.plan_id)
    return entry if entry is not None and entry.succeeded else None


def moved_back(ledger: HealingLedger, state: ClusterState, at_s: float) -> HealingEntry | None:
    """The latest completed healing of the day of which most partitions are where they were before.

    A watch moves nothing back within a day, but a run that has followed hides a rollback, and other tools leave no run.
    What a later healing has moved on, such as a repair, does not count.
    """
    moved_later: set[TopicPartition] = set()
    for entry in reversed(ledger.since(at_s)):
        if entry.plan is None:
            continue
        before = {
            change.name: frozenset(change.previous.replicas)
            for change in entry.plan.partitions
            if change.previous is not None and change.to_add and change.name not in moved_later
        }
        held = [frozenset(state.replicas_of(row)) == before[name] for name, row in partition_rows(state, before)]
        has_shown = at_s - entry.last_s >= _LONGEST_LAG_S
        if has_shown and entry.is_complete and entry.succeeded and sum(held) * 2 > len(held):
            return entry
        moved_later.update(change.name for change in entry.plan.partitions)
    return None
