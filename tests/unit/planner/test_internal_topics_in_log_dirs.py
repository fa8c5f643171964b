"""``rebalance`` and ``inspect --check`` agree on log dirs that internal topics make unequal."""

from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.inspection.verdict import has_findings
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def three_brokers(*topics: TopicRow) -> ClusterState:
    """Each broker has three log dirs, with 573 bytes of offsets in the first one."""
    offsets = [partition(0, [1, 2, 3], 573)]
    return cluster(
        brokers(3, dirs=3), [TopicRow(topic="__consumer_offsets", internal=True, partitions=offsets), *topics]
    )


def test_a_cluster_that_holds_nothing_but_internal_topics_is_balanced() -> None:
    """No replica may move, so nothing is reported and nothing is planned."""
    state = three_brokers()
    plan = make_plan(state)

    assert (plan.partitions, plan.warnings) == ((), ())
    assert not has_findings(inspect_cluster(state), 0.10)


def test_other_topics_are_balanced_around_internal_ones() -> None:
    """A log dir with more internal bytes than the mean gets nothing else; the rest is spread over the others."""
    offsets = TopicRow(topic="__own", internal=True, partitions=[partition(0, [1, 2, 3], 10 * GB)])
    others = [partition(p, [1, 2, 3], GB, log_dirs=[1, 1, 1]) for p in range(4)]
    state = three_brokers(offsets, TopicRow(topic="t", partitions=others))
    plan = make_plan(state)
    after = apply_plan(state, plan)

    assert has_findings(inspect_cluster(state), 0.10)
    assert (len(plan.partitions), plan.warnings) == (2, ())
    assert not has_findings(inspect_cluster(after), 0.10)
    assert make_plan(after).partitions == ()
