"""What can be done with runs: apply a plan, and resume, roll back or cancel the latest run."""

from __future__ import annotations

from pathlib import Path

from kafkabal.clusters import ClusterLock
from kafkabal.executor.begin_run import begin_run, reopen_run
from kafkabal.executor.execute_run import execute
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.state.run_states import Goal
from kafkabal.plan import Plan


def apply(
    environment: RunEnvironment,
    plan: Plan,
    options: RunOptions,
    *,
    rollback_file: Path | None = None,
    skip_drifted: bool = False,
    lock: ClusterLock | None = None,
) -> RunResult | None:
    """Apply a plan; None where nothing was to be done.

    Parameters
    ----------
    lock
        The lock of the cluster, where it is held already; the run gives it up when it ends.

    Raises
    ------
    DriftError, UnsafeError, BusyError
        Before anything is changed.
    KafkabalError
        What ended the run early, after throttles were restored and moves cancelled as far as that was possible.
    """
    context = begin_run(environment, plan, options, rollback_file=rollback_file, skip_drifted=skip_drifted, lock=lock)
    return execute(context, Goal.APPLY) if context is not None else None


def resume(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    lock: ClusterLock | None = None,
) -> RunResult:
    """Resume the latest run, towards the goal that it had.

    Raises
    ------
    RunClosedError
        If it is complete.
    """
    context = reopen_run(environment, journal=journal, options=options, lock=lock)
    return execute(context, context.state.goal)


def roll_back(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    lock: ClusterLock | None = None,
) -> RunResult:
    """Bring every partition, leader and config back to what it was before the run.

    Partitions that were moved to a third place since are left there, and named in the result.
    """
    context = reopen_run(environment, journal=journal, options=options, goal=Goal.ROLL_BACK, lock=lock)
    return execute(context, Goal.ROLL_BACK)


def cancel(
    environment: RunEnvironment, *, journal: Path | str | None = None, lock: ClusterLock | None = None
) -> RunResult:
    """Cancel what the latest run has in flight, and restore its throttles; what has finished stays.

    Raises
    ------
    RunClosedError
        If nothing of it is left.
    """
    return execute(reopen_run(environment, journal=journal, goal=Goal.CANCEL, lock=lock), Goal.CANCEL)
