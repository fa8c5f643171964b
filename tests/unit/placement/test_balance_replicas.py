"""Replicas of a new topic, compared with the best of all choices."""

from collections import Counter
from itertools import combinations
from random import Random

import pytest

from kafkabal.config.topic_specs import topic_spec
from kafkabal.model.cluster_state import ClusterState
from kafkabal.placement.placement_policy import PlacementPolicy
from kafkabal.placement.topic_placement import PlacedTopics, place_topics
from kafkabal.scoring import rules_of
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.cluster_builders import brokers, cluster, topic

SCORES = load_scores(["replicas", "leaders"])


def create(state: ClusterState, partitions: int, factor: int, size: int = 1) -> PlacedTopics:
    """A new topic on the cluster."""
    spec = topic_spec("new", partitions=partitions, replication_factor=factor, partition_bytes=size)
    return place_topics(state, [spec], PlacementPolicy(), scores=SCORES)


def held(state: ClusterState) -> list[int]:
    """Replicas of each broker, by row."""
    count = Counter(state.replicas.broker.tolist())
    return [count[row] for row in range(len(state.brokers))]


def widest(state: ClusterState, factor: int) -> list[tuple[int, ...]]:
    """All sets of brokers for a partition of which no rack has two more than another that could hold one more."""
    rack = state.brokers.rack.tolist()
    size = Counter(rack)
    sets = []
    for chosen in combinations(range(len(rack)), factor):
        count = Counter(rack[row] for row in chosen)
        if all(count[r] - count[s] <= 1 or count[s] == size[s] for r in size for s in size):
            sets.append(chosen)
    return sets


def least(before: list[int], sets: list[tuple[int, ...]], partitions: int, fair: list[float]) -> float:
    """The smallest :func:`imbalance` of all ways to choose a set for each partition."""
    reached = {tuple(before)}
    for _ in range(partitions):
        reached = {
            tuple(count + (row in chosen) for row, count in enumerate(counts)) for counts in reached for chosen in sets
        }
    return min(imbalance(list(counts), fair) for counts in reached)


def imbalance(counts: list[int], fair: list[float]) -> float:
    """What is least where the counts are as close to the fair ones as they can be."""
    return sum(count**2 / due for count, due in zip(counts, fair, strict=True))


@pytest.mark.parametrize("seed", [*range(30), 136, 183, 243])
def test_no_other_choice_of_brokers_is_more_even(seed: int) -> None:
    """On drawn clusters with old replicas, all choices of brokers for each partition are tried."""
    draw = Random(seed)
    count = draw.randint(3, 5)
    factor, partitions = draw.randint(2, min(4, count)), draw.randint(1, 7)
    old = [topic("old", *([draw.randint(1, count)] for _ in range(draw.randint(0, 4))))]
    state = cluster(brokers(count, racks=draw.randint(1, count)), old if old[0].partitions else [])

    placed = create(state, partitions, factor).state

    fair = evaluate(SCORES[0].score, placed, tolerance=0.09, rules=rules_of(placed)).fair.tolist()
    best = least(held(state), widest(state, factor), partitions, fair)
    assert imbalance(held(placed), fair) == pytest.approx(best)


@pytest.mark.parametrize(
    ("count", "racks", "partitions"), [(4, 3, 24), (5, 2, 30), (7, 2, 12), (7, 3, 6), (7, 3, 12), (11, 4, 30)]
)
def test_brokers_of_a_rack_hold_equal_numbers_on_an_empty_cluster(count: int, racks: int, partitions: int) -> None:
    """By at most one, though the racks are of unequal size and leaders are spread over all of them."""
    state = cluster(brokers(count, racks=racks), [])

    counts = held(create(state, partitions, racks).state)

    for rack in range(racks):
        in_rack = [n for n, r in zip(counts, state.brokers.rack, strict=True) if r == rack]
        assert max(in_rack) - min(in_rack) <= 1


@pytest.mark.parametrize(("count", "racks", "partitions"), [(5, 2, 31), (7, 2, 13), (7, 3, 11), (8, 3, 30)])
def test_log_dirs_stay_balanced(count: int, racks: int, partitions: int) -> None:
    """A replaced replica leaves the fullest log dir, and its room there is used again."""
    state = cluster(brokers(count, racks=racks, dirs=3, dir_bytes=100 * 10), [])

    placed = create(state, partitions, racks, 10).state

    counts = Counter(placed.replicas.log_dir.tolist())
    for row, number in enumerate(held(placed)):
        dirs = [counts[d] for d in range(3 * row, 3 * row + 3)]
        assert sum(dirs) == number
        assert max(dirs) - min(dirs) <= 1


def test_the_room_of_a_replaced_replica_can_be_used_again() -> None:
    """Two topics fill the two brokers of a rack to their limit, one of which gives away a replica of the first one."""
    state = cluster(brokers(7, racks=3, dir_bytes=142), [])
    specs = [topic_spec(name, partitions=12, replication_factor=3, partition_bytes=10) for name in ("a", "b")]

    placed = place_topics(state, specs, PlacementPolicy(), scores=SCORES).state

    assert sorted(held(placed)) == [8, 8, 8, 12, 12, 12, 12]
