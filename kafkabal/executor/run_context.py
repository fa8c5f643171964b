"""Everything that the steps of one run share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kafkabal.clusters import Clock, Cluster
from kafkabal.config import TimeWindow
from kafkabal.errors import OperationError, TemporaryRefusalError
from kafkabal.executor.reassign.target_placement import TargetPlacement, targets_of_run
from kafkabal.executor.run_events import PhaseEntered, RunListener, StopRequested, Warned
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import Fence
from kafkabal.executor.safety.fenced_requests import FencedRequests
from kafkabal.executor.safety.retry import RetryBudget
from kafkabal.executor.safety.stop_request import StopReason, StopSwitch
from kafkabal.executor.state.run_record import RunRecord
from kafkabal.executor.state.run_request import RunRequest
from kafkabal.executor.state.run_states import Goal, Phase, RunOutcome, RunState
from kafkabal.executor.state.run_store import RunStore
from kafkabal.executor.throttle.run_throttles import RunThrottles

if TYPE_CHECKING:  # opening a run must not wait for numpy
    from kafkabal.model import ClusterState


@dataclass(slots=True)
class RunContext:
    """An open run: its record, its progress, and the tools to continue it."""

    cluster: Cluster
    store: RunStore
    options: RunOptions
    """Options of the record, or of the command that resumes the run."""
    fence: Fence
    effects: FencedRequests
    throttling: RunThrottles
    retries: RetryBudget
    clock: Clock
    stop: StopSwitch
    listener: RunListener
    began_s: float
    ends_at_s: float
    """When the run must end, by the clock."""
    broker_timeout_s: float
    """Timeout for each broker when the whole cluster is read."""
    read_state: Callable[[], ClusterState]
    """Reads the whole cluster, with disks as configured."""
    latest_request: Callable[[], RunRequest | None]
    """The latest request, read at intervals."""
    is_paused: bool = False
    """Whether a pause was requested: move nothing until asked to continue."""
    is_cancelled: bool = False
    """Whether an operator has asked this process to cancel the run."""

    @property
    def record(self) -> RunRecord:
        """The run as it was begun."""
        return self.store.record

    @property
    def state(self) -> RunState:
        """How far the run is."""
        return self.store.state

    def targets(self, goal: Goal) -> list[TargetPlacement]:
        """The target of each partition of the run for this goal."""
        return targets_of_run(self.record.partitions, goal, by_steps=self.options.limits.one_replica_at_a_time)

    def keep_files(self) -> None:
        """Notice soon that another program has deleted the journal or the lock file, and write them again.

        Raises
        ------
        LockRegainedError, BusyError, OutputError
            See :meth:`Fence.check_file` and :meth:`RunStore.keep_journal`.
        """
        # the lock first: the journal shows whether another process has used the lock meanwhile
        self.fence.check_file()
        self.store.keep_journal()

    def enter(self, goal: Goal, phase: Phase) -> None:
        """Enter a phase, and record it before doing anything in it."""
        # the journal first, then the cluster: this host can resume even if the cluster never learned of the phase
        if self.store.enter(goal, phase):
            self.retries.until_success(lambda: self._record(phase))
        closed_s = self.seconds_until_window() if phase is Phase.PAUSED and not self.is_paused else 0.0
        self.listener.on_event(PhaseEntered(phase=phase, opens_in_s=closed_s or None))

    def _record(self, phase: Phase) -> None:
        """Record a phase on the cluster; the way out waits for no record.

        Leftover moves and throttles would be worse, and a process that got SIGTERM is soon killed.
        """
        try:
            self.store.update_cluster_record()
        except TemporaryRefusalError as error:
            is_stop_requested = phase is Phase.CLOSED and self.stop.reason is not None
            if phase not in (Phase.CANCELLING, Phase.RESTORING) and not is_stop_requested:
                raise
            self.warn(f"cannot update the run record on the cluster: {error.in_one_line}")

    def close(self, outcome: RunOutcome, pending: list[str], problems: dict[str, str]) -> None:
        """Record the end of the run, here and on the cluster.

        Raises
        ------
        BusyError
            If another process has resumed the run since.
        """
        # if another host has taken the lock and resumed the run, it is not ours to close
        self.retries.until_success(self.fence.check)
        self.store.close_run(outcome, pending, problems)
        try:
            self.retries.until_success(lambda: self._record(Phase.CLOSED))
        except OperationError as error:
            self.warn(f"cannot update the run record on the cluster: {error.in_one_line}")
        # suspended as it was writing that, it would report an end that another process has undone since
        self.retries.until_success(self.fence.check)

    def warn(self, message: str) -> None:
        """Send the listener a warning for the user."""
        self.listener.on_event(Warned(message=message))

    @property
    def elapsed_s(self) -> float:
        """Seconds since this process began to work on the run."""
        return self.clock.monotonic() - self.began_s

    def take_request(self) -> RunRequest | None:
        """The latest request, unless it was taken before; one to cancel turns the stop switch and is not returned."""
        request = self.latest_request()
        if request is None or request.asked_at == self.state.asked_at:
            return None
        self.is_paused = request.is_paused
        if not request.is_cancelled:
            return request
        # taken once: a later rollback is deliberate and must not be cancelled by it
        self.throttling.change(self.throttling.throttle, request.asked_at)
        self.is_cancelled = True
        self.stop.request(StopReason.CANCELLED)
        self.listener.on_event(StopRequested(reason=StopReason.CANCELLED))
        return None

    def should_stop(self) -> bool:
        """Whether a stop was requested or --max-runtime is reached."""
        if self.clock.monotonic() >= self.ends_at_s:
            self.stop.request(StopReason.MAX_RUNTIME)
        return self.stop.reason is not None

    def seconds_until_window(self) -> float:
        """Seconds until work may continue, 0 if it may now."""
        if self.options.window is None:
            return 0.0
        return TimeWindow.parse(self.options.window).seconds_until_open(self.clock.utc_now().astimezone())
