"""What can be done with runs: apply a plan, and resume, roll back or cancel the latest run."""

from __future__ import annotations

from pathlib import Path

from kafkabal.executor.begin_run import begin_run, reopen_run
from kafkabal.executor.execute_run import execute
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.state.run_states import Goal
from kafkabal.plan.plan import Plan


def apply(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    *,
    rollback_file: Path | None = None,
    skip_drifted: bool = False,
) -> RunResult | None:
    """Carry a plan out; None where nothing was to be done.

    Raises
    ------
    DriftError, UnsafeError, BusyError
        Before anything is changed.
    KafkabalError
        What ended the run early; whatever could be put in order was.
    """
    context = begin_run(environment, plan, options, rollback_file=rollback_file, skip_drifted=skip_drifted)
    return execute(context, Goal.APPLY) if context is not None else None


def resume(
    environment: RunEnvironment, *, journal: Path | str | None = None, options: RunOptions | None = None
) -> RunResult:
    """Go on with the latest run, towards whatever it was heading for."""
    context = reopen_run(environment, journal=journal, options=options)
    return execute(context, context.state.goal)


def roll_back(
    environment: RunEnvironment, *, journal: Path | str | None = None, options: RunOptions | None = None
) -> RunResult:
    """Bring every partition, leader and config back to what it was before the latest run."""
    return execute(reopen_run(environment, journal=journal, options=options, goal=Goal.ROLL_BACK), Goal.ROLL_BACK)


def cancel(environment: RunEnvironment, *, journal: Path | str | None = None) -> RunResult:
    """Cancel what the latest run has in flight, and put its throttles back; what has finished stays."""
    return execute(reopen_run(environment, journal=journal, goal=Goal.CANCEL), Goal.CANCEL)
