"""Bands that no placement of whole replicas reaches, shown by counting."""

import pytest

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.out_of_reach import is_out_of_reach
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def _is_out_of_reach(sizes_gb: list[float], n_brokers: int) -> bool:
    """By disk at 2%, with one replica of each partition."""
    parts = [partition(p, [p % n_brokers + 1], int(gb * GB)) for p, gb in enumerate(sizes_gb)]
    state = cluster(brokers(n_brokers), [TopicRow(topic="t", partitions=parts)])
    return is_out_of_reach(Solution(build_problem(state, PlanOptions(tolerance=0.02, scores=load_scores(["disk"])))))


@pytest.mark.parametrize(
    "sizes_gb",
    [[100, *[1] * 11], [30, 1, 1], [10, 10.1, 9.9, 10, 10.05, 9.95, 10, 10], [10] * 5],
    ids=["one too large", "fewer than can fill brokers", "eight equal ones on three brokers", "five on three"],
)
def test_counting_shows_that_bands_are_out_of_reach(sizes_gb: list[float]) -> None:
    """A partition exceeds every band, or brokers need more replicas than there are."""
    assert _is_out_of_reach(sizes_gb, 3)


@pytest.mark.parametrize("sizes_gb", [[10] * 9, [20, 10, 10, 20, 5, 5, 10], [1] * 100])
def test_bands_that_may_be_in_reach_are_not_given_up(sizes_gb: list[float]) -> None:
    """Equal sums exist, or counting does not exclude them."""
    assert not _is_out_of_reach(sizes_gb, 3)
