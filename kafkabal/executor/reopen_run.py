"""Reopens the latest run, in any state, to resume it, roll it back, cancel it or repair it."""

from __future__ import annotations

from contextlib import ExitStack, closing
from pathlib import Path

from kafkabal.clusters import ClusterLock
from kafkabal.errors import NotAuthorizedError, OutputError, RefusedByClusterError, UsageError
from kafkabal.executor.reopen_preview import preview_reopen
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_setup import (
    announce_start,
    make_context,
    make_fence,
    refuse_unfinished,
    retry_if_lock_lost,
    write_cluster_record,
)
from kafkabal.executor.safety.cluster_lock import release_lock
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.cluster_record import ClusterRecord, DamagedRunRecordError
from kafkabal.executor.state.find_run import FoundRun, find_run
from kafkabal.executor.state.journal import Journal, UnwritableJournal
from kafkabal.executor.state.journal_records import Entered, ThrottleRate, ThrottleTaken
from kafkabal.executor.state.run_states import Goal, Phase, RunState
from kafkabal.executor.state.run_store import RunStore


class RunClosedError(UsageError):
    """The run has ended, and nothing is left to resume or cancel."""


def reopen_run(
    environment: RunEnvironment,
    *,
    journal: Path | str | None = None,
    options: RunOptions | None = None,
    goal: Goal | None = None,
    lock: ClusterLock | None = None,
    only_winds_down: bool = False,
) -> RunContext:
    """Take the lock and open the latest run again, in whatever state it was left.

    Parameters
    ----------
    options
        Replace the options that the run was begun with.
    goal
        The new goal of the run; its previous goal if None.
    lock
        The lock if it is already held; taken now if None. The run releases it at the end.
    only_winds_down
        Only cancel and restore, begin nothing: a journal that cannot be written does not prevent that.

    Raises
    ------
    UsageError
        If no run is known.
    BusyError
        If another run holds the lock.
    OutputError
        If the journal cannot be written, and the run is not only wound down.
    """
    return retry_if_lock_lost(
        lambda held: _reopen(environment, journal, options, goal, held, only_winds_down=only_winds_down), lock
    )


def _reopen(
    environment: RunEnvironment,
    journal: Path | str | None,
    options: RunOptions | None,
    goal: Goal | None,
    held: ClusterLock | None,
    *,
    only_winds_down: bool,
) -> RunContext:
    found = find_run(environment, journal)
    if found is None or not found.state.has_begun:
        raise UsageError(
            "no run found for this cluster",
            hint="give its journal with --journal; 'kafkabal rebalance repair' lists leftover throttles",
        )
    with ExitStack() as undo:
        # the run's own options if no flag was given: a resume must not turn a throttled run into one at full speed
        run_options = options or found.record.options
        lock = held or lock_cluster(environment, run_options.session_s, wait_s=environment.lock_wait_s)
        undo.callback(release_lock, lock)
        if held is None:
            found = find_run(environment, journal) or found  # the previous holder of the lock may have resumed the run
        if goal is not None or not only_winds_down:
            _refuse_closed(found, goal)  # throttles are restored whenever any are left
        found.state.openings += 1
        open_journal = _open_journal_if_possible if only_winds_down else _open_journal
        opened = undo.enter_context(closing(open_journal(environment, found)))
        # written before any change: from now on a suspended process that wakes up sees that the run is no longer its
        # own
        found.state.at = environment.clock.utc_now().isoformat(timespec="milliseconds")
        cluster_record = write_cluster_record(
            environment, run_options, lock, lambda r: _reopen_cluster_record(r, found)
        )
        fence = make_fence(environment, run_options, lock, cluster_record, found, opened)
        store = RunStore(
            found.record, found.state, opened, cluster_record, fence, environment.clock, environment.listener
        )
        if only_winds_down:
            store.tolerate_gaps()
        context = make_context(environment, run_options, store, fence, found.journal)
        if options is not None:
            context.throttling.change(options.throttle, _replaced_request(context))
        aim = goal or found.state.goal
        if goal is not None:
            _take_request_to_stop(context)
        # what is left, not the whole plan: a resume of the last partition must not announce an hour of copies
        left = (
            ()
            if only_winds_down
            else context.retries.until_success(lambda: preview_reopen(environment, found, aim).moves)
        )
        undo.pop_all()
    announce_start(context, aim, [move.copies for move in left])
    return context


