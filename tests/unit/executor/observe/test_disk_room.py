"""Room on volumes while a run goes on: unknown is neither full nor endless."""

from __future__ import annotations

from msgspec.structs import replace

from kafkabal.executor.observe.disk_room import Disks
from kafkabal.model.rows import TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition


def test_a_broker_that_did_not_report_gets_no_copy() -> None:
    """Where others report their log dirs, nobody knows whether a copy would fill the disk of one that does not."""
    first, second = brokers(2, dir_bytes=1000)
    unknown = replace(partition(0, (1, 2), 10), log_dirs=[0, None])
    state = cluster([first, replace(second, log_dirs=[])], [TopicRow(topic="t", partitions=[unknown])])

    disks = Disks(state, 0.85)

    assert disks.obstacle(2, None, 10) == "broker 2 did not report its log dirs"
    assert disks.obstacle(1, None, 10) is None


def test_where_usable_bytes_are_unknown_logs_count_as_used() -> None:
    """The planner reckons so; a run that allowed everything filled what the plan had left free."""
    (broker,) = brokers(1, dir_bytes=1000)
    hidden = replace(broker, log_dirs=[replace(d, usable_bytes=None) for d in broker.log_dirs])
    state = cluster([hidden], [TopicRow(topic="t", partitions=[partition(0, (1,), 800)])])

    disks = Disks(state, 0.85)

    assert disks.obstacle(1, "/d0", 50) is None
    assert disks.obstacle(1, "/d0", 51) == "its destination log dir would exceed the disk limit"
