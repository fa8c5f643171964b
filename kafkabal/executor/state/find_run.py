"""Finds the latest run of a cluster, from its journal on this host or from the cluster's record."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafkabal.clusters import Capability, Cluster, ResourceKind
from kafkabal.errors import InputFileError, MissingCapabilityError, NotAuthorizedError, UsageError
from kafkabal.executor.observe.stuck_moves import can_any_end
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.cluster_record import ClusterRecord, DamagedRunRecordError
from kafkabal.executor.state.journal import rollback_plan_path
from kafkabal.executor.state.read_journal import JournalContent, check_header, read_journal
from kafkabal.executor.state.run_record import Original, RunPartition, RunRecord
from kafkabal.executor.state.run_states import MOVE_PENDING, RATES_PENDING, Goal, Phase, RunOutcome, RunState
from kafkabal.plan import Plan
from kafkabal.wording import system_fault

_WITHOUT_IT = "leave out --journal"
_HOW_TO_DO_WITHOUT = (
    "a run that is recorded on the cluster can be resumed without its journal; "
    "'kafkabal rebalance repair' lists what another one has left"
)


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run, and its journal if this host has it."""

    record: RunRecord
    state: RunState
    journal: JournalContent | None

    @property
    def is_open(self) -> bool:
        """Whether the run has begun and is unfinished, or has left something on the cluster."""
        return self.state.has_begun and not self.state.is_clean

    @property
    def originals(self) -> tuple[Original, ...]:
        """Every config as it was found before the run changed it."""
        return (*self.record.originals, *self.state.later_originals)

    @property
    def rates_left(self) -> tuple[Original, ...]:
        """Original rates of brokers that could not be restored, if nothing else is left of a closed run.

        A rate set on a broker can be restored through that broker only. Without this exception, a run that was
        cancelled because a broker died would keep every other run from repairing what died with that broker, until it
        comes back. Empty if the run has restored everything, or if something else is left.
        """
        state = self.state
        if state.phase is not Phase.CLOSED or state.outcome is RunOutcome.DETACHED:
            return ()
        left = [RATES_PENDING.match(text) for text in state.pending]
        brokers = {match[1] for match in left if match is not None}
        if None in left:
            return ()
        return tuple(o for o in self.originals if o.kind is ResourceKind.BROKER and o.resource in brokers)

    @property
    def moves_left(self) -> tuple[RunPartition, ...]:
        """Partitions whose reassignment could not be cancelled, if nothing else is left of a closed run.

        Empty for a run that was cancelled or rolled back: a later run would move them to a target that is no longer
        wanted.
        """
        state = self.state
        if state.phase is not Phase.CLOSED or state.outcome is RunOutcome.DETACHED or state.goal is not Goal.APPLY:
            return ()
        left = [MOVE_PENDING.fullmatch(text) for text in state.pending]
        names = {match[1] for match in left if match is not None}
        return () if None in left else tuple(p for p in self.record.partitions if str(p.name) in names)

    def has_only_dead_left(self, cluster: Cluster) -> bool:
        """Whether only changes that wait for dead brokers are left of the run: a later run takes those over.

        A resume could complete none of them, and would keep other runs from repairing what died with these brokers.
        """
        live = cluster.broker_ids()
        if self.rates_left:
            return not any(int(rate.resource) in live for rate in self.rates_left)
        return bool(self.moves_to_carry(cluster))

    def moves_to_carry(self, cluster: Cluster, plan: Plan | None = None) -> tuple[RunPartition, ...]:
        """Partitions that a new run takes over because dead brokers keep this run from ending their reassignments.

        The new run takes over their throttle and its original values too, and resumes, cancels and rolls them back like
        its own. Empty if any of the reassignments can end, or if the plan of the new run names one of the partitions.
        """
        moves = self.moves_left
        planned = {c.name for c in plan.partitions} if plan is not None else set()
        is_ours_alone = planned.isdisjoint(p.name for p in moves)
        return moves if moves and is_ours_alone and not can_any_end(cluster, moves) else ()

    @property
    def is_resumable(self) -> bool:
        """Whether the run has begun and has not done everything it was to do."""
        is_complete = self.state.is_clean and self.state.outcome is RunOutcome.COMPLETE
        return self.state.has_begun and not is_complete