def _replaced_request(context: RunContext) -> str | None:
    """Time of a throttle request that is older than the rate just given; taken later, it would replace that rate.

    None if there is no such request, or if it also asks for a pause or the end, which the new rate does not replace.
    """
    request = context.latest_request()
    if request is None or request.is_cancelled or request.is_paused:
        return None
    return request.asked_at


def _take_request_to_stop(context: RunContext) -> None:
    """Note that a request to cancel or to pause is older than the command that cancels or rolls back now.

    It was sent to a process that has died since. Taken later, it would cancel or pause the rollback.
    """
    request = context.latest_request()
    if request is not None and (request.is_cancelled or request.is_paused):
        context.throttling.change(context.throttling.throttle, request.asked_at)


def _refuse_closed(found: FoundRun, goal: Goal | None) -> None:
    """Refuse to reopen a closed run: applying its plan again would undo what was done since.

    It can be rolled back, since that is another goal; a run that was stopped, or only partly done, can be resumed.
    """
    run_id = found.record.run_id
    if goal is Goal.CANCEL and found.state.is_clean:
        raise RunClosedError(f"run {run_id} is closed: it left no reassignment in flight and no throttle")
    if goal is None and not found.is_resumable:
        if found.state.goal is Goal.ROLL_BACK:
            raise RunClosedError(f"run {run_id} is rolled back: nothing to resume")
        hint = f"roll it back with 'kafkabal rebalance rollback {run_id}'"
        raise RunClosedError(f"run {run_id} is complete: nothing to resume", hint=hint)


def _reopen_cluster_record(cluster_record: ClusterRecord, found: FoundRun) -> None:
    """Record on the cluster that the run continues here; refuse if the cluster records another unfinished run."""
    try:
        known = cluster_record.load()
    except DamagedRunRecordError:
        known = None  # replaced by what the given journal says
    if known is not None and known[0].run_id == found.record.run_id:
        try:
            cluster_record.update(found.record.run_id, found.state)
        except NotAuthorizedError:
            raise
        except RefusedByClusterError:
            pass  # with too few replicas in sync to write the record, a run can still be cancelled
        return
    if known is not None:
        refuse_unfinished(FoundRun(*known, None))
    cluster_record.begin(found.record, found.state)


def _open_journal_if_possible(environment: RunEnvironment, found: FoundRun) -> Journal:
    """Open the journal; with a full disk, leftover moves and throttles are worse than a journal with gaps."""
    try:
        return _open_journal(environment, found)
    except OutputError as error:
        path = environment.journal_path(found.record.cluster_id, found.record.run_id)
        return UnwritableJournal(path, error.message)


def _open_journal(environment: RunEnvironment, found: FoundRun) -> Journal:
    """Continue the journal of this host, or begin one from the cluster's record."""
    if found.journal is not None:
        return Journal(found.journal.path, keep_bytes=found.journal.valid_bytes)
    now = environment.clock.utc_now().isoformat(timespec="milliseconds")
    return Journal.create(
        environment.journal_path(found.record.cluster_id, found.record.run_id),
        found.record,
        Entered(
            at=now,
            goal=found.state.goal,
            phase=Phase.RECORDED,
            openings=found.state.openings,
            batches=found.state.batches,
        ),
        *found.state.later_originals,
        *(ThrottleRate(at=now, value=value) for value in sorted(found.state.rates)),
        *_changed_throttle(found.state, now),
    )


def _changed_throttle(state: RunState, now: str) -> tuple[ThrottleTaken, ...]:
    if state.throttle is None:
        return ()
    return (ThrottleTaken(at=now, throttle=state.throttle, asked_at=state.asked_at),)
