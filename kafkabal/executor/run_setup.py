"""What new and reopened runs have in common: the fence, the run record on the cluster, and the tools of the steps."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack, suppress
from typing import TypeVar

from msgspec.structs import replace

from kafkabal.clusters import ClusterLock
from kafkabal.clusters.unknown_cluster_id import are_two_clusters
from kafkabal.errors import MissingCapabilityError, NotAuthorizedError, UnsafeError
from kafkabal.executor.observe.duration_estimate import PartitionCopies, predicted_s
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_events import Started, Warned
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import (
    Fence,
    FileLock,
    LockLostError,
    OtherClusterError,
    TakenOverError,
    confirm_lock,
    release_lock,
)
from kafkabal.executor.safety.fenced_requests import FencedRequests
from kafkabal.executor.safety.late_requests import left_by_late_request
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.safety.run_invariants import RunInvariants
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.find_run import FoundRun, open_cluster_record
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.read_journal import JournalContent
from kafkabal.executor.state.run_request import RunRequests
from kafkabal.executor.state.run_states import Goal
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.throttle.run_throttles import RunThrottles
from kafkabal.executor.throttle.throttle_rules import kept_rates
from kafkabal.units import format_stated_rate
from kafkabal.wording import brokers_by_id, first_of

_T = TypeVar("_T")
_TRIES = 3
"""If the lock is lost this often before any change, another process has it; a suspended process loses it only once."""
_SEE_STATUS = "nothing more changed; run 'kafkabal rebalance status'"
_LATE = "changed by a request that arrived late"
_HOW_TO_END = "finish it with 'kafkabal rebalance resume', 'rollback' or 'cancel', then try again"


def retry_if_lock_lost(begin: Callable[[ClusterLock | None], _T], held: ClusterLock | None) -> _T:
    """Begin again if the lock was lost before any change, for example because this process was suspended."""
    for _ in range(_TRIES - 1):
        with suppress(LockLostError):
            return begin(held)
        held = None
    return begin(held)


def refuse_unfinished(found: FoundRun | None) -> None:
    """Refuse to continue while an earlier run is unfinished.

    Raises
    ------
    UnsafeError
        If it is.
    """
    if found is not None and found.is_open:
        raise UnsafeError(
            f"run {found.record.run_id} of {found.record.host} is unfinished (phase: {found.state.phase_in_words})",
            hint=_HOW_TO_END,
        )


def write_cluster_record(
    environment: RunEnvironment,
    options: RunOptions,
    lock: ClusterLock,
    write: Callable[[ClusterRecord], None],
    *,
    new_run_id: str | None = None,
    drained: Collection[int] = (),
) -> ClusterRecord | None:
    """Write to the run record on the cluster while the lock is held, so that any host can resume the run.

    Parameters
    ----------
    new_run_id
        Id of the run that begins with this write. Once the record names it, the run has begun, and its fence deals with
        a lost lock: a new start would find the run there, and refuse it as the unfinished run of another process.
    drained
        Ids of brokers on which no topic for the record is created, if there are others.

    Returns
    -------
    ClusterRecord or None
        None if the cluster keeps no record, or if we may not write to it.

    Raises
    ------
    LockLostError
        If the lock was lost before the write.
    """
    if isinstance(lock, FileLock) and lock.denied:
        message = f"runs from other hosts are not blocked: {lock.denied}"
        environment.listener.on_event(Warned(message=message))
    cluster_record = open_cluster_record(environment.cluster, avoid=drained)

    def confirm() -> None:
        confirm_lock(lock, options.session_s)

    def write_under_lock() -> None:
        confirm()
        if cluster_record is not None:
            with cluster_record.confirming(confirm):
                write(cluster_record)

    def has_begun() -> bool:
        return cluster_record is not None and new_run_id is not None and cluster_record.run_id() == new_run_id

    retries = RetryBudget(environment.clock, options.timeouts, environment.listener)
    try:
        retries.until_success(write_under_lock)
    except LockLostError:
        if not retries.until_success(has_begun):
            raise
    except (NotAuthorizedError, MissingCapabilityError) as error:
        message = f"only the journal on this host can resume or roll back this run: {error.in_one_line}"
        environment.listener.on_event(Warned(message=message))
        return None
    return cluster_record


def make_context(
    environment: RunEnvironment,
    options: RunOptions,
    store: RunStore,
    fence: Fence,
    earlier: JournalContent | None = None,
) -> RunContext:
    """Create everything that the steps of the run share.

    Parameters
    ----------
    earlier
        What earlier processes of the run on this host have recorded, if any.
    """
    effects = FencedRequests(
        environment.cluster,
        store,
        fence,
        environment.listener,
        RunInvariants(store.record, store.state),
        last_number=earlier.effects if earlier is not None else 0,
        items_per_request=options.limits.partitions_per_request,
    )
    throttling = RunThrottles(
        environment.cluster, effects, store, options.throttle, environment.listener, environment.clock
    )
    if earlier is not None:
        throttling.await_earlier(earlier.set_configs)
    requests = RunRequests(store.journal_path, store.cluster_record, store.record.run_id, environment.clock)
    return RunContext(
        cluster=environment.cluster,
        store=store,
        options=options,
        fence=fence,
        effects=effects,
        throttling=throttling,
        retries=RetryBudget(environment.clock, options.timeouts, environment.listener),
        clock=environment.clock,
        stop=environment.stop,
        listener=environment.listener,
        began_s=environment.clock.monotonic(),
        ends_at_s=environment.time_limit_s(options.max_runtime_s),
        broker_timeout_s=environment.broker_timeout_s,
        read_state=environment.read_state,
        latest_request=requests.latest,
    )


def make_fence(
    environment: RunEnvironment,
    options: RunOptions,
    lock: ClusterLock,
    known: ClusterRecord | None,
    run: FoundRun,
    journal: Journal,
) -> Fence:
    """Create the fence of a run; a lost lock is taken again only if no other process has used it meanwhile.

    Parameters
    ----------
    known
        The cluster's record, if it keeps one: it shows whether another process has resumed the run. Without a record,
        a lock of this host goes by the journals of this host; of any other lock, assume that a process has.
    """

    def is_as_left(regained: ClusterLock) -> bool:
        if known is not None:
            return known.is_as_left(run.record.run_id)
        return isinstance(regained, FileLock) and not _is_continued(journal)

    def retake() -> ClusterLock:
        with ExitStack() as undo:
            regained = lock_cluster(environment, options.session_s, until_stopped=False)
            undo.callback(release_lock, regained)
            # the holder in between may have finished or rolled back the run: what is known here is stale
            if not is_as_left(regained):
                if known is None and not isinstance(regained, FileLock):
                    message = (
                        f"another process may have resumed run {run.record.run_id}, which the cluster does not record"
                    )
                    raise TakenOverError(message, hint=_SEE_STATUS)
                raise _taken_over(environment, known, run, lambda: confirm_lock(regained, options.session_s))
            undo.pop_all()
        return regained

    def confirm_cluster() -> None:
        found, record = environment.cluster.cluster_id(), run.record
        if are_two_clusters(found, record.cluster_id):
            raise OtherClusterError(
                f"{environment.cluster.name} is cluster {found} now, not {record.cluster_id}: run {record.run_id} was "
                "left as it is, and changed nothing here",
                hint="to continue it, resume it at the addresses that the former cluster has now: -b HOST:PORT",
            )

    give_up_s = options.timeouts.unreachable_s
    return Fence(lock, retake, confirm_cluster, environment.clock, session_s=options.session_s, give_up_s=give_up_s)


def _is_continued(journal: Journal) -> bool:
    """Whether a journal of this host shows that another process has continued the run, or begun a later one."""
    later = (path for path in journal.path.parent.glob("*.jsonl") if path.name > journal.path.name)
    return journal.is_continued_elsewhere() or any(later)


def _taken_over(
    environment: RunEnvironment, known: ClusterRecord | None, run: FoundRun, confirm: Callable[[], None]
) -> TakenOverError:
    """The error that ends this process, with what its last request has changed if that arrived late.

    Raises
    ------
    LockLostError
        If ``confirm`` finds that the lock was lost again while this was read: its new holder may have resumed the
        run, and an older state would replace the holder's progress.
    """
    run_id, recorded = run.record.run_id, known.load() if known is not None else None
    message = f"run {run_id} was resumed by another process"
    hint = _SEE_STATUS
    # a process that continues an open run also undoes what a late request of this process has changed
    if known is None or recorded is None or not recorded[1].is_clean:
        return TakenOverError(message, hint=hint)
    record, state = recorded
    if record.run_id != run_id:
        record, state = run.record, replace(run.state, goal=Goal.CANCEL)
        message, hint = f"run {run_id} was replaced by another", hint.replace("status", "history")
    left = left_by_late_request(environment.cluster, record, state)
    if not left:
        return TakenOverError(message, hint=hint)
    hint = "'kafkabal rebalance adopt' lists its moves, 'kafkabal rebalance repair' its throttles"
    if recorded[0].run_id == run_id:
        # it is open again, and the next command on it, here or elsewhere, finds what is left
        state.pending, state.openings = [f"{what}: {_LATE}" for what in left], state.openings + 1
        state.at = environment.clock.utc_now().isoformat(timespec="milliseconds")
        with known.confirming(confirm):
            known.update(run_id, state)
        hint = "undo that with 'kafkabal rebalance resume'"
    return TakenOverError(f"{message}; {_LATE}: {first_of(left)}", hint=hint)


def announce_start(context: RunContext, goal: Goal, copies: Collection[PartitionCopies]) -> None:
    """Tell the listener what the run is about to do.

    Parameters
    ----------
    copies
        What is to be copied of each partition that is to be changed.
    """
    throttle = context.throttling.throttle
    context.listener.on_event(
        Started(
            run_id=context.record.run_id,
            goal=goal,
            partitions=len(copies),
            copy_bytes=sum(sum(c.between_brokers.values()) for c in copies),
            log_dir_bytes=sum(sum(c.between_log_dirs.values()) for c in copies),
            predicted_s=predicted_s(copies, throttle),
            lock_scope=context.fence.scope,
            throttle_bytes_per_s=throttle.bytes_per_s,
            log_dir_throttle_bytes_per_s=throttle.log_dir_bytes_per_s,
            has_cluster_record=context.store.cluster_record is not None,
        )
    )
    is_forward = goal is Goal.APPLY and any(c.between_brokers for c in copies)
    if is_forward and throttle.bytes_per_s is not None and not throttle.override:
        # otherwise a run that takes ten times as long as predicted gives no reason
        for lower, brokers in kept_rates(
            context.throttling.originals, context.record.partitions, throttle.bytes_per_s
        ).items():
            keep = "keeps its" if len(brokers) == 1 else "keep their"
            context.warn(
                f"{brokers_by_id(brokers)} {keep} own lower throttle of {format_stated_rate(lower)}, "
                "set before this run: --override-throttle replaces it during the run"
            )
