"""The pool of replicas for bulk moves: taking replicas one by one equals rebuilding the pool without them."""

import numpy as np
import pytest

from kafkabal.model import I64
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search import bulk_moves
from kafkabal.planner.search.bulk_moves import _MovableReplicas
from kafkabal.planner.search.solution import Solution
from kafkabal.testing import SyntheticWorld, make_world


def movable_of(solution: Solution) -> _MovableReplicas:
    """A pool from which every replica may be taken."""
    return _MovableReplicas(solution, solution.stays())


def rows(movable: _MovableReplicas) -> I64:
    """Row of each replica that is left, by index."""
    broker = np.repeat(np.arange(movable.n_brokers), np.diff(movable.first))
    return np.arange(len(movable)) + movable.gap[broker]


def take(movable: _MovableReplicas, indexes: I64) -> None:
    """Remove replicas by index."""
    taken = np.zeros(movable.n_rows, np.bool_)
    taken[rows(movable)[indexes]] = True
    movable.remove(taken)


@pytest.mark.parametrize("seed", range(4))
def test_removing_one_by_one_leaves_the_same_replicas_as_copying(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """After each of many removals: the same replicas by index, the same search results, and the same number for a
    surplus."""
    rng = np.random.default_rng(seed)
    solution = Solution(build_problem(make_world(SyntheticWorld(seed=seed, brokers=6, topics=40)), PlanOptions()))
    one_by_one, copied = movable_of(solution), movable_of(solution)
    everyone = np.arange(solution.problem.n_brokers, dtype=np.int32)
    while len(copied):
        number = int(rng.choice([1, 2, 3, 40]))
        indexes = rng.choice(len(copied), min(number, len(copied)), replace=False)
        # now and then both are copied, which closes the gaps
        monkeypatch.setattr(bulk_moves, "_COPIED_MEANWHILE", 0 if number < 40 else 10**9)
        take(one_by_one, indexes)
        monkeypatch.setattr(bulk_moves, "_COPIED_MEANWHILE", 10**9)
        take(copied, indexes)
        size = rng.exponential(float(solution.used.mean()) / 20, len(everyone))
        surplus = (solution.used * rng.random(len(everyone))).astype(np.int64)

        assert len(one_by_one) == len(copied)
        assert one_by_one.first.tolist() == copied.first.tolist()
        assert one_by_one.cell[rows(one_by_one)].tolist() == copied.cell.tolist()
        assert one_by_one.bytes(rows(one_by_one)).tolist() == copied.bytes(slice(None)).tolist()
        assert one_by_one.find(everyone, size).tolist() == copied.find(everyone, size).tolist()
        assert one_by_one.fewest_for(surplus).tolist() == copied.fewest_for(surplus).tolist()
