"""Plans a healing on the state just read: what may move now, within the budget and the rest of the day."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
from msgspec.structs import replace as replace_field

from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.planner import Mode, PlanOptions, chosen_topics, demote_brokers, make_plan, undo_demotion
from kafkabal.units import DAY_S, format_moment
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal_policy import HealPolicy
from kafkabal.watch.healing_ledger import HealingLedger
from kafkabal.watch.lasting_moves import lasting_moves, outside_after
from kafkabal.watch.room_for_return import plan_repair
from kafkabal.wording import brokers_by_id


def plan_of(healing: Healing, state: ClusterState, policy: HealPolicy, ledger: HealingLedger, at_s: float) -> Plan:
    """Make the plan for a healing.

    A replica that arrived within a day does not move again for balance, only if a rule requires it: off a dead or slow
    broker, off an offline log dir, into a rack that its partition lacks.

    Raises
    ------
    KafkabalError
        If no plan can be made.
    """
    match healing.kind:
        case HealKind.DEMOTE:
            return _demotion(state, healing, policy)
        case HealKind.PROMOTE:
            (broker,) = healing.brokers
            return _promotion(state, ledger.demoted[broker], policy)
        case HealKind.REPAIR:
            return plan_repair(state, healing.brokers, ledger.plans_of_day(at_s), policy)
        case HealKind.RESUME:
            raise ValueError("a run that is resumed has its plan")
    left = None
    if policy.max_bytes_per_day is not None:
        left = max(policy.max_bytes_per_day - ledger.bytes_of_day(at_s), 0)
    repaired = ledger.repaired_of_day(at_s)
    tolerance = _tolerance(healing, policy, repaired)
    common = replace(policy.scope(state), tolerance=tolerance, max_bytes=left, keep_moved=ledger.plans_of_day(at_s))
    if healing.kind is HealKind.DRAIN:
        closed = common.exclude_brokers | healing.avoid.intersection(state.brokers.id.tolist())
        return make_plan(state, replace(common, mode=Mode.REPAIR_ONLY, drain=healing.brokers, exclude_brokers=closed))
    if healing.kind is HealKind.FILL and _are_empty(state, healing):
        plan = _filling(state, common, policy)
    else:
        live = _live(state)
        plan = _balancing(state, common, {b: last_s for b, last_s in repaired.items() if b not in live})
    return lasting_moves(plan, state, common, policy)


def _demotion(state: ClusterState, healing: Healing, policy: HealPolicy) -> Plan:
    scope = policy.scope(state)
    return _of_chosen_topics(
        demote_brokers(state, healing.brokers, healing.avoid | scope.exclude_brokers), state, scope
    )


def _promotion(state: ClusterState, demotion: Plan, policy: HealPolicy) -> Plan:
    # an operator may have excluded brokers and topics since the demotion
    scope = policy.scope(state)
    return _of_chosen_topics(undo_demotion(state, demotion, scope.exclude_brokers), state, scope)


def _of_chosen_topics(plan: Plan, state: ClusterState, scope: PlanOptions) -> Plan:
    chosen = chosen_topics(state, scope)
    names = {name for name, is_chosen in zip(state.topics.name, chosen.tolist(), strict=True) if is_chosen}
    return replace_field(plan, partitions=tuple(change for change in plan.partitions if change.topic in names))


def _tolerance(healing: Healing, policy: HealPolicy, repaired: Collection[int]) -> float:
    """Fill a broker that came back within a day of its repair only halfway between the two thresholds.

    It may fail again, and all that it takes would then be copied a second time. In simulated quarters in which it did
    (seeds 210, 230, 237 and 1000 of tests/unit/watch/simulation) up to 4% of all bytes were copied for nothing.
    """
    came_back = healing.kind is HealKind.FILL and healing.brokers.issubset(repaired)
    return policy.middle_tolerance if came_back else policy.inner_tolerance


def _balancing(state: ClusterState, common: PlanOptions, absent: Mapping[int, float]) -> Plan:
    """Move leadership only while a broker is absent whose replicas were copied elsewhere within the day.

    It may come back and take its share; what a rebalance had copied would then have to move again. In the simulated
    quarter of seed 1119 (tests/unit/watch/simulation) such copies were 9% of all bytes.

    Parameters
    ----------
    absent
        Those brokers, and when their replicas were copied.
    """
    if not absent:
        return make_plan(state, common)
    until = format_moment(datetime.fromtimestamp(max(absent.values()) + DAY_S, UTC).isoformat())
    waits = f"{brokers_by_id(sorted(absent))} may still come back: replicas move for balance only from {until} on"
    return replace_field(make_plan(state, replace(common, max_bytes=0)), warnings=(waits,))


def _live(state: ClusterState) -> frozenset[int]:
    return frozenset(state.brokers.id[state.brokers.is_live].tolist())


def _filling(state: ClusterState, common: PlanOptions, policy: HealPolicy) -> Plan:
    """Move to new brokers only, unless that leaves a score outside the outer band that other moves would bring in.

    Moved replicas rest for a day: if a second broker failed within that day, so few may move that whatever a filling
    leaves outside would stay outside for as long.
    """
    only_to_new = make_plan(state, replace(common, mode=Mode.ONLY_TO_NEW))
    outside = outside_after(only_to_new, state, policy)
    if not outside:
        return only_to_new
    any_moves = make_plan(state, common)
    return any_moves if outside_after(any_moves, state, policy) < outside else only_to_new


def _are_empty(state: ClusterState, healing: Healing) -> bool:
    """Whether the new brokers hold no replica; a broker with earlier ones keeps replicas of internal topics."""
    held = np.bincount(state.replicas.broker, minlength=len(state.brokers))
    return not held[np.isin(state.brokers.id, list(healing.brokers))].any()
