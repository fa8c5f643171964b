"""Bytes across racks: counted from the leader, bounded by an option, with moves within racks first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.model import ClusterState
from kafkabal.plan import Plan
from kafkabal.plan.cross_rack_traffic import cross_rack_bytes
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic


def lopsided() -> ClusterState:
    """Brokers 1 and 2 of two racks hold everything; 3 and 4, of the same racks, nothing."""
    return cluster(brokers(4, racks=2), [topic("t", *[[1, 2], [2, 1]] * 6)])


def counted(plan: Plan) -> tuple[int, int]:
    """Bytes across racks according to the plan, and counted from its changes."""
    rack = {1: 0, 2: 1, 3: 0, 4: 1}
    by_hand = 0
    for change in plan.partitions:
        assert change.previous is not None
        new = [b for b in change.replicas if b not in change.previous.replicas]
        by_hand += sum(GB for b in new if rack[b] != rack[change.previous.leader])
    assert plan.cross_rack_bytes is not None
    return plan.cross_rack_bytes, by_hand


def test_bytes_across_racks_are_counted_from_the_leader() -> None:
    """A follower that moves within its rack is copied from the leader in the other rack."""
    reported, by_hand = counted(make_plan(lopsided()))
    assert reported == by_hand > 0


@pytest.mark.parametrize("limit_gb", [0, 2, 5])
def test_the_limit_holds_and_near_moves_are_still_made(limit_gb: int) -> None:
    """The limit bounds only bytes across racks: replicas that stay in the leader's rack still move, and those that
    would change with them in the full plan stay."""
    plan = make_plan(lopsided(), PlanOptions(max_cross_rack_bytes=limit_gb * GB))
    reported, by_hand = counted(plan)
    assert reported == by_hand <= limit_gb * GB
    assert plan.moved_bytes > limit_gb * GB


@pytest.mark.parametrize("limit_gb", [0, 3])
def test_a_new_replication_factor_is_reached_or_not_begun(limit_gb: int) -> None:
    """A partition whose new copies would cross racks beyond the limit gets none of them."""
    state = cluster(brokers(4, racks=2), [topic("t", *[[1], [2]] * 6)])
    plan = make_plan(state, PlanOptions(replication_factor=3, max_cross_rack_bytes=limit_gb * GB))
    reported, by_hand = counted(plan)
    assert reported == by_hand <= limit_gb * GB
    assert {len(change.replicas) for change in plan.partitions} <= {1, 3}


@pytest.mark.parametrize("limit_gb", [0, 3])
def test_without_a_leader_every_copy_counts_as_one_across_racks(limit_gb: int) -> None:
    """The leader at that time sends the copies: the limit holds for the figure that the plan states."""
    state = lopsided()
    state = state.replace(partitions=replace(state.partitions, leader=np.full_like(state.partitions.leader, -1)))
    plan = make_plan(state, PlanOptions(max_cross_rack_bytes=limit_gb * GB))
    assert plan.cross_rack_bytes is not None
    assert plan.moved_bytes == plan.cross_rack_bytes <= limit_gb * GB


def test_without_racks_it_is_unknown() -> None:
    """A broker without a rack is neither near to others nor far from them."""
    rows = [type(b)(broker=b.broker, log_dirs=b.log_dirs) for b in brokers(4)]
    state = cluster(rows, [topic("t", *[[1, 2], [2, 1]] * 6)])
    plan = make_plan(state)
    assert plan.partitions
    assert cross_rack_bytes(state, plan.partitions) is None
    assert replace(PlanOptions(), max_cross_rack_bytes=1).as_json()["max_cross_rack_bytes"] == 1
