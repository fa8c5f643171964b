"""Drift: what has changed since a plan was made, in words."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.drift import find_drift, partition_rows
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic

PREVIOUS = Placement(replicas=(1, 2), leader=1, log_dirs=("/d0", "/d0"))


def _plan(previous: Placement | None = PREVIOUS, replicas: tuple[int, ...] = (3, 2)) -> Plan:
    change = PartitionChange(topic="t", partition=0, replicas=replicas, log_dirs=("any", "any"), previous=previous)
    return Plan(partitions=(change,))


def _state(*partitions: PartitionRow) -> ClusterState:
    rows = [TopicRow(topic="t", partitions=list(partitions)), topic("s", [1, 2, 3])]
    return cluster(brokers(3, dirs=2), rows)


MOVING = PartitionRow(partition=0, leader=1, replicas=[3, 2, 1], adding=[3], removing=[1], isr=[1, 2])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (partition(0, [1, 2]), []),
        (partition(0, [1, 2], leader=2), []),
        (partition(0, [1, 2], 5), []),
        (partition(0, [3, 2]), []),
        (partition(0, [2, 1]), ["t-0 was on brokers 1,2 and is now on 2,1"]),
        (partition(0, [1, 3]), ["t-0 was on brokers 1,2 and is now on 1,3"]),
        (partition(0, [1, 2], log_dirs=[1, 0]), ["t-0 was in /d0 of broker 1, is now in /d1"]),
        (partition(7, [1, 2]), ["t-0 no longer exists"]),
        (MOVING, ["t-0 is being reassigned by another tool"]),
    ],
)
def test_drift(found: PartitionRow, expected: list[str]) -> None:
    """Each difference has its sentence; constant changes, and partitions already in place, are no drift."""
    assert [str(d) for d in find_drift(_plan(), _state(found))] == expected


def test_missing_target() -> None:
    """A plan with a target broker that is no longer alive has drifted."""
    plan = _plan(replicas=(9, 2))
    found = [str(d) for d in find_drift(plan, _state(partition(0, [1, 2])))]
    assert found == ["t-0 moves to broker 9, which is dead or unknown"]


def test_replica_that_stays_and_cannot_be_in_sync() -> None:
    """Kafka ends no reassignment that keeps a replica on a dead broker or in an offline log dir."""
    rows = brokers(3, dirs=2)
    topics = [TopicRow(topic="t", partitions=[partition(0, [1, 2], log_dirs=[0, 0])])]
    dead = cluster([rows[0], replace(rows[1], state="dead"), rows[2]], topics)
    assert [str(d) for d in find_drift(_plan(), dead)] == ["t-0 keeps a replica on broker 2, which is dead"]

    failed = replace(rows[1].log_dirs[0], state="offline")
    offline = cluster([rows[0], replace(rows[1], log_dirs=[failed, rows[1].log_dirs[1]]), rows[2]], topics)
    found = [str(d) for d in find_drift(_plan(), offline)]
    assert found == ["t-0 keeps a replica in an offline log dir of broker 2"]
    assert find_drift(_plan(replicas=(2, 1)), offline) == ()


def test_plan_without_a_past() -> None:
    """A plan of another tool cannot drift, as long as its partitions exist."""
    assert find_drift(_plan(previous=None), _state(partition(0, [2, 1]))) == ()
    assert len(find_drift(_plan(previous=None), _state(partition(5, [2, 1])))) == 1


@pytest.mark.parametrize(("topic_id", "drifts"), [("one", 0), ("two", 1), ("", 0)])
def test_a_topic_that_was_created_again_has_drifted(topic_id: str, drifts: int) -> None:
    """On the same brokers under the same name, but another topic; if the cluster reports no ids it is not detected."""
    plan = replace(_plan(), topic_ids={"t": "one"})
    row = TopicRow(topic="t", partitions=[partition(0, [1, 2])], topic_id=topic_id)
    found = find_drift(plan, cluster(brokers(3, dirs=2), [row]))
    assert [str(d) for d in found] == ["t-0 is of a topic that was deleted and created again"] * drifts


def test_rows_of_partitions_that_exist() -> None:
    """In the order asked for; unknown topics and numbers are left out, also one that no 64-bit number holds."""
    state = _state(partition(0, [1, 2]), partition(3, [1, 2]))
    names = [("t", 3), ("t", 1), ("s", 0), ("u", 0), ("s", -1), ("s", 2**31), ("s", 2**70), ("t", 0)]
    found = dict(partition_rows(state, [TopicPartition(*name) for name in names]))
    assert {str(name): row for name, row in found.items()} == {"t-3": 2, "s-0": 0, "t-0": 1}
    assert not dict(partition_rows(cluster(brokers(1), []), [TopicPartition("t", 0)]))
