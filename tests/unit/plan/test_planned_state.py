"""Plans applied to a description of a cluster."""

import pytest
from msgspec.structs import replace

from kafkabal.errors import DriftError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import PartitionChange, Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.plan.state_difference import make_changes
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def _state(*replicas: tuple[int, ...]) -> ClusterState:
    parts = [partition(i, r) for i, r in enumerate(replicas)]
    return cluster(brokers(4, dirs=2), [TopicRow(topic="img", partitions=parts)])


def test_applying_the_difference_gives_the_other_state() -> None:
    """What was computed as the way from one state to another leads there."""
    before, after = _state((1, 2), (2, 3), (3, 4)), _state((1, 2), (4, 3), (3, 1))

    reached = apply_plan(before, Plan(partitions=make_changes(before, after)))

    assert make_changes(reached, after) == ()


@pytest.mark.parametrize(("free_gb", "gained_gb"), [(500, 1), (1000, 0)], ids=["used", "reported to be empty"])
def test_usable_bytes_follow_the_replicas(free_gb: int, gained_gb: int) -> None:
    """A volume has less room by what came to it, and more by what left; at most all of it, though a compressed one may
    be reported to hold less than its replicas do."""
    rows = [
        replace(b, log_dirs=[replace(d, usable_bytes=free_gb * GB) for d in b.log_dirs]) for b in brokers(4, dirs=2)
    ]
    before = cluster(rows, [TopicRow(topic="img", partitions=[partition(0, (1, 2))])])
    change = PartitionChange(topic="img", partition=0, replicas=(3, 2), log_dirs=("/d1", "any"))

    dirs = apply_plan(before, Plan(partitions=(change,))).log_dirs

    gained = dirs.usable_bytes - before.log_dirs.usable_bytes
    assert (gained // GB).tolist() == [gained_gb, 0, 0, 0, 0, -1, 0, 0]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (PartitionChange(topic="txt", partition=0, replicas=(1,), log_dirs=("any",)), "txt-0"),
        (PartitionChange(topic="img", partition=7, replicas=(1,), log_dirs=("any",)), "img-7"),
        (PartitionChange(topic="img", partition=0, replicas=(9,), log_dirs=("any",)), "unknown broker in the plan: 9"),
        (PartitionChange(topic="img", partition=0, replicas=(1,), log_dirs=("/x",)), "/x"),
    ],
)
def test_a_plan_for_another_cluster_is_refused(change: PartitionChange, named: str) -> None:
    """What the cluster does not have is named."""
    with pytest.raises(DriftError, match=named):
        apply_plan(_state((1, 2)), Plan(partitions=(change,)))