def find_run(environment: RunEnvironment, journal: Path | str | None = None) -> FoundRun | None:
    """Find the run to resume.

    Parameters
    ----------
    journal
        A journal to use in any case, such as a copy from another host.

    Returns
    -------
    FoundRun or None
        None if no run has begun on this cluster, as far as this host and the cluster know.

    Raises
    ------
    UsageError
        If the given journal belongs to another cluster.
    DamagedRunRecordError
        If the cluster's record is damaged, and no journal is given.
    """
    cluster_id = environment.cluster.cluster_id()
    if journal is not None:
        local: JournalContent | None = _read_given(journal)
    else:
        local = latest_journal(environment.folder(cluster_id))
    if local is not None and local.record.cluster_id != cluster_id:
        raise UsageError(
            f"{local.path}: journal of another cluster: {local.record.cluster_id}, not {cluster_id}",
            hint="check --bootstrap-server and --journal",
        )
    try:
        known = _recorded_run(environment.cluster)
    except DamagedRunRecordError:
        # another host may have continued the run since, so a journal of this host counts only if it is given
        if journal is None:
            raise
        known = None
    if known is None:
        return _only(local)
    record, state = known
    if local is not None and record.run_id != local.record.run_id:
        if journal is not None or _is_later(environment.cluster, local, record):
            return _only(local)
        # an old journal of this host must not hide the run that has begun since
        local = _journal_of(environment, record)
    if local is None:
        return FoundRun(record, state, None)
    return FoundRun(local.record, _merged(local.state, state), local)


def check_journal(journal: Path | str) -> None:
    """Check that a file given by the user is a journal, without reading all of it: that happens under the lock.

    Raises
    ------
    InputFileError
        If it cannot be read, or is not a journal.
    """
    with _hinting_at(_WITHOUT_IT):
        check_header(journal)


def find_run_by_id(environment: RunEnvironment, run_id: str | None, journal: Path | str | None = None) -> FoundRun:
    """Find a run to roll back.

    Parameters
    ----------
    run_id
        The latest run that has begun if None.

    Raises
    ------
    UsageError
        If neither this host nor the cluster knows it, or the given journal is of another run.
    """
    found = find_run(environment, journal)
    if found is not None and found.state.has_begun and run_id in (None, found.record.run_id):
        return found
    if journal is not None and found is not None and found.state.has_begun:
        raise UsageError(
            f"{journal}: journal of another run: {found.record.run_id}, not {run_id}", hint="leave out RUN or --journal"
        )
    if run_id is not None:
        path = environment.journal_path(environment.cluster.cluster_id(), run_id)
        older = _older_run(environment, path) if path.is_file() else None
        if older is not None and older.state.has_begun:
            return older
    raise UsageError(
        "no run found for this cluster" if run_id is None else f"unknown run: {run_id}",
        hint="give its journal with --journal; 'kafkabal rebalance history' lists the runs",
    )


def _older_run(environment: RunEnvironment, path: Path) -> FoundRun | None:
    """A run of this host that is not the latest: only its journal and its rollback plan know it."""
    try:
        return find_run(environment, path)
    except InputFileError as error:
        plan = rollback_plan_path(path)
        known = str(plan) if plan.is_file() else "the file that --rollback-file wrote"
        error.hint = f"apply its rollback plan with 'kafkabal rebalance apply': {known}"
        raise


