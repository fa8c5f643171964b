"""Stores an open run: in its journal on this host, and in the cluster's record of it.

The two serve different readers. The journal contains everything and is on disk before each request, so that after a
crash this host knows what it may have done. The cluster's record contains the run as begun and its latest state, so
that any host can resume it or clean up; writing it is a request like any other, and fenced like one.
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from kafkabal.clusters import Clock
from kafkabal.errors import OperationError
from kafkabal.executor.run_events import RunListener, Warned
from kafkabal.executor.run_options import Throttle
from kafkabal.executor.safety.cluster_lock import Fence
from kafkabal.executor.state.cluster_record import ClusterRecord
from kafkabal.executor.state.journal import Journal
from kafkabal.executor.state.journal_records import (
    Closed,
    EffectKind,
    Entered,
    Intended,
    Record,
    ThrottleRate,
    ThrottleTaken,
)
from kafkabal.executor.state.run_record import Original, RunRecord
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState

_SHARE_EVERY_S = 5.0
"""Other hosts read progress to show it to people; written as often as the run reads requests in the same record."""
_SHARE_WITHIN_S = 2.0
"""A leader that responds takes milliseconds; if there is none, the moves must not wait."""
_DELETED = (
    "the journal was deleted during the run, and is written again; this run can still be resumed and rolled back, "
    "but not earlier ones whose journals were in that folder"
)
_SHARE_AGAIN_S = 60.0
"""Pause after a failure: with too few replicas in sync, every other turn of the run would wait for nothing."""


class RunStore:
    """The record and the state of a run, and the two places that store them.

    Parameters
    ----------
    cluster_record
        None if the cluster keeps none.
    """

    def __init__(
        self,
        record: RunRecord,
        state: RunState,
        journal: Journal,
        cluster_record: ClusterRecord | None,
        fence: Fence,
        clock: Clock,
        listener: RunListener,
    ) -> None:
        self.record = record
        self.state = state
        self.cluster_record = cluster_record
        self._journal = journal
        self._fence = fence
        self._clock = clock
        self._listener = listener
        self._is_changed = False
        self._is_ahead = False
        """Whether more has been done than other hosts know."""
        self._share_at_s = float("-inf")

    @property
    def journal_path(self) -> Path:
        """Path of the journal."""
        return self._journal.path

    @property
    def gap(self) -> str:
        """Why records are missing from the journal; empty if none are."""
        return self._journal.gap

    def now(self) -> str:
        """The current time in the format of the journal."""
        return self._clock.utc_now().isoformat(timespec="milliseconds")

    def append(self, *records: Record) -> None:
        """Add records to the journal; they are on disk when this returns."""
        self.keep_journal()
        self._journal.append(*records)

    def keep_journal(self) -> None:
        """Write the journal again if another program has deleted it, and say so.

        Raises
        ------
        OutputError
            If it cannot be written again, unless the run is wound down.
        """
        if self._journal.restore_if_deleted():
            self._listener.on_event(Warned(message=f"{self.journal_path}: {_DELETED}"))

    def announce_request(self, request: Intended) -> None:
        """Record a request that is about to be sent."""
        if request.kind is EffectKind.REASSIGN:
            self.state.count_batch()
            self._is_ahead = True
        self.append(request)

    def enter(self, goal: Goal, phase: Phase) -> bool:
        """Record that the run enters a phase.

        Returns
        -------
        bool
            Whether other hosts must know: a new goal decides what a resume does, and a pause who may end it.
        """
        matters = goal is not self.state.goal or Phase.PAUSED in (phase, self.state.phase)
        self.state.goal = goal
        self.state.enter(phase)
        state = self.state
        self.append(Entered(at=self.now(), goal=goal, phase=phase, openings=state.openings, batches=state.batches))
        return matters

    def close_run(self, outcome: RunOutcome, pending: list[str], problems: dict[str, str]) -> None:
        """Record the end of the run."""
        self.state.enter(Phase.CLOSED)
        self.state.outcome, self.state.pending = outcome, pending
        self.append(Closed(at=self.now(), outcome=outcome, pending=pending, problems=problems))

    def keep_throttle(self, throttle: Throttle, asked_at: str) -> None:
        """Record that the run continues with another throttle."""
        self.state.throttle, self.state.asked_at = throttle, asked_at
        self._is_changed = True
        self.append(ThrottleTaken(at=self.now(), throttle=throttle, asked_at=asked_at))

    def announce_rates(self, rates: Collection[str]) -> None:
        """Record rates that are about to be set.

        Otherwise a rate found on a broker after a crash would be taken for an operator's, and left there.
        """
        new = sorted(set(rates) - self.state.rates)
        if new:
            self._is_changed = True
            self.state.rates.update(new)
            self.append(*(ThrottleRate(at=self.now(), value=value) for value in new))
        self.update_if_changed()

    def keep_originals(self, originals: Collection[Original]) -> None:
        """Record configs as they were found, before anything changes them.

        Raises
        ------
        BusyError
            If another process has the lock: it may have set what was found, which would then stay forever.
        """
        # the journal already has those of an attempt whose answer from the cluster was lost
        new = [original for original in originals if original not in self.state.later_originals]
        if new:
            self._fence.check()
            self.state.later_originals += new
            self._is_changed = True
            self.append(*new)
        self.update_if_changed()

    def update_if_changed(self) -> None:
        """Update the record on the cluster if the run has changed; after a failure the next call tries again.

        On the way out a failure ends nothing: what is restored then is in the record already.
        """
        if not self._is_changed:
            return
        if not self._journal.is_tolerant:
            self.update_cluster_record()
            self._is_changed = False
        elif self.cluster_record is not None:
            self._fence.check()
            with suppress(OperationError):
                self._write_cluster_record(self.cluster_record, within_s=_SHARE_WITHIN_S)
                self._is_changed = False

    def update_cluster_record(self) -> None:
        """Write the state of the run to its record on the cluster; fenced like every request.

        Raises
        ------
        BusyError
            If another process has the lock: the record is then theirs, and an older state would replace their progress.
        """
        if self.cluster_record is not None:
            self._fence.check()
            self._write_cluster_record(self.cluster_record)

    def share_progress(self) -> None:
        """Show other hosts the progress of the run, at intervals; what cannot be written now is written later.

        Nothing depends on it: if the lock is not confirmed, this leaves the wait for it to the next request.
        """
        now_s = self._clock.monotonic()
        is_due = self._is_ahead and now_s >= self._share_at_s
        if self.cluster_record is None or not is_due or not self._fence.is_fresh():
            return
        self._share_at_s = now_s + _SHARE_EVERY_S
        try:
            self._write_cluster_record(self.cluster_record, within_s=_SHARE_WITHIN_S)
        except OperationError:
            self._share_at_s = now_s + _SHARE_AGAIN_S

    def _write_cluster_record(self, cluster_record: ClusterRecord, within_s: float | None = None) -> None:
        # the time orders this state against another host's journal: without it, the older one could win
        self.state.at = self.now()
        cluster_record.update(self.record.run_id, self.state, within_s=within_s)
        self._is_ahead = False

    def tolerate_gaps(self) -> None:
        """From now on neither a full disk nor a cluster that cannot write its record ends anything: leftover throttles
        are worse than a gap in the journal."""
        self._journal.is_tolerant = True

    def close(self) -> None:
        """Close the journal."""
        self._journal.close()
