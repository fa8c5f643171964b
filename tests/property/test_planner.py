"""Properties of plans on many small unbalanced clusters, judged by a checker that shares no code with the planner."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkabal.errors import InfeasibleError
from kafkabal.model import move_bytes, offline_replicas
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.tolerance_frontier import frontier
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.plan_checker import check_plan
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

# each example makes one or two plans, of up to a second each even on so small a cluster
_few = settings(max_examples=settings().max_examples // 5)
tolerances = st.sampled_from([0.02, 0.09, 0.2])


@st.composite
def worlds(draw: st.DrawFn) -> SyntheticWorld:
    """Worlds of up to ten brokers, tidy or not."""
    brokers = draw(st.integers(3, 8))
    return SyntheticWorld(
        seed=draw(st.integers(0, 10**6)),
        brokers=brokers,
        racks=draw(st.integers(0, 4)),
        topics=draw(st.integers(4, 10)),
        most_partitions=draw(st.sampled_from([3, 8])),
        replication_factor=draw(st.integers(1, min(3, brokers))),
        log_dirs=draw(st.sampled_from([1, 1, 3])),
        skew=draw(st.sampled_from([0.0, 1.0, 2.0])),
        follower_jitter=draw(st.sampled_from([0.0, 0.0, 0.2])),
        unknown=draw(st.sampled_from([0.0, 0.0, 0.1])),
        leader_skew=draw(st.sampled_from([0.0, 0.5])),
        cordoned=draw(st.sampled_from([0, 0, 1])),
        rack_blind=draw(st.booleans()),
        half_sized=draw(st.booleans()),
    )


@_few
@given(worlds(), tolerances)
def test_a_plan_keeps_rules_and_promises(world: SyntheticWorld, tolerance: float) -> None:
    """No rule is violated, bytes and bound are right; missed bands are reported, or else a second plan is empty."""
    cluster = make_world(world)
    plan = make_plan(cluster, PlanOptions(tolerance=tolerance))
    verdict = check_plan(cluster, plan, tolerance=tolerance)

    assert verdict.faults == []
    assert plan.bound_bytes is None or plan.bound_bytes <= plan.moved_bytes
    if not plan.warnings:
        assert [f"{score}: {names}" for score, names in verdict.outside.items() if names] == []
        assert make_plan(apply_plan(cluster, plan), PlanOptions(tolerance=tolerance)).partitions == ()


@_few
@given(worlds())
def test_a_wider_tolerance_never_costs_more(world: SyntheticWorld) -> None:
    """Once a plan is inside its bands, no wider tolerance moves more or leaves more outside; no bound rises either."""
    points = frontier(make_world(world), PlanOptions(), tolerances=(0.09, 0.02, 0.05))

    assert [point.tolerance for point in points] == [0.02, 0.05, 0.09]
    for narrower, wider in pairwise(points):
        if not narrower.outside:
            assert not wider.outside
            assert wider.moved_bytes <= narrower.moved_bytes
        if narrower.bound_bytes is not None and wider.bound_bytes is not None:
            assert wider.bound_bytes <= narrower.bound_bytes <= narrower.moved_bytes


@_few
@given(worlds(), st.data())
def test_a_drain_empties_the_broker_or_is_refused(world: SyntheticWorld, data: st.DataObject) -> None:
    """After a drain the drained broker is empty; if that is impossible, no plan is made."""
    cluster = make_world(world)
    drain = frozenset({data.draw(st.integers(1, world.brokers))})
    try:
        plan = make_plan(cluster, PlanOptions(drain=drain))
    except InfeasibleError:
        return
    after = apply_plan(cluster, plan)

    assert not drain & set(after.brokers.id[after.replicas.broker].tolist())


@_few
@given(worlds(), st.integers(0, 40), st.integers(0, 10**10))
def test_budgets_are_kept(world: SyntheticWorld, moves: int, bytes_: int) -> None:
    """A plan under a budget moves no more replicas and bytes than allowed."""
    plan = make_plan(make_world(world), PlanOptions(max_moves=moves, max_bytes=bytes_))

    assert plan.moved_bytes <= bytes_
    assert sum(len(change.to_add) for change in plan.partitions) <= moves


@st.composite
def options(draw: st.DrawFn, ids: list[int]) -> PlanOptions:
    """Budgets, limits, brokers and scores in any combination."""
    some = st.frozensets(st.sampled_from(ids), max_size=1)
    names = draw(st.lists(st.sampled_from(["disk", "replicas", "leaders", "topic-spread"]), unique=True))
    return PlanOptions(
        tolerance=draw(tolerances),
        scores=load_scores(names),
        drain=draw(some),
        exclude_brokers=draw(some),
        max_bytes=draw(st.none() | st.integers(0, 10**10)),
        max_moves=draw(st.none() | st.integers(0, 40)),
        max_leader_changes=draw(st.none() | st.integers(0, 10)),
    )


def _with_stale_copies(cluster: ClusterState, seed: int) -> ClusterState:
    """Some followers are out of sync."""
    leads = cluster.replicas.broker == cluster.partitions.leader[cluster.replicas.partition]
    in_sync = leads | (np.random.default_rng(seed).random(len(leads)) < 0.7)
    return cluster.replace(replicas=replace(cluster.replicas, in_sync=in_sync))


@_few
@given(worlds(), st.integers(0, 1), st.data())
def test_limits_and_rules_hold_whatever_is_asked(world: SyntheticWorld, dead: int, data: st.DataObject) -> None:
    """Under any limits no rule is violated, no more leaders change than allowed, and the bound is below the moved
    bytes."""
    cluster = _with_stale_copies(make_world(replace(world, dead=dead)), world.seed)
    asked = data.draw(options(cluster.brokers.id.tolist()))
    try:
        plan = make_plan(cluster, asked)
    except InfeasibleError:
        return
    had = dict(
        zip(map(cluster.topic_partition, range(len(cluster.partitions))), cluster.partitions.leader, strict=True)
    )
    changes = [c for c in plan.partitions if had[c.name] >= 0 and c.replicas[0] != cluster.brokers.id[had[c.name]]]

    assert check_plan(cluster, plan, tolerance=asked.tolerance, drain=asked.drain, repaired=False).faults == []
    assert asked.max_leader_changes is None or len(changes) <= asked.max_leader_changes
    assert plan.bound_bytes is None or plan.bound_bytes <= plan.moved_bytes


@pytest.mark.parametrize("seed", range(3))
def test_dead_brokers_are_left(seed: int) -> None:
    """Every replica that has a live copy leaves a dead broker."""
    cluster = make_world(SyntheticWorld(seed=seed, brokers=9, racks=3, dead=1, replication_factor=2))
    plan = make_plan(cluster)

    assert check_plan(cluster, plan, tolerance=0.09).faults == []


_tight = st.builds(
    SyntheticWorld,
    seed=st.integers(0, 10**6),
    brokers=st.integers(6, 8),
    racks=st.integers(2, 3),
    topics=st.just(6),
    replication_factor=st.just(2),
    log_dirs=st.just(3),
    skew=st.just(0.5),
    dead=st.just(1),
)


def _nearly_full(world: SyntheticWorld, fullness: float) -> ClusterState:
    """The world with disks so small that all replicas, those of dead brokers included, fill them this far."""
    cluster = make_world(world)
    dirs = cluster.log_dirs
    held = float(move_bytes(cluster)[cluster.replicas.partition].clip(min=0).sum())
    total = (dirs.total_bytes * (held / float(dirs.total_bytes.sum()) / fullness)).astype(np.int64)
    return cluster.replace(log_dirs=replace(dirs, total_bytes=total))


def _left_on_dead(cluster: ClusterState, options: PlanOptions) -> int:
    return int(offline_replicas(apply_plan(cluster, make_plan(cluster, options))).sum())


@_few
@given(_tight, st.sampled_from([0.74, 0.78, 0.82]), st.sampled_from([0.02, 0.15, 0.3]))
def test_every_tolerance_repairs_what_repairs_alone_do(
    world: SyntheticWorld, fullness: float, tolerance: float
) -> None:
    """In a nearly full cluster no more replicas stay on a dead broker than with repairs alone, at any tolerance."""
    cluster = _nearly_full(world, fullness)
    alone = _left_on_dead(cluster, PlanOptions(mode=Mode.REPAIR_ONLY))

    assert _left_on_dead(cluster, PlanOptions(tolerance=tolerance)) <= alone


@pytest.mark.parametrize(("seed", "brokers", "racks", "fullness"), [(2, 8, 2, 0.82), (6, 6, 2, 0.74), (7, 7, 3, 0.78)])
def test_repairs_that_depended_on_the_tolerance(seed: int, brokers: int, racks: int, fullness: float) -> None:
    """Three clusters in which a plan at 2% left a replica on a dead broker that one at 30% moved."""
    world = SyntheticWorld(
        seed=seed, brokers=brokers, racks=racks, topics=8, replication_factor=2, log_dirs=3, skew=0.5, dead=1
    )
    cluster = _nearly_full(world, fullness)

    assert _left_on_dead(cluster, PlanOptions(tolerance=0.02)) == 0
    assert _left_on_dead(cluster, PlanOptions(tolerance=0.3)) == 0


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.sweep)])
def test_a_lower_replication_factor_leaves_a_second_plan_nothing_to_do(seed: int) -> None:
    """If bands are out of reach, a plan that drops replicas is continued as others are."""
    world = SyntheticWorld(seed=seed, brokers=5, racks=0, topics=5, most_partitions=4, replication_factor=3)
    cluster, asked = make_world(world), PlanOptions(replication_factor=2, tolerance=0.02)
    plan = make_plan(cluster, asked)

    assert plan.warnings
    assert make_plan(apply_plan(cluster, plan), asked).partitions == ()


def test_the_order_of_the_input_does_not_matter() -> None:
    """Shuffling the rows of a cluster gives the same plan."""
    from kafkabal.model.rows_to_state import build_cluster
    from kafkabal.model.state_to_rows import broker_rows, header_row, topic_rows

    cluster = make_world(SyntheticWorld(seed=3, topics=30))
    shuffled = build_cluster(header_row(cluster), list(broker_rows(cluster))[::-1], list(topic_rows(cluster))[::-1])

    assert make_plan(cluster).plan_id == make_plan(replace(shuffled, taken_at="later")).plan_id
