"""How something is healed: a plan for it, made of the state just read, and an ordinary journaled run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from msgspec.structs import replace as replace_field

from kafkabal.errors import KafkabalError
from kafkabal.executor import (
    OnInterrupt,
    RunEnvironment,
    RunOptions,
    RunResult,
    StopReason,
    StopSwitch,
    apply,
    enforce,
    find_run,
    measured_throttle,
    preflight,
    resume,
)
from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.planner import Mode, PlanOptions, demote_brokers, make_plan, undo_demotion
from kafkabal.watch.decide import Healing, HealKind
from kafkabal.watch.heal_policy import HealPolicy
from kafkabal.watch.ledger import Ledger


@dataclass(frozen=True, slots=True, kw_only=True)
class HealResult:
    """What came of a healing."""

    healing: Healing
    plan: Plan | None
    run_id: str = ""
    problem: str = ""
    """Why it did not do all that it was to do; empty if it did."""


class Healer(Protocol):
    """Heals one thing at a time."""

    def begin(self, healing: Healing, plan: Plan) -> None:
        """Begin to apply the plan."""

    def poll(self) -> HealResult | None:
        """The result, once there is one, and only once."""

    @property
    def healing(self) -> Healing | None:
        """What is being healed."""

    def stop(self) -> None:
        """Cancel gracefully what is being healed."""


def plan_of(healing: Healing, state: ClusterState, policy: HealPolicy, ledger: Ledger, at_s: float) -> Plan:
    """What to change; nothing that moved within a day moves again, but for repairs.

    Raises
    ------
    KafkabalError
        Where no plan can be made.
    """
    match healing.kind:
        case HealKind.DEMOTE:
            return demote_brokers(state, healing.brokers)
        case HealKind.PROMOTE:
            (broker,) = healing.brokers
            return undo_demotion(state, ledger.demoted[broker])
        case HealKind.REPAIR:
            return _only_due(make_plan(state, PlanOptions(mode=Mode.REPAIR_ONLY)), healing, state)
    left = None
    if policy.max_bytes_per_day is not None:
        left = max(policy.max_bytes_per_day - ledger.bytes_of_day(at_s), 0)
    common = PlanOptions(tolerance=policy.inner_tolerance, max_bytes=left, keep_moved=ledger.plans_of_day(at_s))
    if healing.kind is HealKind.DRAIN:
        return make_plan(state, replace(common, mode=Mode.REPAIR_ONLY, drain=healing.brokers))
    if healing.kind is HealKind.FILL:
        return make_plan(state, replace(common, mode=Mode.ONLY_TO_NEW))
    return make_plan(state, common)


def _only_due(repair: Plan, healing: Healing, state: ClusterState) -> Plan:
    """Leave out what is lost on brokers that may still come back: their copies would be made for nothing."""
    dead = frozenset(state.brokers.id[~state.brokers.is_live].tolist()) - healing.brokers
    return replace_field(repair, partitions=tuple(c for c in repair.partitions if not dead.intersection(c.removing)))


class RunHealer:
    """Heals by runs of the executor, in a thread of its own where the watch is to go on meanwhile.

    Parameters
    ----------
    environment
        Gives the environment of each run; called with the switch that stops it.
    in_background
        False heals before :meth:`begin` returns, as on a simulated clock.
    """

    def __init__(
        self,
        environment: Callable[[StopSwitch], RunEnvironment],
        throttle: int | Literal["auto"] | None = "auto",
        *,
        in_background: bool = True,
    ) -> None:
        self._environment = environment
        self._throttle = throttle
        self._in_background = in_background
        self._switch = StopSwitch()
        self._healing: Healing | None = None
        self._result: HealResult | None = None
        self._thread: threading.Thread | None = None

    @property
    def healing(self) -> Healing | None:
        """See :class:`Healer`."""
        return self._healing

    def begin(self, healing: Healing, plan: Plan) -> None:
        """See :class:`Healer`."""
        self._switch, self._healing = StopSwitch(), healing

        def run() -> None:
            self._result = _heal(healing, plan, self._environment(self._switch), self._throttle)

        if not self._in_background:
            run()
            return
        self._thread = threading.Thread(target=run, name="kafkabal-healing", daemon=True)
        self._thread.start()

    def poll(self) -> HealResult | None:
        """See :class:`Healer`."""
        result, self._result = self._result, None
        if result is not None:
            self._healing = self._thread = None
        return result

    def stop(self) -> None:
        """See :class:`Healer`; the run cancels what is in flight and restores its throttles."""
        self._switch.request(StopReason.TERMINATE)

    def resume_unfinished(self) -> RunResult | None:
        """End a run that an earlier process on this host left behind; None where there is none.

        Raises
        ------
        KafkabalError
            If it cannot be resumed.
        """
        environment = self._environment(StopSwitch())
        found = find_run(environment)
        if found is None or not found.is_open or found.record.host != environment.host:
            return None
        return resume(environment)

    def wait(self, timeout_s: float) -> None:
        """Until the run has ended, or for so long."""
        if self._thread is not None:
            self._thread.join(timeout_s)


def _heal(
    healing: Healing, plan: Plan, environment: RunEnvironment, throttle: int | Literal["auto"] | None
) -> HealResult:
    """Apply a plan; an error becomes part of the result, since a watch outlives what it tries."""
    try:
        options = RunOptions(
            throttle=measured_throttle(environment, plan.partitions, throttle), on_interrupt=OnInterrupt.CANCEL
        )
        enforce(preflight(environment, plan, options, find_run(environment)))
        result = apply(environment, plan, options)
    except KafkabalError as error:
        return HealResult(healing=healing, plan=plan, problem=error.message)
    except Exception as error:  # noqa: BLE001  a defect in healing must not end the watch; it is reported
        return HealResult(healing=healing, plan=plan, problem=f"{type(error).__name__}: {error}")
    if result is None or result.is_complete:
        return HealResult(healing=healing, plan=plan, run_id=result.run_id if result else "")
    reasons = [*result.problems.values(), *result.pending]
    return HealResult(
        healing=healing, plan=plan, run_id=result.run_id, problem=reasons[0] if reasons else "stopped before its end"
    )
