"""Whether brokers can be drained, without making a plan."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.errors import InfeasibleError, UsageError
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.planner.drain_check import DrainCheck, check_drain
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic

_RATE = 10_000_000


def _reasons(found: DrainCheck) -> dict[str, str]:
    return {blocker.topic: blocker.reason for blocker in found.blockers}


def test_a_broker_that_can_be_drained() -> None:
    """Replicas, leaders, bytes and time are those of the drained brokers, and a plan for them can be made."""
    state = cluster(brokers(4), [topic("img", (3, 1), (1, 3), (1, 2), size_bytes=GB)])
    found = check_drain(state, [3], throttle_bytes_per_s=_RATE)
    assert found.can_drain
    assert (found.replicas, found.leaders, found.bytes) == (2, 1, 2 * GB)
    # both come from one broker each at best, and to three
    assert found.duration_s == pytest.approx(1.12 * GB / _RATE)
    make_plan(state, PlanOptions(drain=frozenset({3})))


def test_a_replication_factor_that_the_others_cannot_keep() -> None:
    """The topic is named, and a plan for it is refused too."""
    state = cluster(brokers(3), [topic("three", (1, 2, 3)), topic("two", (1, 3))])
    found = check_drain(state, [3], throttle_bytes_per_s=_RATE)
    assert not found.can_drain
    assert _reasons(found) == {"three": "replication factor: too few other brokers"}
    with pytest.raises(InfeasibleError):
        make_plan(state, PlanOptions(drain=frozenset({3})))


def test_a_replica_elsewhere_that_is_offline_needs_a_broker_too() -> None:
    """Kafka completes no move of a partition that keeps a dead replica: with one broker left neither can leave."""
    rows = brokers(4)
    rows[1] = replace(rows[1], state="dead")
    state = cluster(rows, [topic("three", (1, 2, 3))])
    found = check_drain(state, [1], throttle_bytes_per_s=_RATE)
    assert _reasons(found) == {"three": "replication factor: too few other brokers"}
    with pytest.raises(InfeasibleError):
        make_plan(state, PlanOptions(drain=frozenset({1})))


def test_racks_copies_and_min_isr() -> None:
    """Fewer racks, a partition without a readable copy, and one below its min ISR each block by topic."""
    lost = replace(partition(0, [3, 1]), leader=-1, isr=[])
    thin = replace(partition(0, [1, 3, 2]), isr=[1, 3])
    state = cluster(
        brokers(4, racks=3),
        [
            TopicRow(topic="lost", partitions=[lost]),
            topic("spread", (1, 2, 3)),
            TopicRow(topic="thin", partitions=[thin], configs={"min.insync.replicas": "3"}),
        ],
    )
    found = check_drain(state, [3], throttle_bytes_per_s=_RATE)
    reasons = {(b.topic, b.reason.split(":")[0]) for b in found.blockers}
    assert ("spread", "racks") in reasons
    assert ("lost", "no in-sync replica is online to copy from") in reasons
    assert ("thin", "fewer replicas in sync than min.insync.replicas") in reasons
    assert ("thin", "a replica that stays is out of sync") in reasons


def test_room_that_is_missing() -> None:
    """Bytes that do not fit into the other brokers' log dirs are reported; excluded brokers offer no room."""
    state = cluster(brokers(3, dir_bytes=10 * GB), [topic("img", (3,), (3,), (3,), size_bytes=5 * GB)])
    assert check_drain(state, [3], throttle_bytes_per_s=_RATE).can_drain
    found = check_drain(state, [3], throttle_bytes_per_s=_RATE, excluded=[2])
    assert not found.can_drain
    assert found.missing_bytes == 15 * GB - round(8.5 * GB)
    assert set(found.target) == {1}


def test_a_replica_that_no_log_dir_can_hold() -> None:
    """A replica larger than any log dir blocks, as it does a plan, although the sum of free space suffices."""
    rows = [*brokers(2, dir_bytes=10 * GB), brokers(3, dir_bytes=20 * GB)[2]]
    state = cluster(rows, [topic("large", (3,), size_bytes=9 * GB), topic("small", (3,), size_bytes=8 * GB)])
    found = check_drain(state, [3], throttle_bytes_per_s=_RATE)
    assert not found.missing_bytes
    assert _reasons(found) == {"large": "room: larger than a log dir may hold"}
    with pytest.raises(InfeasibleError):
        make_plan(state, PlanOptions(drain=frozenset({3})))


def test_replicas_that_could_make_room_block_nothing() -> None:
    """A replica larger than the free space of each log dir fits once others have moved away."""
    full = [topic("old", (1,), (2,), size_bytes=4 * GB)]
    state = cluster(brokers(3, dir_bytes=10 * GB), [*full, topic("img", (3,), size_bytes=8 * GB)])
    assert check_drain(state, [3], throttle_bytes_per_s=_RATE).can_drain


def test_a_lagging_replica_that_leaves_blocks_nothing() -> None:
    """The drained broker itself may be out of sync or dead: its replicas are replaced."""
    rows = brokers(4)
    rows[2] = replace(rows[2], state="dead", log_dirs=[])
    behind = replace(partition(0, [1, 3]), isr=[1], log_dirs=[0, None], sizes=[GB, None])
    state = cluster(rows, [TopicRow(topic="img", partitions=[behind])])
    assert check_drain(state, [3], throttle_bytes_per_s=_RATE).can_drain


def test_an_unknown_broker_and_the_last_one() -> None:
    """An unknown broker is a usage error; draining all brokers leaves nowhere for replicas."""
    state = cluster(brokers(2), [topic("img", (1,))])
    with pytest.raises(UsageError, match="unknown broker: 9"):
        check_drain(state, [9], throttle_bytes_per_s=_RATE)
    with pytest.raises(InfeasibleError):
        check_drain(state, [1, 2], throttle_bytes_per_s=_RATE)
