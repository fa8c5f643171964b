"""Repairs that leave room for a broker that died and may come back within a day, so that it can be filled then.

Moved replicas rest for a day. A broker that was filled this morning can give hardly anything away: what a repair adds,
it keeps, beyond its band, when the dead broker is back and takes replicas from others::

    limit of a broker = what it holds + max(0, (1 + middle of the two tolerances) x fair - what rests on it)
    fair              = all replicas over all brokers, the absent ones among them, by capacity

In simulated quarters (seeds 248, 485, 619 and 636 of tests/unit/watch/simulation) in which two brokers failed within
hours of each other, scores were outside their bands for 13 to 27 hours without the limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec.structs import replace as replace_field

from kafkabal.model import F64, I32, I64, Bools, ClusterState, has_offline_dir, replica_bytes
from kafkabal.plan import Plan
from kafkabal.planner import BrokerLimit, Mode, PlanOptions, kept_replicas, make_plan
from kafkabal.scoring import disk_capacity
from kafkabal.watch.heal_policy import HealPolicy


def plan_repair(
    state: ClusterState, dead_for_good: frozenset[int], plans_of_day: Sequence[Plan], policy: HealPolicy
) -> Plan:
    """Copy what is lost on offline log dirs and on brokers that are dead for good.

    Parameters
    ----------
    dead_for_good
        Ids of brokers. Replicas lost on other brokers are left alone: those may come back, and copies would be useless.
    plans_of_day
        Replicas that they have moved rest.

    Raises
    ------
    KafkabalError
        If no plan can be made.
    """
    options = replace(policy.scope(state), mode=Mode.REPAIR_ONLY)
    repair = _repair(state, options, dead_for_good, plans_of_day, policy)
    may_return = frozenset(state.brokers.id[~state.brokers.is_live].tolist()) - dead_for_good
    kept = tuple(change for change in repair.partitions if not may_return.intersection(change.to_remove))
    return replace_field(repair, partitions=kept)


def _repair(
    state: ClusterState,
    options: PlanOptions,
    dead_for_good: frozenset[int],
    plans_of_day: Sequence[Plan],
    policy: HealPolicy,
) -> Plan:
    repair = make_plan(state, options)
    limits = limits_of_resting(state, dead_for_good, plans_of_day, policy)
    if limits:
        limited = make_plan(state, replace(options, broker_limits=limits))
        # copies and racks take precedence over balance, and so do brokers whose log dirs are all online
        if (
            limited.unrepaired == repair.unrepaired
            and _racks(limited, state) >= _racks(repair, state)
            and _copies_beside_offline_dirs(limited, state) <= _copies_beside_offline_dirs(repair, state)
        ):
            return limited
    return repair


def limits_of_resting(
    state: ClusterState, dead: frozenset[int], plans_of_day: Sequence[Plan], policy: HealPolicy
) -> dict[int, BrokerLimit]:
    """The most that each live broker with resting replicas should hold, in case the dead brokers come back.

    Parameters
    ----------
    dead
        Ids of brokers, whether or not the state still lists them.
    """
    rests = kept_replicas(state, plans_of_day)
    if not dead or not rests.any():
        return {}
    broker, bytes_ = state.replicas.broker, replica_bytes(state)
    capacity = disk_capacity(state)  # a dead broker does not report its own capacity: assume the mean
    unknown = len(dead.difference(state.brokers.id.tolist()))
    share = capacity / (capacity.sum() + unknown * capacity.mean())
    upper = (1 + policy.middle_tolerance) * share
    most_bytes = _limit(broker, bytes_, rests, upper)
    most_replicas = np.ceil(_limit(broker, np.ones(len(broker), np.int64), rests, upper))
    resting = np.unique(broker[rests & state.brokers.is_live[broker]])
    return {
        int(state.brokers.id[b]): BrokerLimit(replicas=int(most_replicas[b]), bytes=int(most_bytes[b]))
        for b in resting.tolist()
    }


def _limit(broker: I32, amount: I64, rests: Bools, upper: F64) -> F64:
    held = np.bincount(broker, amount, len(upper))
    resting = np.bincount(broker[rests], amount[rests], len(upper))
    return np.asarray(held + np.maximum(held.sum() * upper - resting, 0.0))


def _racks(plan: Plan, state: ClusterState) -> int:
    """Total number of racks of the repaired partitions."""
    rack = dict(zip(state.brokers.id.tolist(), state.brokers.rack.tolist(), strict=True))
    return sum(len({rack[b] for b in change.replicas}) for change in plan.partitions)


def _copies_beside_offline_dirs(plan: Plan, state: ClusterState) -> int:
    """Number of copies to brokers with an offline log dir, which may refuse them."""
    damaged = set(state.brokers.id[has_offline_dir(state)].tolist())
    return sum(len(damaged.intersection(change.to_add)) for change in plan.partitions)
