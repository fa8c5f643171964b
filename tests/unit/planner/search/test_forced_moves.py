"""Bands that single moves cannot reach, because a few partitions make up nearly all bytes."""

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.forced_moves import force_into_bands
from kafkabal.planner.search.local_search import search_locally
from kafkabal.planner.search.search_phases import is_outside
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def few_large_partitions() -> ClusterState:
    """Two of the three largest partitions are more than one of five brokers may hold."""
    world = SyntheticWorld(
        seed=95, brokers=9, racks=2, topics=20, most_partitions=8, replication_factor=2, half_sized=True
    )
    return make_world(world)


def test_two_large_partitions_are_separated() -> None:
    """If a plan of whole replicas inside all bands exists, it is found."""
    assert make_plan(few_large_partitions()).warnings == ()


def test_a_forced_move_ends_where_single_moves_do_not() -> None:
    """The local search stops outside the bands, and continuing breaks no rule."""
    solution = Solution(build_problem(few_large_partitions(), PlanOptions()))
    search_locally(solution)
    assert is_outside(solution)
    found = force_into_bands(solution)

    assert not is_outside(found)
    assert not found.narrow().any()
    assert found.used.sum() == solution.used.sum()


def test_unreachable_bands_change_nothing() -> None:
    """One partition is larger than what any broker may hold."""
    topic = TopicRow(topic="t", partitions=[partition(p, [p % 3 + 1], (100 if p == 0 else 1) * GB) for p in range(12)])
    solution = Solution(build_problem(cluster(brokers(3), [topic]), PlanOptions()))
    search_locally(solution)

    assert force_into_bands(solution) is solution
