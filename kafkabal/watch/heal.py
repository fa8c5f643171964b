"""Applies the plan of a healing, as an ordinary journaled run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from kafkabal.errors import BusyError, KafkabalError, NotAuthorizedError
from kafkabal.executor import (
    CheckVerdict,
    FoundRun,
    LockAcrossRuns,
    OnInterrupt,
    Overridable,
    Phase,
    RunEnvironment,
    RunOptions,
    RunResult,
    StopReason,
    StopSwitch,
    Timeouts,
    apply,
    current_holder,
    enforce,
    find_run,
    is_pause_requested,
    measured_throttle,
    preflight,
    repair_run,
    resume,
    throttles_after_end,
)
from kafkabal.plan import Plan, find_drift
from kafkabal.watch.decide_healing import MOVES_FOR_BALANCE, Healing, HealKind
from kafkabal.wording import counted_noun, first_of

_TAKE_OVER = "'kafkabal rebalance adopt' takes them over"


@dataclass(frozen=True, slots=True, kw_only=True)
class HealResult:
    """The result of a healing."""

    healing: Healing
    plan_id: str = ""
    run_id: str = ""
    done: int = 0
    """Partitions in place, of ``total``."""
    total: int = 0
    only_restores: bool = False
    """Whether its run had ended, and only throttles were to be restored: its partitions are not counted again."""
    moved_bytes: int = 0
    may_have_moved_more: bool = False
    """Whether copied bytes are missing in ``moved_bytes``: after an error, or those of an earlier process."""
    elapsed_s: float = 0.0
    problem: str = ""
    """Why it did not do everything; empty if it did, or was stopped."""
    left: str = ""
    """Throttles that can only be restored later, such as those of a dead broker, if everything else is done."""
    was_stopped: bool = False
    """Whether :meth:`Healer.stop` ended it."""
    is_busy: bool = False
    """Whether it did not begin because another run is active."""


class Healer(Protocol):
    """Heals one thing at a time."""

    def begin(self, healing: Healing, plan: Plan) -> None:
        """Begin to apply the plan."""

    def begin_resume(self, healing: Healing, found: FoundRun, *, is_cancelled: bool = False) -> None:
        """Begin to finish an unfinished run, or to cancel what it has in flight."""

    def latest_run(self) -> FoundRun | None:
        """The latest run of the cluster, of any origin.

        Raises
        ------
        KafkabalError
            If it cannot be determined.
        """

    def holder(self) -> str | None:
        """The process that works on a run of the cluster, so that nothing can begin; None if none is known."""

    def obstacle_to(self, healing: Healing, plan: Plan | None = None) -> str | None:
        """What a healing has to wait for: another run, or reassignments of another tool; None if nothing is known.

        Parameters
        ----------
        plan
            Its plan, once there is one: it may take over reassignments of its partitions.
        """

    def can_resume(self, found: FoundRun) -> bool:
        """Whether anything can be done about an unfinished run now: not if everything left of it is on dead brokers.

        Raises
        ------
        KafkabalError
            If it cannot be determined.
        """

    def poll(self) -> HealResult | None:
        """The result of a healing that has ended; returned only once."""

    @property
    def healing(self) -> Healing | None:
        """The healing in progress."""

    def is_paused(self) -> bool:
        """Whether an operator has paused the latest run; False if that cannot be determined."""

    def stop(self, *, gently: bool = False) -> None:
        """Cancel the healing in progress; ``gently`` lets copies in flight finish, and starts no more."""

    def wait(self, timeout_s: float) -> bool:
        """Wait until no healing is in progress, or until the timeout; returns whether it has ended."""


class RunHealer:
    """Heals by runs of the executor, in a thread of its own while the watch continues.

    Parameters
    ----------
    environment
        Creates the environment of each run; called with the switch that stops it. Its cluster should have its own
        connections: the watch measures response times of brokers, and would wait behind the requests of a run.
    timeouts
        Timeouts of the runs; longer steps between observations make a simulated month pass faster.
    in_background
        If False, :meth:`begin` returns after the healing, as on a simulated clock.
    """

    def __init__(
        self,
        environment: Callable[[StopSwitch], RunEnvironment],
        throttle: int | Literal["auto"] | None = "auto",
        *,
        timeouts: Timeouts | None = None,
        in_background: bool = True,
    ) -> None:
        self._environment = environment
        self._throttle = throttle
        self._timeouts = timeouts or Timeouts()
        self._in_background = in_background
        self._switch = StopSwitch()
        self._healing: Healing | None = None
        self._result: HealResult | None = None
        self._may_have_moved = False
        """Whether bytes may have been copied that no result counts."""
        self._overtaken: Healing | None = None
        """The healing whose last plan could not begin, perhaps because its partitions had changed since."""
        self._thread: threading.Thread | None = None

    @property
    def healing(self) -> Healing | None:
        """See :class:`Healer`."""
        return self._healing

    def begin(self, healing: Healing, plan: Plan) -> None:
        """See :class:`Healer`."""

        def action(environment: RunEnvironment) -> RunResult | None:
            lock = LockAcrossRuns(environment)
            # before anything is checked: otherwise the run of a live holder would be taken for one that crashed
            lock.take()
            try:
                _restore_late_throttles(environment, lock)
                options = RunOptions(
                    throttle=measured_throttle(environment, plan.partitions, self._throttle),
                    timeouts=self._timeouts,
                    on_interrupt=OnInterrupt.FINISH,
                )
                is_again, self._overtaken = self._overtaken == healing, healing
                _check(environment, plan, options, is_again=is_again)
                self._overtaken, self._may_have_moved = None, True
                return apply(environment, plan, options, skip_drifted=True, lock=lock.take())
            finally:
                lock.release()

        self._start(healing, plan.plan_id, action)

    def begin_resume(self, healing: Healing, found: FoundRun, *, is_cancelled: bool = False) -> None:
        """See :class:`Healer`."""
        # a cancelled run has only throttles left: its moves were given up
        is_closed = found.state.phase is Phase.CLOSED
        action = repair_run if is_closed else resume
        self._start(healing, found.record.plan_id, action, is_cancelled=is_cancelled, only_restores=is_closed)

    def latest_run(self) -> FoundRun | None:
        """See :class:`Healer`."""
        return find_run(self._environment(StopSwitch()))

    def holder(self) -> str | None:
        """See :class:`Healer`."""
        # if it is unknown, the healing takes the lock first, and finds out then
        holder, _ = current_holder(self._environment(StopSwitch()).cluster)
        return holder

    def obstacle_to(self, healing: Healing, plan: Plan | None = None) -> str | None:
        """See :class:`Healer`."""
        if plan is None:
            if (holder := self.holder()) is not None:
                return f"cluster locked by {holder}"
            if healing.kind not in MOVES_FOR_BALANCE:
                return None  # a repair may move what another tool cannot: only its plan can tell
        environment = self._environment(StopSwitch())
        try:
            running = environment.cluster.reassignments()
            found = find_run(environment) if running else None
            carried = found.moves_to_carry(environment.cluster, plan) if found is not None else ()
        except KafkabalError:
            return None  # the healing finds out
        planned = {change.name for change in plan.partitions} if plan is not None else set()
        others = sorted(map(str, running.keys() - planned - {p.name for p in carried}))
        what = f"{counted_noun(len(others), 'other reassignment')} in flight: {first_of(others)}"
        return f"{what}; {_TAKE_OVER}" if others else None

    def can_resume(self, found: FoundRun) -> bool:
        """See :class:`Healer`."""
        return not found.has_only_dead_left(self._environment(StopSwitch()).cluster)

    def poll(self) -> HealResult | None:
        """See :class:`Healer`."""
        result, self._result = self._result, None
        if result is not None:
            self._healing = self._thread = None
        return result

    def is_paused(self) -> bool:
        """See :class:`Healer`."""
        with suppress(KafkabalError):
            return is_pause_requested(self._environment(StopSwitch()))
        return False

    def stop(self, *, gently: bool = False) -> None:
        """See :class:`Healer`; throttles are restored either way."""
        # on MAX_RUNTIME the options of the run apply: it lets copies in flight finish
        self._switch.request(StopReason.MAX_RUNTIME if gently else StopReason.CANCELLED)

    def wait(self, timeout_s: float) -> bool:
        """See :class:`Healer`."""
        if self._thread is not None:
            self._thread.join(timeout_s)
        return self._thread is None or not self._thread.is_alive()

    def _start(
        self,
        healing: Healing,
        plan_id: str,
        action: Callable[[RunEnvironment], RunResult | None],
        *,
        is_cancelled: bool = False,
        only_restores: bool = False,
    ) -> None:
        self._switch, self._healing = StopSwitch(), healing
        if is_cancelled:
            self.stop()
        self._may_have_moved = healing.kind is HealKind.RESUME

        def run() -> None:
            result = self._heal(healing, plan_id, lambda: action(self._environment(self._switch)))
            self._result = replace(result, only_restores=only_restores)

        if not self._in_background:
            run()
            return
        self._thread = threading.Thread(target=run, name="kafkabal-healing", daemon=True)
        self._thread.start()

    def _heal(self, healing: Healing, plan_id: str, action: Callable[[], RunResult | None]) -> HealResult:
        """Execute a healing; an error becomes part of the result, since the watch must survive it."""
        try:
            result = action()
        except BusyError as error:
            return self._failure(healing, plan_id, error.message, is_busy=True)
        except NotAuthorizedError as error:
            return self._failure(healing, plan_id, error.in_one_line)  # the permission to grant is in the hint
        except KafkabalError as error:
            return self._failure(healing, plan_id, error.message)
        except Exception as error:  # noqa: BLE001  a defect in healing must not end the watch; it is reported
            return self._failure(healing, plan_id, f"{type(error).__name__}: {error}")
        is_resumed = healing.kind is HealKind.RESUME
        if result is None:
            return HealResult(healing=healing, plan_id=plan_id, may_have_moved_more=is_resumed)
        problem, left = _problem(result), _left(result)
        if is_resumed:  # often it only has throttles to restore
            problem, left = problem or left, ""
        return HealResult(
            healing=healing,
            plan_id=plan_id,
            run_id=result.run_id,
            done=result.done,
            total=result.total,
            moved_bytes=result.copied_bytes,
            may_have_moved_more=is_resumed,
            elapsed_s=result.elapsed_s,
            problem=problem,
            left=left,
            was_stopped=result.stop_reason is not None,
        )

    def _failure(self, healing: Healing, plan_id: str, problem: str, *, is_busy: bool = False) -> HealResult:
        return HealResult(
            healing=healing,
            plan_id=plan_id,
            problem=problem,
            is_busy=is_busy,
            may_have_moved_more=self._may_have_moved,
        )


def _restore_late_throttles(environment: RunEnvironment, lock: LockAcrossRuns) -> None:
    """Restore throttles that a broker which hung has set after the end of the latest run of this host.

    Otherwise the run would take them for an operator's, and keep them.
    """
    found = find_run(environment)
    with suppress(NotAuthorizedError):  # a run without a throttle need not read them
        if found is not None and throttles_after_end(environment.cluster, found, only_unanswered=True):
            repair_run(environment, lock=lock.take())
            lock.take()


def _check(environment: RunEnvironment, plan: Plan, options: RunOptions, *, is_again: bool) -> None:
    """Make the preflight checks; partitions of topics that were deleted since planning are left out.

    Parameters
    ----------
    is_again
        Whether the last plan for the same could not begin either: then changes since planning are not by chance.

    Raises
    ------
    BusyError
        If other partitions have changed since planning, so that another plan is needed, or if only checks stop the run
        that may pass once reassignments of another tool have ended.
    UnsafeError
        If other checks do.
    """
    state = environment.read_state()
    # where topics come and go every second, no plan would ever begin if it needed all of them
    changed = [drift for drift in find_drift(plan, state) if not drift.is_deleted]
    if changed and not is_again:
        of = counted_noun(len(changed), "planned partition")
        raise BusyError(f"{of} changed since planning: {first_of(changed, separator='; ')}")
    checks = preflight(environment, plan, options, find_run(environment), state=state, skip_drifted=not changed)
    stopping = {check.name: check for check in checks if check.stops(())}
    others = stopping.get(Overridable.OTHER_REASSIGNMENTS)
    if others is not None and all(check.verdict is CheckVerdict.OVERRIDABLE for check in stopping.values()):
        raise BusyError(f"{others.message}; {_TAKE_OVER}")
    enforce(checks)


def _problem(result: RunResult) -> str:
    if result.problems:
        name, reason = next(iter(result.problems.items()))
        more = f", and {len(result.problems) - 1} more" if len(result.problems) > 1 else ""
        return f"{name}: {reason}{more}"
    return ""


def _left(result: RunResult) -> str:
    return f"not restored: {'; '.join(result.pending)}" if result.pending else ""
