"""Rows that contradict themselves are refused, and missing values are known to be unknown."""

import numpy as np
import pytest

from kafkabal.errors import InvalidClusterError
from kafkabal.model.cluster_rows import BrokerRow, FutureRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import CommittedOffsets
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.testing import cluster_builders

TWO = cluster_builders.brokers(2)


def topic(name: str = "t", **partition: object) -> TopicRow:
    """A topic of one partition, on brokers 1 and 2 unless given otherwise."""
    return TopicRow(topic=name, partitions=[PartitionRow(**{"partition": 0, "replicas": [1, 2], **partition})])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (topic(replicas=[]), "t-0.* no replicas"),
        (topic(replicas=[1, 2, 1]), "broker 1 twice among its replicas"),
        (topic(replicas=[1, -2]), "t-0 has a replica on broker -2"),
        (topic(partition=-1), "negative partition number"),
        (topic(leader=3), "led by broker 3, not among its replicas"),
        (topic(isr=[1, 3]), "t-0 has in its ISR broker 3, not among its replicas"),
        (topic(adding=[3, 4]), "t-0 is adding brokers 3, 4, not among its replicas"),
        (topic(removing=[3]), "t-0 is removing broker 3, not among its replicas"),
        (topic(sizes=[1]), "t-0 has 2 replicas but 1 sizes"),
        (topic(sizes=[1, -5]), "negative size"),
        (topic(log_dirs=[0]), "t-0 has 2 replicas but 1 log_dirs"),
        (topic(log_dirs=[0, 1]), "is in log dir 1 of broker 2, which has fewer log dirs"),
        (topic(log_dirs=[-2, 0]), "negative log dir index"),
        (topic(future=[FutureRow(broker=3, log_dir=0, bytes=1)]), "broker 3, which has no replica of it"),
        (topic(future=[FutureRow(broker=2, log_dir=1, bytes=1)]), "log dir 1 of broker 2, which has fewer"),
    ],
)
def test_a_topic_that_contradicts_itself_is_refused(row: TopicRow, message: str) -> None:
    """The message names the fault, and the row is counted among the topics."""
    with pytest.raises(InvalidClusterError, match=message) as error:
        build_cluster(cluster_builders.header(), TWO, [topic("first"), row])
    assert error.value.topic_row == 1
    assert error.value.broker_row is None


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([topic("a"), topic("b"), topic("a")], "duplicate topic: a"),
        (
            [topic("a"), topic("b"), TopicRow(topic="c", partitions=[*topic().partitions, *topic().partitions])],
            "duplicate partition: c-0",
        ),
    ],
)
def test_duplicate_rows_are_refused(rows: list[TopicRow], message: str) -> None:
    """Two descriptions of one thing may differ, so they are refused, at the second."""
    with pytest.raises(InvalidClusterError, match=message) as error:
        build_cluster(cluster_builders.header(), TWO, rows)
    assert error.value.topic_row == 2


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (BrokerRow(broker=1), "duplicate broker: 1"),
        (BrokerRow(broker=-1), "negative broker id: -1"),
        (BrokerRow(broker=9, log_dirs=[LogDirRow(path="/d"), LogDirRow(path="/d")]), "broker 9: duplicate log dir"),
        (BrokerRow(broker=9, log_dirs=[LogDirRow(path="/d", total_bytes=-1)]), "/d of broker 9 has negative bytes"),
        (BrokerRow(broker=9, log_dirs=[LogDirRow(path="/d", usable_bytes=-1)]), "/d of broker 9 has negative bytes"),
        (
            BrokerRow(broker=9, log_dirs=[LogDirRow(path="/d", total_bytes=10, usable_bytes=11)]),
            "/d of broker 9: usable_bytes 11 exceeds total_bytes 10",
        ),
    ],
)
def test_a_broker_that_contradicts_itself_is_refused(row: BrokerRow, message: str) -> None:
    """The message names the fault, and the row is counted among the brokers."""
    with pytest.raises(InvalidClusterError, match=message) as error:
        build_cluster(cluster_builders.header(), [*TWO, row], [])
    assert error.value.broker_row == 2
    assert error.value.topic_row is None


def test_a_broker_that_only_holds_replicas_is_dead() -> None:
    """It has no rack and no log dirs, and is no live broker."""
    state = build_cluster(cluster_builders.header(), TWO, [topic(replicas=[1, 7], leader=1)])
    assert state.brokers.id.tolist() == [1, 2, 7]
    assert state.brokers.is_live.tolist() == [True, True, False]
    assert state.brokers.rack.tolist()[2] == -1
    assert np.diff(state.log_dirs.first).tolist() == [1, 1, 0]


