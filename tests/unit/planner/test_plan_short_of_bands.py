"""Plans that do not reach the bands: their moves must be worth their bytes, and what stays outside is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.clusters.snapshot import read_snapshot
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import PlanOptions, make_plan, plan_short_of_bands
from kafkabal.planner.plan_listener import NO_LISTENER, PlanListener
from kafkabal.planner.plan_short_of_bands import FoundPlacement, is_worth_it, lasting_placement
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_leaders import assign_leaders
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def exchange(held: list[tuple[int, int]], moved_gb: set[int], others: int) -> tuple[Solution, Candidate]:
    """A start, and what it becomes when replicas of these sizes change sides; held: broker and GB of each."""
    parts = [partition(n, [b], gb * GB) for n, (b, gb) in enumerate(held)]
    state = cluster(brokers(others + 2), [TopicRow(topic="t", partitions=parts)])
    start = Solution(build_problem(state, PlanOptions(scores=load_scores(["disk"]))))
    solution = start.copy()
    rows = np.array([n for n, (_, gb) in enumerate(held) if gb in moved_gb])
    solution.move(rows, np.zeros_like(rows), 2 * others + 1 - start.placement[rows, 0])
    log_dir = np.zeros_like(solution.placement)
    return start, Candidate(solution, assign_leaders(solution), log_dir, np.empty(0, np.int64))


@pytest.mark.parametrize("dear", [False, True])
def test_moves_must_remove_enough_imbalance_for_their_bytes(dear: bool) -> None:
    """One replica of 4 GB balances two brokers as well as an exchange of 136 GB, which costs too much for that."""
    held = [(1, 200), *[(2, 10)] * 7, (2, 4), (2, 6), *[(3, 11)] * 6]
    start, candidate = exchange(held, {10, 11} if dear else {4}, others=1)
    assert (candidate.solution.used // GB).tolist() == [200, 76, 70]
    assert is_worth_it(start, candidate, fraction=1e-3) is not dear


def test_a_plan_that_reaches_every_band_is_worth_any_price() -> None:
    """The same exchange, without a broker that remains outside: a later run would make it anyway."""
    start, candidate = exchange([*[(1, 10)] * 7, (1, 4), (1, 6), *[(2, 11)] * 6], {10, 11}, others=0)
    assert (candidate.solution.used // GB).tolist() == [76, 70]
    assert is_worth_it(start, candidate, fraction=1e-3)


def test_a_broker_that_remains_outside_is_always_reported() -> None:
    """Every broker outside its band causes a warning, also where followers are not as large as their leaders."""
    state = read_snapshot(Path(__file__).with_name("unequal_followers.jsonl"))
    plan = make_plan(state, PlanOptions(tolerance=0.0))
    outside = plan.scores["disk"].after["outside"]
    assert outside
    assert sum(" remains at " in warning for warning in plan.warnings) == outside


class Steps(PlanListener):
    """Counts the searches of a plan."""

    def __init__(self) -> None:
        self.searches = 0

    def step(self, name: str) -> None:
        """Each search starts with its potentials, if followers differ from their leaders."""
        self.searches += name == "potentials"


def test_a_cyclic_search_ends_at_the_cheapest_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two placements leads to the other, since a returned copy has its old size; the cheaper one is kept."""
    monkeypatch.setattr(plan_short_of_bands, "_helps_copies_alike", lambda *_: True)
    steps = Steps()
    state = read_snapshot(Path(__file__).with_name("circling_search.jsonl"))
    plan = make_plan(state, PlanOptions(tolerance=0.085), listener=steps)
    assert 2 < steps.searches <= 24
    # 13.7 GB at the other one
    assert plan.moved_bytes < 9 * GB


def test_a_replica_from_an_offline_log_dir_does_not_return_to_its_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later plan may copy it to another log dir there, but in one plan it would never have left the broken one."""
    rows = brokers(3, dirs=2)
    rows[2] = replace(rows[2], log_dirs=[replace(rows[2].log_dirs[0], state="offline"), rows[2].log_dirs[1]])
    row = replace(partition(0, [1, 3]), isr=[1], sizes=[GB, None])
    state = cluster(rows, [TopicRow(topic="t", partitions=[row])])
    start = Solution(build_problem(state, PlanOptions()))
    back = cluster(rows, [TopicRow(topic="t", partitions=[partition(0, [1, 3], log_dirs=[0, 1])])])
    place = plan_short_of_bands._place

    def returning(begin: Solution, listener: PlanListener) -> FoundPlacement:
        found = place(begin, listener)._replace(falls_short=True)
        return found if begin is start else found._replace(after=back)

    monkeypatch.setattr(plan_short_of_bands, "_place", returning)
    assert lasting_placement(start, NO_LISTENER).candidate.solution.placement.tolist() == [[0, 1]]


def test_copies_are_not_moved_again_only_to_take_the_size_of_their_leader() -> None:
    """Followers are off by 90%: a second plan would copy 4 GB only to change the size of copies."""
    state = read_snapshot(Path(__file__).with_name("circling_search.jsonl"))
    plan = make_plan(state)
    assert plan.partitions
    assert make_plan(apply_plan(state, plan)).partitions == ()


@pytest.mark.parametrize("snapshot", ["cordoned_brokers.jsonl", "unknown_sizes.jsonl"])
def test_a_plan_ends_where_a_later_run_changes_nothing(snapshot: str) -> None:
    """A later run has other bands: cordoned brokers are due less, and copies of unknown size have another leader."""
    state = read_snapshot(Path(__file__).with_name(snapshot))
    plan = make_plan(state)
    assert plan.partitions
    assert make_plan(apply_plan(state, plan)).partitions == ()
