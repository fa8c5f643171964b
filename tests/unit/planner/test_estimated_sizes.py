"""Copies of unknown size count as large as their leader's, and a plan may change which copy leads."""

from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def test_log_dirs_are_balanced_by_sizes_of_new_leaders() -> None:
    """Once broker 3 leads, broker 2 seems to hold 8 GB less: the first plan balances its dirs, a second is empty."""
    unknown = [
        PartitionRow(
            partition=p,
            leader=1,
            replicas=[1, 2, 3],
            isr=[1, 2, 3],
            sizes=[10 * GB, None, 2 * GB],
            log_dirs=[0, 0, 0],
        )
        for p in range(3)
    ]
    known = [partition(p, [1 + p % 3], 3 * GB, log_dirs=[1]) for p in range(30)]
    state = cluster(
        brokers(3, dirs=2), [TopicRow(topic="a", partitions=unknown), TopicRow(topic="b", partitions=known)]
    )
    options = PlanOptions(scores=load_scores(["leaders", "log-dir"]))

    plan = make_plan(state, options)

    after = apply_plan(state, plan)
    assert (after.partitions.leader != state.partitions.leader).any()
    assert not any("broker 2" in line for line in plan.warnings)
    assert make_plan(after, options).partitions == ()
