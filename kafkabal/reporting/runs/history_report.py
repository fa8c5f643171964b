"""The report of ``rebalance history``."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.executor import Goal, RunOutcome, RunSummary
from kafkabal.reporting.report import Column, Report, Table, ValueKind
from kafkabal.units import format_duration
from kafkabal.wording import counted_noun

_UNKNOWN_END = "open"
_DONE = {Goal.APPLY: "completed", Goal.ROLL_BACK: "rolled back", Goal.CANCEL: "cancelled"}


def history_report(runs: Sequence[RunSummary], last_s: float | None = None) -> Report:
    """One row per run, latest first.

    Parameters
    ----------
    last_s
        Seconds; only runs that began within them were asked for.
    """
    number = counted_noun(len(runs), "run") if runs else "no runs"
    when = "" if last_s is None else f" began in the last {format_duration(last_s)}"
    return Report(
        command="rebalance history",
        headline=f"{number}{when}",
        tables=(
            Table(
                key="runs",
                columns=(
                    Column(key="run_id", title="run", values=[run.run_id for run in runs], label=True, whole=True),
                    Column(
                        key="started_at",
                        title="started",
                        kind=ValueKind.TIME,
                        values=[run.started_at for run in runs],
                        dispensable=1,
                    ),
                    Column(key="last_at", title="", values=[run.last_at for run in runs]),
                    Column(key="user", title="", values=[run.user or None for run in runs]),
                    Column(key="host", title="", values=[run.host for run in runs]),
                    Column(key="who", title="who", values=[_who(run) for run in runs], for_people=True, dispensable=5),
                    Column(
                        key="reason", title="why", values=[run.why or None for run in runs], wraps=True, dispensable=4
                    ),
                    Column(key="goal", title="", values=[run.goal.value for run in runs]),
                    Column(key="phase", title="", values=[run.phase.value for run in runs]),
                    Column(
                        key="outcome", title="", values=[run.outcome.value if run.outcome else None for run in runs]
                    ),
                    Column(key="end", title="outcome", values=[_end(run) for run in runs], for_people=True),
                    Column(
                        key="partitions",
                        title="partitions",
                        kind=ValueKind.NUMBER,
                        values=[run.partitions for run in runs],
                        dispensable=3,
                    ),
                    Column(
                        key="planned_bytes",
                        title="planned",
                        kind=ValueKind.BYTES,
                        values=[run.planned_bytes for run in runs],
                        dispensable=2,
                    ),
                    Column(key="plan_id", title="", values=[run.plan_id for run in runs]),
                ),
            ),
        ),
    )


def _who(run: RunSummary) -> str:
    return f"{run.user}@{run.host}" if run.user else run.host


def _end(run: RunSummary) -> str:
    """``completed``, ``rolled back``, ``cancelled``, ``roll-back: partial``: the outcome, and any goal but to apply."""
    # a cancel moves nothing to a target, so that it ends its run as stopped
    if run.outcome is RunOutcome.COMPLETE or (run.goal is Goal.CANCEL and run.outcome is RunOutcome.STOPPED):
        return _DONE[run.goal]
    outcome = run.outcome.value if run.outcome else _UNKNOWN_END
    return outcome if run.goal is Goal.APPLY else f"{run.goal.value}: {outcome}"
