"""Leaders of a new topic, compared with the best of all choices."""

from collections import Counter
from itertools import product
from random import Random

import pytest

from kafkabal.config.topic_specs import topic_spec
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.placement.placement_policy import PlacementPolicy
from kafkabal.placement.topic_placement import PlacedTopics, place_topics
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def led_before(state: ClusterState) -> Counter[int]:
    """Partitions that each broker leads already, by broker id."""
    return Counter(state.brokers.id[state.partitions.leader].tolist())


def create(state: ClusterState, partitions: int, factor: int) -> PlacedTopics:
    """A new topic on the cluster."""
    spec = topic_spec("new", partitions=partitions, replication_factor=factor, partition_bytes=1)
    return place_topics(state, [spec], PlacementPolicy())


def squares(led: Counter[int]) -> int:
    """What is least where leaders are spread as evenly as they can be."""
    return sum(n * n for n in led.values())


@pytest.mark.parametrize("seed", range(30))
def test_no_other_choice_of_leaders_is_more_even(seed: int) -> None:
    """On drawn clusters whose brokers lead unequal numbers, all choices of a leader for each partition are tried."""
    draw = Random(seed)
    count, factor = draw.randint(3, 6), draw.randint(2, 3)
    ids = [row.broker for row in brokers(count)]
    rows: list[TopicRow] = [topic("old", *([draw.choice(ids[:2])] for _ in range(draw.randint(0, 6))), size_bytes=1)]
    state = cluster(brokers(count, racks=draw.randint(1, 3)), rows if rows[0].partitions else [])
    before = led_before(state)

    assignment = create(state, draw.randint(2, 7), factor).topics[0].assignment

    found = squares(before + Counter(replicas[0] for replicas in assignment))
    assert found == min(squares(before + Counter(choice)) for choice in product(*assignment))


@pytest.mark.parametrize(("count", "racks", "partitions"), [(4, 3, 12), (4, 3, 24), (5, 3, 15), (6, 3, 60), (7, 2, 70)])
def test_an_empty_cluster_is_led_in_equal_numbers(count: int, racks: int, partitions: int) -> None:
    """Though with unequal racks some brokers hold twice as many replicas as others."""
    assignment = create(cluster(brokers(count, racks=racks), []), partitions, 3).topics[0].assignment

    led = Counter(replicas[0] for replicas in assignment)

    assert set(led.values()) == {partitions // count}
