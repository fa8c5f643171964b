"""Consequences of a placement that the search has found."""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec.structs import replace

from kafkabal.model import ClusterState, TopicRow, in_offline_dir
from kafkabal.planner import make_plan
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import without_refused_log_dirs
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import Candidate, finish, search
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world

UNEQUAL_COPIES = SyntheticWorld(seed=3, follower_jitter=0.3, leader_skew=0.5, log_dirs=2)


def _replicas(state: ClusterState) -> list[tuple[int, int]]:
    """Partition and broker of each replica."""
    return list(zip(state.replicas.partition.tolist(), state.replicas.broker.tolist(), strict=True))


def _placed(state: ClusterState) -> dict[tuple[int, int], int]:
    """Log dir of each replica."""
    return dict(zip(_replicas(state), state.replicas.log_dir.tolist(), strict=True))


def test_two_plans_are_taken_as_one() -> None:
    """The combined plan ends where the second does, and each new copy is as large as the leader it is copied from."""
    world = make_world(UNEQUAL_COPIES)
    problem = build_problem(world, PlanOptions(tolerance=0.2))
    candidate = search(Solution(problem), NO_LISTENER)
    between = candidate.to_state()
    later = search(Solution(build_problem(between, PlanOptions(tolerance=0.02))), NO_LISTENER).to_state()
    after = candidate.adopt(later).to_state()

    held = dict(zip(_replicas(world), world.replicas.size_bytes.tolist(), strict=True))
    sizes = zip(_replicas(after), after.replicas.size_bytes.tolist(), strict=True)
    returned = (set(_placed(world)) & set(_placed(later))) - set(_placed(between))
    assert _placed(after) == _placed(later) | {held: _placed(world)[held] for held in returned} != _placed(between)
    assert np.array_equal(after.partitions.leader, later.partitions.leader)
    assert all(size == held.get((p, b), problem.arriving_bytes[p]) for (p, b), size in sizes)
    assert not np.array_equal(after.replicas.size_bytes, later.replicas.size_bytes), "copies of copies, of another size"


def test_a_copy_that_returns_stays_in_its_log_dir() -> None:
    """A later plan would copy it to the emptiest one; in one plan it never left."""
    rows = [partition(0, [1], log_dirs=[0]), partition(1, [2], log_dirs=[0]), partition(2, [1], log_dirs=[0])]
    before = cluster(brokers(2, dirs=2), [TopicRow(topic="t", partitions=rows)])
    solution = Solution(build_problem(before, PlanOptions()))
    solution.move(np.array([0]), np.array([0]), np.array([1]))
    log_dir = np.array([[3], [2], [0]], np.int32)
    candidate = Candidate(solution, solution.placement[:, 0].copy(), log_dir, np.empty(0, np.int64))
    rows[0] = partition(0, [1], log_dirs=[1])
    adopted = candidate.adopt(cluster(brokers(2, dirs=2), [TopicRow(topic="t", partitions=rows)]))

    assert adopted.log_dir.tolist() == [[0], [2], [0]]


def test_what_a_later_plan_places_is_no_longer_unplaced() -> None:
    """Of all cells taken for unplaced, those that a later plan moves have found a place."""
    problem = build_problem(make_world(UNEQUAL_COPIES), PlanOptions(tolerance=0.2))
    candidate = search(Solution(problem), NO_LISTENER)
    later = search(Solution(build_problem(candidate.to_state(), PlanOptions(tolerance=0.02))), NO_LISTENER).to_state()
    cells = np.arange(problem.previous.size)
    adopted = candidate._replace(unplaced=cells).adopt(later)
    moved = adopted.solution.placement.reshape(-1) != problem.previous.reshape(-1)

    assert moved.any()
    assert np.array_equal(adopted.unplaced, cells[~moved])


def test_what_arrives_on_a_broker_with_an_offline_log_dir_is_not_lost() -> None:
    """No plan may choose a log dir there, but the search for what a later plan does assumes one that is online."""
    rows = brokers(2, dirs=2)
    dirs = [msgspec.structs.replace(rows[1].log_dirs[0], state="offline"), rows[1].log_dirs[1]]
    rows[1] = msgspec.structs.replace(rows[1], log_dirs=dirs)
    solution = Solution(build_problem(cluster(rows, [topic("t", [1], [1], [1])]), PlanOptions()))
    solution.move(np.array([0]), np.array([0]), np.array([1]))
    after = finish(solution, np.empty(0, np.int64), NO_LISTENER).to_state()

    assert not in_offline_dir(after).any()
    assert not Solution(build_problem(after, PlanOptions())).must_leave().any()
    assert without_refused_log_dirs(after).replicas.log_dir.tolist()[0] == -1


def test_a_cluster_without_topics_needs_no_search() -> None:
    """Without positions to assign even the search of the smallest clusters ends."""
    start = Solution(build_problem(cluster(brokers(3, racks=3), []), PlanOptions()))

    assert not search(start, NO_LISTENER).solution.placement.size


def _brokers_of_unequal_size() -> ClusterState:
    """Three brokers of 1 : 2 : 4 in each of three racks, and 200 partitions of three replicas, placed by lot."""
    lot = np.random.default_rng(4)
    sizes = np.repeat(lot.lognormal(0.0, 1.0, 20), 10) * lot.lognormal(0.0, 0.8, 200)
    rows = [
        replace(
            row,
            log_dirs=[replace(d, total_bytes=factor * 500 * GB, usable_bytes=factor * 500 * GB) for d in row.log_dirs],
        )
        for row, factor in zip(brokers(9, racks=3), np.repeat([1, 2, 4], 3).tolist(), strict=True)
    ]
    parts = [(lot.integers(0, 3, 3) * 3 + np.arange(3) + 1, round(float(size) * GB)) for size in sizes]
    topics = [
        TopicRow(
            topic=f"t{t}",
            partitions=[partition(n, r.tolist(), gb) for n, (r, gb) in enumerate(parts[10 * t : 10 * t + 10])],
        )
        for t in range(20)
    ]
    return cluster(rows, topics)


def test_large_brokers_that_are_full_by_number_take_large_replicas_for_small_ones() -> None:
    """Bytes go from small brokers to large ones, not from broker to broker: 1.07 x the bound, not 1.17 x."""
    plan = make_plan(_brokers_of_unequal_size(), PlanOptions())

    assert plan.bound_bytes is not None
    assert plan.moved_bytes / plan.bound_bytes < 1.1
