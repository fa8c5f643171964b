"""Successive plans under a budget, until nothing is left to do."""

from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from kafkabal.model import offline_replicas
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import budgeted_part
from kafkabal.planner.plan_options import BrokerLimit, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

_MOST_RUNS = 40
_TIDY = [SyntheticWorld(seed=seed, brokers=12, topics=120, skew=1.0) for seed in range(2)]
_OUT_OF_REACH = [
    SyntheticWorld(
        seed=seed, brokers=6, racks=0, topics=8, most_partitions=3, replication_factor=1, follower_jitter=0.2
    )
    for seed in (31, 38)
]
_EXCHANGES = SyntheticWorld(
    seed=55, brokers=4, racks=1, topics=15, replication_factor=1, log_dirs=3, skew=0.0, leader_skew=0.5, cordoned=1
)


class _Runs(NamedTuple):
    end: ClusterState
    number: int
    moved_bytes: int
    moved: int
    moved_twice: int


def _repeat(cluster: ClusterState, options: PlanOptions) -> _Runs:
    arrived: set[tuple[str, int]] = set()
    moved_bytes = twice = 0
    for number in range(_MOST_RUNS):
        plan = make_plan(cluster, options)
        if not plan.partitions:
            return _Runs(cluster, number, moved_bytes, len(arrived), twice)
        moved_bytes += plan.moved_bytes
        twice += sum((change.name, broker) in arrived for change in plan.partitions for broker in change.to_remove)
        arrived.update((change.name, broker) for change in plan.partitions for broker in change.to_add)
        cluster = apply_plan(cluster, plan)
    pytest.fail(f"{_MOST_RUNS} plans were not enough")


@pytest.mark.parametrize(("world", "share"), [(_TIDY[0], 0.1), pytest.param(_TIDY[1], 0.25, marks=pytest.mark.sweep)])
def test_repeated_budgets_end_inside_all_bands_for_the_bytes_of_one_plan(world: SyntheticWorld, share: float) -> None:
    """Budgeted runs move the bytes of one plan without a budget, within 1%, and hardly any replica twice."""
    cluster = make_world(world)
    full = make_plan(cluster)
    runs = _repeat(cluster, PlanOptions(max_bytes=int(full.moved_bytes * share)))

    assert runs.moved_bytes <= 1.01 * full.moved_bytes
    assert runs.moved_twice <= 0.01 * runs.moved
    assert make_plan(runs.end).partitions == ()


