"""Room on volumes during a run: unknown is neither full nor unlimited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition, topic


def test_a_broker_that_did_not_report_gets_no_copy() -> None:
    """If other brokers report their log dirs, it is unknown whether a copy would fit on one that does not."""
    first, second = brokers(2, dir_bytes=1000)
    unknown = replace(partition(0, (1, 2), 10), log_dirs=[0, None])
    state = cluster([first, replace(second, log_dirs=[])], [TopicRow(topic="t", partitions=[unknown])])

    disks = DiskRoom(state, 0.85)

    assert disks.obstacle(2, None, 10) == "broker 2 did not report its log dirs"
    assert disks.obstacle(1, None, 10) is None


def test_where_usable_bytes_are_unknown_logs_count_as_used() -> None:
    """The planner counts like this; a run that allowed everything filled what the plan had left free."""
    (broker,) = brokers(1, dir_bytes=1000)
    hidden = replace(broker, log_dirs=[replace(d, usable_bytes=None) for d in broker.log_dirs])
    state = cluster([hidden], [TopicRow(topic="t", partitions=[partition(0, (1,), 800)])])

    disks = DiskRoom(state, 0.85)

    assert disks.obstacle(1, "/d0", 50) is None
    assert disks.obstacle(1, "/d0", 51) == "its destination log dir would exceed the disk limit"


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 60)), max_size=20))
def test_disks_are_never_promised_twice(copies: list[tuple[int, int]]) -> None:
    """However copies arrive, each volume is promised up to its limit and not beyond."""
    disks = DiskRoom(cluster(brokers(3, dir_bytes=100), [topic("t", [1, 2, 3], size_bytes=10)]), 0.85)
    promised = dict.fromkeys((1, 2, 3), 0)
    for broker, size in copies:
        fits = disks.has_room(broker, "/d0", size)
        assert fits == (promised[broker] + size <= 85)
        if fits:
            disks.reserve(broker, "/d0", size)
            promised[broker] += size


def test_a_lost_copy_is_reported_with_the_offline_log_dirs() -> None:
    """By the target dir; if the broker may choose any, by all of its dirs, and by no other broker's."""
    first, second = brokers(2, dirs=2, dir_bytes=1000)
    dirs = [replace(d, state="offline") for d in second.log_dirs]
    for count, where in ((1, "log dir /d0 is"), (2, "log dirs /d0, /d1 are")):
        failed = replace(second, log_dirs=[*dirs[:count], *second.log_dirs[count:]])
        disks = DiskRoom(cluster([first, failed], []), 0.85)
        assert disks.loss(2, "/d0") == "log dir /d0 of broker 2 is offline"
        assert disks.loss(2, None) == f"broker 2 lost its copy: its {where} offline"
        assert disks.loss(1, None) == "broker 1 lost its copy"


def test_dirs_of_a_broker() -> None:
    """Without a path a copy must fit, and is counted, on every dir that the broker may choose; with one, on that."""
    first, second = brokers(2, dirs=3, dir_bytes=1000)
    offline = replace(second, log_dirs=[*second.log_dirs[:2], replace(second.log_dirs[2], state="offline")])
    disks = DiskRoom(cluster([first, offline], []), 0.85)
    disks.reserve(2, "/d0", 800)
    disks.reserve(2, None, 30)
    assert [disks.has_room(2, "/d0", size) for size in (20, 21)] == [True, False]
    assert [disks.has_room(2, "/d1", size) for size in (820, 821)] == [True, False]
    assert [disks.has_room(2, None, size) for size in (20, 21)] == [True, False]
    assert disks.has_room(1, None, 850)
    assert not disks.has_room(1, None, 851)
    # an offline dir is none that the broker may choose, and takes nothing itself
    assert disks.obstacle(2, "/d2", 1) == "log dir /d2 of broker 2 is offline"
    assert disks.obstacle(2, "/d1", 1) is None
    assert disks.obstacle(2, "/d1", 821) == "its destination log dir would exceed the disk limit"
    assert disks.has_room(2, "/unknown", 10**9)


def test_dirs_on_one_volume_share_its_room() -> None:
    """A copy to a broker that may choose the dir counts once on the volume; one of unknown size takes everything."""
    first, second = brokers(2, dirs=2, dir_bytes=1000)
    shared = replace(first, log_dirs=[replace(d, volume="v") for d in first.log_dirs])
    unknown = replace(second, log_dirs=[replace(d, total_bytes=None, usable_bytes=None) for d in second.log_dirs])
    disks = DiskRoom(cluster([shared, unknown], []), 0.85)
    disks.reserve(1, None, 300)
    disks.reserve(2, "/d0", 10**12)
    assert [disks.has_room(1, "/d1", size) for size in (550, 551)] == [True, False]
    assert disks.has_room(2, "/d0", 10**12)
