"""The end of a run: one sentence for people and cron mails, and all details for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kafkabal.executor import Goal, RunOutcome, RunResult
from kafkabal.reporting.plan_moves import FIRST_MOVES
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.units import format_bytes, format_duration
from kafkabal.wording import counted_noun, first_of

STAYS_WITH_OTHER_TOOL: Final = "what another tool has moved stays there: make a new plan to move it"
"""The hint if a resume would do nothing more."""
_DONE = {Goal.APPLY: "moved", Goal.ROLL_BACK: "rolled back", Goal.CANCEL: "cancelled"}


@dataclass(frozen=True, slots=True)
class OtherThrottles:
    """Throttles besides those of a run, as ``rebalance repair`` found them."""

    left: Sequence[str] = ()
    """Throttles of unknown origin that are still set."""
    unread: Sequence[str] | None = None
    """Where there may be more, each with the reason why it cannot be read; None if the command did not look."""


def summary(result: RunResult, *, only_restores: bool = False) -> str:
    """One sentence about what was done, and what was not.

    Parameters
    ----------
    only_restores
        The command restored throttles, and was not to move anything.
    """
    parts = [] if only_restores else [_done(result)]
    if result.outcome is RunOutcome.DETACHED:
        parts.append("reassignments in flight continue under their throttle")
    if result.pending:
        parts.append(f"still set: {first_of(result.pending)}")
    elif only_restores or result.outcome is not RunOutcome.COMPLETE:
        parts.append("all throttles restored")
    return f"run {result.run_id}: {'; '.join(parts)}"


def _done(result: RunResult) -> str:
    if result.goal is Goal.CANCEL:
        left = len(result.problems)
        return f"{left:,} of its reassignments cannot be cancelled" if left else "all its reassignments are cancelled"
    deleted = f", {result.deleted:,} deleted with their topics" if result.deleted else ""
    return (
        f"{result.done:,} of {counted_noun(result.total, 'partition')} {_DONE[result.goal]}{deleted}, "
        f"{format_bytes(result.copied_bytes)} copied in {format_duration(result.elapsed_s)}"
    )


def nothing_report(
    command: str,
    headline: str = "nothing to do",
    *,
    goal: Goal = Goal.APPLY,
    pending: Sequence[str] = (),
    others: OtherThrottles | None = None,
) -> Report:
    """The report for programs if the command worked on no run: the same keys, without a run.

    Parameters
    ----------
    pending
        Throttles of an earlier run that are still set.
    others
        Throttles of unknown origin, if the command looked for them.
    """
    return Report(
        command=command,
        headline=headline,
        tone=Tone.WARNING if pending or (others is not None and (others.left or others.unread)) else Tone.GOOD,
        facts=(
            Fact(key="run_id", value=None),
            Fact(key="goal", value=goal.value),
            Fact(key="outcome", value=RunOutcome.COMPLETE.value),
            Fact(key="stop_reason", value=None),
            Fact(key="done_partitions", value=0),
            Fact(key="planned_partitions", value=0),
            Fact(key="copied_bytes", value=0, kind=ValueKind.BYTES),
            Fact(key="elapsed_s", value=0.0, kind=ValueKind.DURATION),
            *_throttle_facts(pending, others),
            Fact(key="journal", value=None),
        ),
        tables=(problems_table({}),),
    )


def result_report(
    result: RunResult, command: str, *, only_restores: bool = False, others: OtherThrottles | None = None
) -> Report:
    """The report of a finished run.

    Parameters
    ----------
    others
        Throttles besides those of the run, if the command looked for them.
    """
    return Report(
        command=command,
        headline=summary(result, only_restores=only_restores),
        tone=Tone.GOOD if result.outcome is RunOutcome.COMPLETE and not result.pending else Tone.WARNING,
        facts=(
            Fact(key="run_id", value=result.run_id),
            Fact(key="goal", value=result.goal.value),
            Fact(key="outcome", value=result.outcome.value),
            Fact(key="stop_reason", value=result.stop_reason.value if result.stop_reason else None),
            Fact(key="done_partitions", value=result.done),
            Fact(key="planned_partitions", value=result.total),
            Fact(key="copied_bytes", value=result.copied_bytes, kind=ValueKind.BYTES),
            Fact(key="elapsed_s", value=result.elapsed_s, kind=ValueKind.DURATION),
            *_throttle_facts(result.pending, others),
            Fact(key="journal", value=str(result.journal)),
        ),
        tables=(problems_table(result.problems),),
    )


def _throttle_facts(pending: Sequence[str], others: OtherThrottles | None) -> tuple[Fact, ...]:
    if others is None:
        return (Fact(key="left_throttles", value=list(pending)),)
    return (
        Fact(key="left_throttles", value=[*pending, *others.left]),
        Fact(key="unread_throttles", value=None if others.unread is None else list(others.unread)),
    )


def problems_table(problems: Mapping[str, str]) -> Table:
    """Partitions that are not as planned, with the reasons."""
    return Table(
        key="problems",
        title="not as planned",
        shown_rows=FIRST_MOVES,
        columns=(
            Column(key="partition", title="partition", values=list(problems), label=True),
            Column(key="reason", title="reason", wraps=True, values=list(problems.values())),
        ),
    )