@pytest.mark.parametrize("world", [_OUT_OF_REACH[0], pytest.param(_OUT_OF_REACH[1], marks=pytest.mark.sweep)])
def test_repeated_budgets_come_to_an_end_where_bands_are_out_of_reach(world: SyntheticWorld) -> None:
    """If bands are unreachable, a nightly budget does not move the same replicas back and forth forever."""
    cluster = make_world(world)
    full = make_plan(cluster, PlanOptions(tolerance=0.02))
    budget = max(full.moved_bytes // 4, *(change.bytes for change in full.partitions))
    runs = _repeat(cluster, PlanOptions(tolerance=0.02, max_bytes=budget))

    assert full.warnings
    assert 1 < runs.number < 15


def test_a_budget_for_one_half_of_an_exchange_is_used() -> None:
    """A budget for half of an exchange is used: a broker may exceed its band until the other half follows."""
    cluster = make_world(_EXCHANGES)
    full = make_plan(cluster)
    largest = max(change.bytes for change in full.partitions)
    runs = _repeat(cluster, PlanOptions(max_bytes=largest))

    assert runs.number > 1
    assert make_plan(runs.end).moved_bytes == 0


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.sweep) for n in (1, 4))])
def test_limits_of_brokers_hold_in_every_part(seed: int) -> None:
    """Replicas that a budget leaves on a broker count when others arrive: its replica limit is never exceeded."""
    cluster = make_world(SyntheticWorld(seed=seed, brokers=8, topics=60))
    most = [n + 2 for n in _held(cluster)]
    limits = {int(id_): BrokerLimit(replicas=n) for id_, n in zip(cluster.brokers.id, most, strict=True)}
    plan = make_plan(cluster, PlanOptions(max_bytes=make_plan(cluster).moved_bytes // 10, broker_limits=limits))

    assert plan.partitions
    assert all(n <= limit for n, limit in zip(_held(apply_plan(cluster, plan)), most, strict=True))


def _held(cluster: ClusterState) -> list[int]:
    held: list[int] = np.bincount(cluster.replicas.broker, minlength=len(cluster.brokers)).tolist()
    return held


def test_moves_left_by_a_budget_are_reported() -> None:
    """A partial plan states its share of the whole; a budget too small for any replica names the smallest."""
    cluster = make_world(_TIDY[0])
    full = make_plan(cluster)

    assert "the budget covers" in make_plan(cluster, PlanOptions(max_bytes=full.moved_bytes // 2)).warnings[-1]
    assert "no move" in make_plan(cluster, PlanOptions(max_bytes=0)).warnings[-1]
    assert make_plan(cluster, PlanOptions(max_bytes=full.moved_bytes)).warnings == ()


@pytest.mark.parametrize("world", [_TIDY[1], _OUT_OF_REACH[1], pytest.param(_OUT_OF_REACH[0], marks=pytest.mark.sweep)])
def test_a_sufficient_budget_changes_nothing(world: SyntheticWorld) -> None:
    """A sufficient budget gives the plan without a budget, also if bands are unreachable."""
    cluster = make_world(world)
    full = make_plan(cluster)
    enough = PlanOptions(max_bytes=full.moved_bytes, max_moves=sum(len(c.to_add) for c in full.partitions))

    assert full.partitions
    assert make_plan(cluster, enough).partitions == full.partitions


def test_a_replica_too_large_for_the_time_lets_others_pass() -> None:
    """Under a maximum duration, a replica that alone takes too long is skipped; no link exceeds its capacity."""
    cluster = make_world(SyntheticWorld(seed=0, brokers=9, racks=3, topics=40, most_partitions=8))
    rate, seconds = 3_000_000, 60.0
    plan = make_plan(cluster, PlanOptions(max_duration_s=seconds, throttle_bytes_per_s=rate))
    comes: Counter[int] = Counter()
    for change in plan.partitions:
        comes.update(dict.fromkeys(change.to_add, change.bytes // max(1, len(change.to_add))))

    assert len(comes) >= 5
    assert max(comes.values()) <= rate * seconds


def _left_on_dead(cluster: ClusterState, max_bytes: int | None) -> int:
    plan = make_plan(cluster, PlanOptions(max_bytes=max_bytes))
    assert max_bytes is None or plan.moved_bytes <= max_bytes
    return int(offline_replicas(apply_plan(cluster, plan)).sum())


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.sweep) for n in (1, 2))])
def test_a_larger_budget_leaves_no_more_broken(seed: int) -> None:
    """With rising budgets the replicas on a dead broker only become fewer, and even a small budget repairs some."""
    world = SyntheticWorld(
        seed=seed, brokers=6, racks=3, topics=5, replication_factor=2, log_dirs=3, skew=0.5, dead=1, follower_jitter=0.1
    )
    cluster = make_world(world)
    whole = make_plan(cluster).moved_bytes
    left = [_left_on_dead(cluster, int(whole * share)) for share in (0.05, 0.25, 0.6)]
    everything = int(offline_replicas(cluster).sum())

    assert left == sorted(left, reverse=True)
    assert left[0] < everything
    assert left[-1] >= _left_on_dead(cluster, None)


def test_no_search_ahead_is_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts that move the same are searched once: of 100 partitions, 16 searches took 38 s, of which four differed."""
    cluster = make_world(SyntheticWorld(seed=67, brokers=5, racks=3, topics=4, most_partitions=4, replication_factor=2))
    parts, begun = [], []
    chosen, ahead = budgeted_part._Parts.affordable, budgeted_part.search

    def affordable(*args: Any, **kwargs: Any) -> Any:
        parts.append(args)
        return chosen(*args, **kwargs)

    def search(start: Solution, *args: Any, **kwargs: Any) -> Any:
        begun.append(start.placement.tobytes())
        return ahead(start, *args, **kwargs)

    monkeypatch.setattr(budgeted_part._Parts, "affordable", affordable)
    monkeypatch.setattr(budgeted_part, "search", search)
    make_plan(cluster, PlanOptions(max_cross_rack_bytes=0))
    assert len(parts) > len(begun)
    assert len(set(begun)) == len(begun)
