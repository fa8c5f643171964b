"""Replicas return if others on other brokers make room."""

from functools import cache

import numpy as np
import pytest

from kafkabal.planner.lower_bound import guidance_of
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import ejection_chains
from kafkabal.planner.search.bulk_moves import USUAL_PACE
from kafkabal.planner.search.search_phases import balance, exchange_in_chains, is_outside, is_reached, repair
from kafkabal.planner.search.solution import Solution
from kafkabal.testing import SyntheticWorld, make_world


def balanced(seed: int, jitter: float) -> Solution:
    """Twelve brokers in four racks, inside their bands."""
    world = SyntheticWorld(seed=seed, brokers=12, racks=4, topics=60, skew=1.5, follower_jitter=jitter)
    solution = Solution(build_problem(make_world(world), PlanOptions()))
    if jitter:
        solution.guidance = guidance_of(solution)
    repair(solution, NO_LISTENER)
    balance(solution, NO_LISTENER, USUAL_PACE)
    return solution


def after_chains(solution: Solution) -> Solution:
    """The placement after chains by its own guidance."""
    assert solution.guidance is not None
    return exchange_in_chains(solution, solution.guidance)


@pytest.mark.parametrize("seed", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(3, 8))])
def test_chains_move_fewer_bytes_inside_all_bands(seed: int) -> None:
    """Their returns reduce the bytes to move, and break no rule or band; the original placement is unchanged."""
    before = _unequal(seed)
    was = before.placement.copy()
    after = after_chains(before)

    assert not is_outside(before)
    assert is_reached(after)
    assert after.moved_bytes() <= before.moved_bytes()
    assert (before.placement == was).all()


def test_chains_improve_on_single_exchanges() -> None:
    """Over a few clusters they save bytes that no return, alone or in exchange for another, could save."""
    assert _after_usual_chains() < sum(_unequal(seed).moved_bytes() for seed in range(3))


def test_bytes_counted_by_potentials_lead_to_further_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over a few clusters, rounds that first put spare bytes where they are worth most move fewer bytes."""
    found = _after_usual_chains()
    monkeypatch.setattr(ejection_chains, "_MOST_TURNS", 0)

    assert found < _after_chains()


def test_several_replicas_together_make_room_for_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains with up to ten replicas at either end save more bytes than those with one."""
    found = after_chains(_unequal(2)).moved_bytes()
    monkeypatch.setattr(ejection_chains, "_MOST_TOGETHER", 1)

    assert found < after_chains(_unequal(2)).moved_bytes()


def test_a_replica_may_return_instead_of_another_one_of_its_partition() -> None:
    """In four racks a replica may return in place of another of its partition, and all stay in distinct racks."""
    solution = _unequal(1)
    p, k, other = np.nonzero(solution.moved()[:, :, None] & solution.is_position[:, None, :])
    home = solution.problem.previous[p, k]
    instead = (k != other) & solution.may_return(p, k, other) & ~solution.may_go(p, k, home)

    assert instead.any()
    for row in np.flatnonzero(instead).tolist():
        brokers = solution.placement[p[row]].tolist()
        brokers[other[row]] = home[row]
        assert len(set(brokers)) == len(brokers)
        assert len(set(solution.rack[brokers].tolist())) == len(brokers)


def test_a_placement_close_to_the_bound_is_left_as_it_is() -> None:
    """Without anything to gain no chain is tried."""
    solution = _unequal(1)
    assert solution.guidance is not None
    reached = solution.guidance._replace(bound=float(solution.moved_bytes()))

    assert exchange_in_chains(solution, reached) is solution


@cache
def _unequal(seed: int) -> Solution:
    return balanced(seed, 0.3)


def _after_chains() -> int:
    """The bytes that chains leave to move, over three clusters."""
    return sum(after_chains(_unequal(seed)).moved_bytes() for seed in range(3))


@cache
def _after_usual_chains() -> int:
    return _after_chains()