def open_cluster_record(cluster: Cluster, avoid: Collection[int] = ()) -> ClusterRecord | None:
    """The cluster's record of its run; None if the cluster keeps none or access is denied.

    Parameters
    ----------
    avoid
        Ids of brokers on which no topic for it is created, if there are others.
    """
    if Capability.RECORDS not in cluster.capabilities:
        return None
    try:
        return ClusterRecord(cluster.records(avoid))
    except (MissingCapabilityError, NotAuthorizedError):
        return None


def refused_record(cluster: Cluster) -> NotAuthorizedError | None:
    """Why runs of other hosts are unknown; None if the cluster's record may be read or does not exist."""
    if Capability.RECORDS not in cluster.capabilities:
        return None
    try:
        ClusterRecord(cluster.records()).load()
    except NotAuthorizedError as error:
        return error
    except MissingCapabilityError:
        return None
    return None


def _recorded_run(cluster: Cluster) -> tuple[RunRecord, RunState] | None:
    """The run that the cluster records; None if it may not be read."""
    cluster_record = open_cluster_record(cluster)
    try:
        return cluster_record.load() if cluster_record is not None else None
    except NotAuthorizedError:
        return None


def _only(local: JournalContent | None) -> FoundRun | None:
    return FoundRun(local.record, local.state, local) if local is not None else None


def _is_later(cluster: Cluster, local: JournalContent, record: RunRecord) -> bool:
    """Whether the run of a journal began after the recorded one, for example because it could not be recorded.

    Clocks differ between hosts and may be set: a run that the record lists as replaced is older, whatever its time.
    """
    if local.record.started_at <= record.started_at:
        return False
    cluster_record = open_cluster_record(cluster)
    return cluster_record is None or not cluster_record.was_replaced(local.record.run_id)


def _journal_of(environment: RunEnvironment, record: RunRecord) -> JournalContent | None:
    """The journal of a recorded run, if this host has it and began the run."""
    path = environment.journal_path(record.cluster_id, record.run_id)
    content = _own_journal(path) if path.is_file() and _has_first_line(path) else None
    return content if content is not None and content.state.has_begun else None


def latest_journal(folder: Path) -> JournalContent | None:
    """Content of the journal of the latest run that has begun; run ids sort by time."""
    for path in sorted(folder.glob("*.jsonl"), reverse=True):
        if path.is_file() and _has_first_line(path):
            content = _own_journal(path)
            if content.state.has_begun:
                return content
    return None


def _read_given(path: Path | str) -> JournalContent:
    """A journal given with ``--journal``."""
    return _read_journal(path, _WITHOUT_IT)


def _own_journal(path: Path) -> JournalContent:
    """A journal in the state folder of this host."""
    return _read_journal(path, "move the file elsewhere")


def _read_journal(path: Path | str, way_out: str) -> JournalContent:
    """A journal; ``way_out`` says what to do if it is damaged."""
    with _hinting_at(way_out):
        return read_journal(path)


@contextmanager
def _hinting_at(way_out: str) -> Iterator[None]:
    try:
        yield
    except InputFileError as error:
        error.hint = error.hint or f"{way_out}: {_HOW_TO_DO_WITHOUT}"
        raise


def _has_first_line(path: Path) -> bool:
    """False for a journal that a crash cut off in its first line, before anything was changed.

    Raises
    ------
    InputFileError
        If it cannot be read, as that of another user: without it, the latest run is not known.
    """
    try:
        with path.open("rb") as file:
            return file.readline().endswith(b"\n")
    except OSError as error:
        raise InputFileError(path, f"cannot read: {system_fault(error)}") from error


def _merged(local: RunState, recorded: RunState) -> RunState:
    """The newer of two states, with every rate and every original config from both.

    Times come from clocks that differ between hosts and may be set: they only count within one opening of the run.
    """
    is_local_older = (recorded.openings, recorded.at) > (local.openings, local.at)
    newer, older = (recorded, local) if is_local_older else (local, recorded)
    newer.rates |= older.rates
    newer.later_originals += [o for o in older.later_originals if o not in newer.later_originals]
    return newer
