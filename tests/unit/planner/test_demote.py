"""Demotion: leadership leaves a broker, and no byte moves."""

from __future__ import annotations

from msgspec.structs import replace

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.demote import demote_brokers
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic


def test_a_demoted_broker_leads_nothing() -> None:
    """Every partition gets another leader on the same brokers, and the leaders are balanced."""
    state = cluster(brokers(3), [topic("t", *[(1, 2, 3)] * 6)])

    plan = demote_brokers(state, [1])

    assert len(plan.partitions) == 6
    assert all(set(c.replicas) == {1, 2, 3} and c.replicas[-1] == 1 for c in plan.partitions)
    leaders = [c.replicas[0] for c in plan.partitions]
    assert (leaders.count(2), leaders.count(3)) == (3, 3)
    assert plan.moved_bytes == 0


def test_partitions_that_only_it_can_lead_stay() -> None:
    """Leadership is never given to a copy that is out of sync."""
    alone = replace(partition(0, (1, 2)), isr=[1])
    state = cluster(brokers(2), [TopicRow(topic="t", partitions=[alone, partition(1, (1,))])])

    assert demote_brokers(state, [1]).partitions == ()


def test_leadership_avoids_excluded_brokers() -> None:
    """Not even where that broker is the only other one: the partition stays where it is."""
    state = cluster(brokers(3), [topic("t", (1, 2), (1, 3), (1, 2, 3))])

    plan = demote_brokers(state, [1], avoid=[2])

    assert [(c.partition, c.replicas) for c in plan.partitions] == [(1, (3, 1)), (2, (3, 1, 2))]