def test_omitted_values_are_unknown() -> None:
    """No leader, no sizes, no dirs, no offsets, no rates; a missing ISR counts as in sync."""
    state = build_cluster(cluster_builders.header(), TWO, [topic()])
    assert state.partitions.leader.tolist() == [-1]
    assert state.leader_replica.tolist() == [-1]
    assert state.replicas.size_bytes.tolist() == [-1, -1]
    assert state.replicas.log_dir.tolist() == [-1, -1]
    assert state.replicas.in_sync.tolist() == [True, True]
    assert state.partitions.end_offset.tolist() == [-1]
    assert np.isnan(state.partitions.in_bytes_per_s).all()
    assert state.topics.configs == (None,)


def test_known_values_are_kept_beside_unknown_ones() -> None:
    """Of two partitions, the first of whose values are known: neither hides the other."""
    known = PartitionRow(partition=0, replicas=[1], start_offset=5, end_offset=9, in_bytes_per_s=2.5, out_bytes_per_s=0)
    row = TopicRow(topic="t", partitions=[known, PartitionRow(partition=1, replicas=[2])])
    parts = build_cluster(cluster_builders.header(), TWO, [row]).partitions
    assert parts.start_offset.tolist() == [5, -1]
    assert parts.end_offset.tolist() == [9, -1]
    assert np.array_equal(parts.in_bytes_per_s, [2.5, np.nan], equal_nan=True)
    assert np.array_equal(parts.out_bytes_per_s, [0.0, np.nan], equal_nan=True)


def test_a_future_replica_is_kept_apart_from_the_replica() -> None:
    """A copy in flight to another dir adds nothing to the size of its replica."""
    rows = [topic(sizes=[10, 20], log_dirs=[0, 0], future=[FutureRow(broker=2, log_dir=1, bytes=15)])]
    state = build_cluster(cluster_builders.header(), cluster_builders.brokers(2, dirs=2), rows)
    assert state.replicas.size_bytes.tolist() == [10, 20]
    assert state.futures.replica.tolist() == [1]
    assert state.futures.log_dir.tolist() == [3]
    assert state.futures.size_bytes.tolist() == [15]


def test_an_empty_cluster_has_empty_columns() -> None:
    """No brokers and no topics are a cluster too."""
    state = build_cluster(cluster_builders.header(), [], [])
    assert (len(state.brokers), len(state.log_dirs), len(state.topics)) == (0, 0, 0)
    assert (len(state.partitions), len(state.replicas), state.leader_replica.tolist()) == (0, 0, [])


def test_committed_offsets_follow_their_partitions() -> None:
    """Partitions of committed offsets are counted in the order of the rows and renumbered when topics are sorted."""
    committed = CommittedOffsets(
        groups=("g", "h"),
        group=np.array([1, 0, 0], np.int32),
        partition=np.array([0, 1, 0], np.int32),
        offset=np.array([5, 7, 6]),
    )
    state = build_cluster(cluster_builders.header(), TWO, [topic("z"), topic("a")], committed=committed)
    found = state.committed
    names = [str(state.topic_partition(p)) for p in found.partition]
    assert list(zip(found.group.tolist(), names, found.offset.tolist(), strict=True)) == [
        (0, "a-0", 7),
        (0, "z-0", 6),
        (1, "z-0", 5),
    ]


def test_topics_in_many_chunks_give_the_same_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunk boundaries do not show, not even in the row that an error names."""
    monkeypatch.setattr("kafkabal.model.topic_columns._TOPICS_A_CHUNK", 2)
    rows = [topic(f"t{i}", replicas=[1 + i % 2]) for i in range(5)]
    state = build_cluster(cluster_builders.header(), TWO, rows)
    assert state.replicas.broker.tolist() == [0, 1, 0, 1, 0]
    with pytest.raises(InvalidClusterError, match="t3-0") as error:
        build_cluster(cluster_builders.header(), TWO, [*rows[:3], topic("t3", sizes=[]), rows[4]])
    assert error.value.topic_row == 3


def test_a_log_dir_that_reports_a_total_of_0_has_an_unknown_size() -> None:
    """A total of 0 is no full disk, and nothing is known of its room; a full disk has a total."""
    dirs = [
        LogDirRow(path="/zero", total_bytes=0, usable_bytes=0),
        LogDirRow(path="/full", total_bytes=100, usable_bytes=0),
    ]
    state = build_cluster(cluster_builders.header(), [BrokerRow(broker=1, log_dirs=dirs)], [])

    assert state.log_dirs.total_bytes.tolist() == [-1, 100]
    assert state.log_dirs.usable_bytes.tolist() == [-1, 0]
