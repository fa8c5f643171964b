"""The loop that brings partitions to their targets.

Every turn observes what is in flight, counts what has finished, starts what fits, and reports progress. The loop keeps
no state that an observation cannot restore: after an error, a pause or a crash it simply observes again.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import Enum, auto

from kafkabal.executor.observe.copies_held_up_by_throttle import stall_reasons
from kafkabal.executor.observe.copy_progress import CopyProgress, arrived_bytes
from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.executor.observe.failed_destinations import FailedDestinations
from kafkabal.executor.observe.observation import Observation, Stage, observe, observe_again
from kafkabal.executor.reassign.choose_next_moves import ConcurrentMoves, choose_batch, start_order
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.reassign.start_moves import endangers_isr, start_moves
from kafkabal.executor.reassign.target_placement import TargetPlacement
from kafkabal.executor.reassign.throttle_changes import ThrottleChanges
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_events import PartitionDone, PartitionFailed, PartitionPostponed
from kafkabal.executor.safety.retry import PASSING_ERRORS
from kafkabal.executor.safety.stop_request import StopReason
from kafkabal.model import TopicPartition
from kafkabal.wording import first_of

_PAUSE_S = 10.0
"""Pause before a partition held up by a dead broker, its ISR or another tool is tried again: brokers restart in 10 s to
minutes, and shorter pauses would only repeat the same answer."""
_NO_LEADER = "no leader to copy from"
_STORAGE_ERROR = "KAFKA_STORAGE_ERROR"
_REASONS = {
    Stage.FOREIGN: "moved by another tool since planning; skipped",
    Stage.GONE: "topic deleted",
}


class MoveEnd(Enum):
    """Why the loop ended."""

    ALL_OVER = auto()
    """Every partition is in place or given up."""
    STOPPED = auto()
    PAUSED = auto()
    """The time window is closed, or a pause was requested."""


class MoveLoop:
    """Moves partitions of a run to their targets.

    Parameters
    ----------
    min_insync
        ``min.insync.replicas`` by topic, if known.
    counted
        Bytes of copies in flight that an earlier loop of this process has counted; None if there was none.
    """

    def __init__(
        self,
        context: RunContext,
        targets: Iterable[TargetPlacement],
        min_insync: Mapping[str, int],
        counted: Mapping[TopicPartition, int] | None = None,
    ) -> None:
        self._context = context
        self._timeouts = context.options.timeouts
        self._min_insync = min_insync
        self.tasks = sorted((PartitionTask(w) for w in targets), key=start_order)
        self._open = self.tasks
        """Tasks that are not closed."""
        self._running: list[PartitionTask] = []
        """Open tasks that the cluster is working on."""
        self._unseen: list[PartitionTask] = []
        """Open tasks for which a broker has not reported the log dir yet."""
        self._counted = counted
        self._meter: CopyProgress | None = None
        self._disks: DiskRoom | None = None
        self._disks_read_s = 0.0
        self._are_disks_of_this_turn = False
        self._is_unsure = True
        """What is known of the tasks may be wrong, so the next turn observes all of them."""
        self._is_verified = False
        """All tasks were over and are being observed once more."""
        self._throttle_changes = ThrottleChanges(context)
        self._destinations = FailedDestinations(self._timeouts.broker_grace_s)
        self._idle_since_s: float | None = None

    @property
    def copied_bytes(self) -> int:
        """Bytes copied since the loop began."""
        return self._meter.done_bytes if self._meter else 0

    @property
    def partial_bytes(self) -> Mapping[TopicPartition, int]:
        """Bytes of the copies in flight."""
        return self._meter.partial_bytes if self._meter else {}

    def run(self, *, finish_only: bool = False) -> MoveEnd:
        """Continue until nothing is left to do, or until asked to stop.

        Parameters
        ----------
        finish_only
            Start nothing, and end once nothing is in flight, even after a stop request other than a cancel.

        Raises
        ------
        OperationError
            If the cluster cannot be reached, or refuses requests, for too long.
        """
        context = self._context
        while True:
            if self._is_stopped(finish_only=finish_only):
                return MoveEnd.STOPPED
            if not finish_only and (context.is_paused or context.seconds_until_window() > 0):
                return MoveEnd.PAUSED
            try:
                self._turn(finish_only=finish_only)
            except PASSING_ERRORS as error:
                self._is_unsure = True
                context.retries.back_off(error)
                continue
            context.retries.reset()
            if self._is_finished(finish_only=finish_only):
                return MoveEnd.ALL_OVER
            context.clock.sleep(self._timeouts.poll_s)

    def take_last(self, seen: Observation) -> None:
        """Count what has ended since the loop was stopped, which cancels what was in flight."""
        for task in self.tasks:
            task.is_cancelling = True
        self._take(seen, self.tasks)

    def _is_stopped(self, *, finish_only: bool) -> bool:
        """Whether a stop was requested; a run that lets copies finish is only stopped by a cancel."""
        return self._context.should_stop() and (not finish_only or self._context.stop.reason is StopReason.CANCELLED)

    def _turn(self, *, finish_only: bool) -> None:
        self._are_disks_of_this_turn = False
        self._context.keep_files()
        seen = self._observe()
        # a reassignment of ours to another placement, as from before a rollback, has to end before its partition can
        # start
        self._cancel([t for t in self._running if t.stage is Stage.WRONG_TARGET])
        self._watch(seen)
        self._throttle_changes.take_request()
        starting = [] if finish_only else self._choose(seen)
        # before anything starts: a copy that begins unthrottled takes all bandwidth until the next turn
        refused = self._context.throttling.cover(starting, self._running, seen.brokers)
        for task, reason in refused.items():
            self._postpone(task, f"cannot set its throttle: {reason}", pause_s=_PAUSE_S)
        self._start([t for t in starting if t not in refused])
        self._regroup([*self._running, *self._unseen, *starting])
        self._report_progress(seen)
        self._end_stall()
        # after everything that the moves need: this may wait for the record's partition to get a leader
        self._context.store.share_progress()

    def _observe(self) -> Observation:
        """Observe what is in flight, or everything if that is uncertain."""
        watched = self.tasks if self._is_unsure else [*self._running, *self._unseen]
        seen = observe(self._context.cluster, [t.target for t in watched])
        # the topics of another cluster would be reported as deleted
        self._context.fence.confirm_cluster()
        self._take(seen, watched)
        if self._is_unsure:
            self._open, self._is_unsure = self.tasks, False
        self._regroup(watched)
        return seen

    def _take(self, seen: Observation, watched: Sequence[PartitionTask]) -> None:
        was_over = {t for t in watched if t.is_over}
        for task in watched:
            task.take(seen, self._now())
        if self._meter is None:
            self._meter = CopyProgress(self.tasks, self._found(seen) if self._counted is None else self._counted)
            self._meter.restart_stall(self._now())
        for task in watched:
            if task.was_cancelled and not task.is_given_up:
                self._postpone_cancelled(task)
            if task.is_over and task not in was_over:
                self._end(task)

    def _found(self, seen: Observation) -> dict[TopicPartition, int]:
        """Bytes of copies that were in flight before this process began to work on the run."""
        return {t.name: sum(arrived_bytes(t, seen).values()) for t in self.tasks if t.is_running}

    def _regroup(self, touched: Sequence[PartitionTask]) -> None:
        """Drop closed tasks, and find those in flight, among the tasks that may have changed."""
        if any(t.is_closed for t in touched):
            self._open = [t for t in self._open if not t.is_closed]
        self._running = [t for t in touched if t.is_running]
        self._unseen = [t for t in touched if t.stage is Stage.LOG_DIR_UNKNOWN and not t.is_given_up]

    def _end(self, task: PartitionTask) -> None:
        assert self._meter is not None
        listener = self._context.listener
        if task.stage is Stage.PLACED:
            task.problem = ""
            copied = self._meter.finish(task)
            listener.on_event(PartitionDone(partition=str(task.name), copy_bytes=copied))
        elif not task.problem:
            task.problem = _REASONS.get(task.stage, "")
            listener.on_event(PartitionFailed(partition=str(task.name), reason=task.problem))

    def _choose(self, seen: Observation) -> list[PartitionTask]:
        """Tasks to start now, each observed once more."""
        now_s = self._now()
        rate = self._context.throttling.rate
        concurrent = ConcurrentMoves(self._context.options.limits, rate * self._timeouts.poll_s if rate else 0.0)
        for task in self._running:
            if not task.is_given_up:
                concurrent.take(task)
        responding = seen.responding
        ready = [t for t in self._open if t.can_start and t.is_ready(responding, now_s)]
        if not ready:
            return []
        batch = choose_batch(ready, concurrent, self._disks_now())
        for task, obstacle in batch.held_up.items():
            self._postpone(task, obstacle, pause_s=self._timeouts.room_s)
            self._disks = None
        if not batch.starting:
            return []
        # seconds may have passed since these were last observed, and another tool may have moved them meanwhile
        closer = observe_again(self._context.cluster, seen, [t.target for t in batch.starting])
        for task in batch.starting:
            task.take(closer, self._now())
            if task.is_over:
                self._end(task)
        # one that metadata now shows in flight, or whose log dir is unknown, would not be observed again otherwise
        self._regroup([*self._running, *self._unseen, *batch.starting])
        return [t for t in batch.starting if t.can_start and self._may_start(t, seen.responding)]

    def _may_start(self, task: PartitionTask, responding: frozenset[int]) -> bool:
        dead = frozenset((*task.to_add, *task.out_of_sync, *task.misplaced)) - responding
        if dead:
            self._postpone(task, _is_dead(dead), brokers=dead)
        elif task.leader < 0:
            self._postpone(task, self._why_no_leader(task, responding), pause_s=_PAUSE_S)
        elif endangers_isr(task, self._min_insync.get(task.name.topic, 1)):
            self._postpone(task, "fewer than min.insync.replicas would remain in sync", pause_s=_PAUSE_S)
        elif task.out_of_sync:
            # started now, it would occupy its slot and its throttle until that replica is back in sync, which may be
            # never
            self._postpone(task, self._why_not_in_sync(task), pause_s=_PAUSE_S)
        else:
            return True
        return False

    def _disks_now(self) -> DiskRoom:
        """Free disk space; read again after a task had to wait for space, otherwise only rarely."""
        now_s = self._now()
        if self._disks is None or now_s - self._disks_read_s >= 10 * self._timeouts.room_s:
            state = self._context.read_state()
            self._disks, self._disks_read_s = DiskRoom(state, self._context.options.limits.disk_fraction), now_s
            # a copy that is being cancelled takes no more space
            for task in (t for t in self._running if not t.is_cancelling):
                for broker in (*task.arriving, *task.misplaced):
                    self._disks.reserve(broker, task.target.log_dirs.get(broker), task.target.copy_bytes)
        return self._disks

    def _disks_of_this_turn(self) -> DiskRoom:
        """Free disk space, read again once in a turn, for whatever may have failed since."""
        if not self._are_disks_of_this_turn:
            self._disks, self._are_disks_of_this_turn = None, True
        return self._disks_now()

    def _start(self, tasks: Sequence[PartitionTask]) -> None:
        for task in tasks:
            task.release()
        self._is_unsure = True  # until the request is answered
        faults = start_moves(self._context.effects, tasks)
        self._is_unsure = False
        for task, fault in faults.items():
            if task.stage is Stage.COPYING:
                task.stage = Stage.LOG_DIR_UNKNOWN
            task.fail(fault, self._now(), self._timeouts.attempts)
            self._disks = None if fault.name == _STORAGE_ERROR else self._disks
            if task.is_over:
                self._context.listener.on_event(PartitionFailed(partition=str(task.name), reason=task.problem))
            else:
                self._context.listener.on_event(PartitionPostponed(partition=str(task.name), reason=task.problem))

    def _watch(self, seen: Observation) -> None:
        """Cancel moves whose destinations have been gone for too long: they no longer count, and the rest continues."""
        now_s = self._now()
        gone = self._destinations.gone_brokers(self._running, seen, now_s)
        lost = self._destinations.lost_copies(self._running, seen, now_s)
        stuck = [t for t in self._running if gone & set(t.arriving) and now_s >= t.not_before_s]
        lost = {t: b for t, b in lost.items() if t not in stuck and now_s >= t.not_before_s and not t.is_given_up}
        self._cancel([*stuck, *lost])
        for task in stuck:
            dead = gone & frozenset(task.arriving)
            self._postpone(task, _is_dead(dead), brokers=dead, pause_s=_PAUSE_S)
        for task, broker in lost.items():
            self._postpone_lost(task, broker)
        for task in self._running:
            if task.waits_in_place and not task.is_given_up:
                self._wait_in_place(task, seen.responding)
        for task in self._unseen:
            self._wait_for_log_dirs(task, seen.brokers)

    def _wait_in_place(self, task: PartitionTask, responding: frozenset[int]) -> None:
        """Report what a complete or leaderless copy waits for; if cancelled now, it would have to be copied again."""
        dead = frozenset(task.out_of_sync) - responding
        if task.leader < 0:
            self._postpone(task, self._why_no_leader(task, responding))
        else:
            self._postpone(task, _is_dead(dead) if dead else self._why_not_in_sync(task), brokers=dead)

    def _why_no_leader(self, task: PartitionTask, responding: frozenset[int]) -> str:
        """What has become of the replicas to copy from: their brokers are dead, or log dirs of them are offline."""
        dead = frozenset(task.copy_sources) - responding
        if dead:
            return f"{_NO_LEADER}: {_is_dead(dead)}"
        return self._with_outages(task, _NO_LEADER, task.copy_sources)

    def _why_not_in_sync(self, task: PartitionTask) -> str:
        broker = min(task.out_of_sync)
        return self._with_outages(task, f"the replica on broker {broker} is not in sync", (broker,))

    def _with_outages(self, task: PartitionTask, reason: str, brokers: Collection[int]) -> str:
        """Add to a reason which log dirs of these brokers are offline: their replicas went offline with them."""
        # while a task waits for the same reason, the dirs are not read every second
        disks = self._disks_now() if task.problem.startswith(reason) else self._disks_of_this_turn()
        outages = [outage for b in sorted(brokers) if (outage := disks.outages(b)) is not None]
        return f"{reason}: {'; '.join(outages)}" if outages else reason

    def _wait_for_log_dirs(self, task: PartitionTask, live: frozenset[int]) -> None:
        """Report that a log dir is unknown because its broker is dead; a live broker reports it within a second."""
        dead = frozenset(task.unseen_on) - live
        if dead:
            self._postpone(task, f"log dir unknown: {_is_dead(dead)}", brokers=dead)
        else:
            task.release()

    def _postpone_lost(self, task: PartitionTask, broker: int) -> None:
        """Wait if the log dir in which a copy was lost is offline; try a few times if another dir will do."""
        # a log dir may have gone offline together with the copy
        reason = self._disks_of_this_turn().loss(broker, task.target.log_dirs.get(broker))
        self._try_again(task, reason, pause_s=self._timeouts.room_s)

    def _postpone_cancelled(self, task: PartitionTask) -> None:
        """Try again after another tool has cancelled a move; not forever, since it may cancel whatever it finds."""
        what = "reassignment"
        if task.stage is Stage.MISPLACED:
            # the destination may have gone offline: it then waits for it, as before any start
            if any(self._disks_of_this_turn().outage(*at) for at in task.misplaced.items()):
                return
            what = "copy between log dirs"
        self._try_again(task, f"{what} cancelled by another tool", pause_s=_PAUSE_S)

    def _try_again(self, task: PartitionTask, reason: str, *, pause_s: float) -> None:
        """Start the move again after a pause, or give it up after some attempts."""
        self._postpone(task, reason, pause_s=pause_s)
        task.attempts += 1
        if task.attempts >= self._timeouts.attempts:
            self._give_up([task], task.problem)

    def _cancel(self, tasks: Sequence[PartitionTask]) -> None:
        """Cancel reassignments; the next observation shows their state."""
        for task in tasks:
            task.is_cancelling = True
        self._context.effects.cancel([t.name for t in tasks if not t.cancel_is_unclean])

    def _postpone(
        self, task: PartitionTask, reason: str, *, brokers: frozenset[int] = frozenset(), pause_s: float = 0.0
    ) -> None:
        if task.problem != reason:
            self._context.listener.on_event(PartitionPostponed(partition=str(task.name), reason=reason))
        task.postpone(reason, brokers, self._now() + pause_s)

    def _give_up(self, tasks: Iterable[PartitionTask], reason: str) -> None:
        for task in tasks:
            task.give_up(task.problem or reason)
            self._context.listener.on_event(PartitionFailed(partition=str(task.name), reason=task.problem))

    def _report_progress(self, seen: Observation) -> None:
        assert self._meter is not None
        progress = self._meter.measure(self._open, self._running, seen, self._now())
        self._context.listener.on_event(progress)
        self._throttle_changes.adapt(progress, self._open, self._running)

    def _is_finished(self, *, finish_only: bool) -> bool:
        running = [t for t in self._running if not t.is_given_up]
        if not all(t.waits_in_place for t in running):
            self._idle_since_s = None
            return False
        if finish_only and not running:
            return True
        still_open = running if finish_only else [t for t in self._open if not t.is_over]
        if not still_open:
            if self._is_verified:
                return True
            # metadata lags behind the controller: what looked placed may have been the state before a change
            self._is_unsure = self._is_verified = True
            return False
        self._is_verified = False
        self._wait_for_the_rest(still_open)
        return False

    def _wait_for_the_rest(self, still_open: Sequence[PartitionTask]) -> None:
        """Give up tasks that only wait, after a while with nothing else to do."""
        if any(t.can_start and not t.problem for t in still_open):
            self._idle_since_s = None
        elif self._idle_since_s is None:
            self._idle_since_s = self._now()
        elif self._now() - self._idle_since_s >= self._timeouts.broker_return_s:
            self._cancel([t for t in still_open if t.waits_in_place])
            for task in still_open:
                self._give_up([task], f"broker {first_of(task.unseen_on)} did not report its log dir")

    def _end_stall(self) -> None:
        """Give up what is in flight if no byte has arrived for very long."""
        assert self._meter is not None
        running = [t for t in self._running if not t.is_given_up and not t.waits_in_place]
        stalled_s = self._meter.seconds_without_a_byte(self._now())
        if not running or stalled_s < self._timeouts.stall_s:
            return
        context = self._context
        why = stall_reasons(context.cluster, running, context.throttling.rate, context.elapsed_s, stalled_s)
        # copies between log dirs are cancelled at the end of the run, by a request for the dir that they leave
        self._cancel([t for t in running if t.stage is not Stage.COPYING])
        self._meter.restart_stall(self._now())
        for task, reason in why.items():
            self._give_up([task], reason)

    def _now(self) -> float:
        return self._context.clock.monotonic()


def _is_dead(brokers: frozenset[int]) -> str:
    return f"broker {min(brokers)} is dead"
