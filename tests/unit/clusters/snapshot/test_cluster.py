"""Changes of a snapshot: what a cluster would do, with bytes that add up, written once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from kafkabal.clusters.cluster_protocol import NewTopic, ReadRequest, Reassignment, ReplicaOn
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.clusters.snapshot.mutable_rows import MutableRows
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import BrokerRow, FutureRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.testing import cluster_builders

_T = TopicPartition("t", 0)
_TOTAL = 1000


@pytest.fixture
def snapshot(tmp_path: Path) -> Callable[..., SnapshotCluster]:
    """Write a snapshot and open it."""

    def make(brokers: list[BrokerRow], *partitions: PartitionRow) -> SnapshotCluster:
        path = tmp_path / "s.jsonl"
        topics = [TopicRow(topic="t", partitions=list(partitions))] if partitions else []
        write_snapshot(cluster_builders.cluster(brokers, topics), path)
        return SnapshotCluster(path, save_to=path)

    return make


def _brokers(count: int = 3, state: Any = "online", volume: str | None = None) -> list[BrokerRow]:
    """Brokers with two dirs of 1000 bytes each, of which 400 are free."""
    return [
        BrokerRow(
            broker=b,
            log_dirs=[
                LogDirRow(
                    path=f"/d{d}",
                    total_bytes=_TOTAL,
                    usable_bytes=400,
                    volume=volume or f"v{d}",
                    state=state if d == 1 else "online",
                )
                for d in range(2)
            ],
        )
        for b in range(1, count + 1)
    ]


def _row(replicas: list[int], **fields: Any) -> PartitionRow:
    usual = {
        "partition": 0,
        "leader": replicas[0],
        "isr": replicas,
        "sizes": [100] * len(replicas),
        "log_dirs": [0] * len(replicas),
    }
    return PartitionRow(replicas=replicas, **(usual | fields))


def _usable(cluster: SnapshotCluster, broker: int) -> list[int]:
    state = cluster.read(ReadRequest()).state
    at = state.brokers.index_of(broker)
    return [int(v) for v in state.log_dirs.usable_bytes[state.log_dirs.first[at] : state.log_dirs.first[at + 1]]]


def test_an_unchanged_snapshot_is_not_written(snapshot: Callable[..., SnapshotCluster], tmp_path: Path) -> None:
    """Reading, querying and validating leave the file unchanged, to the byte."""
    cluster = snapshot(_brokers(), _row([1, 2]))
    before = (tmp_path / "s.jsonl").stat().st_mtime_ns
    with cluster:
        cluster.read(ReadRequest())
        cluster.partition_status(["t"])
        cluster.create_topics([NewTopic(name="new", assignment=((1,),))], validate_only=True)
    assert (tmp_path / "s.jsonl").stat().st_mtime_ns == before


def test_changes_are_written_back_when_it_is_closed(snapshot: Callable[..., SnapshotCluster], tmp_path: Path) -> None:
    """Another process finds them in the file, also if the work ended with an error."""
    with suppress(ZeroDivisionError), snapshot(_brokers(), _row([1, 2])) as cluster:
        cluster.alter_reassignments({_T: (3, 2)})
        raise ZeroDivisionError
    state = read_snapshot(tmp_path / "s.jsonl")
    assert state.brokers.id[state.replicas.broker].tolist() == [3, 2]


def test_a_move_takes_its_bytes_along(snapshot: Callable[..., SnapshotCluster]) -> None:
    """The new copy is as large as the leader's; the bytes it takes on one disk are freed on the other."""
    cluster = snapshot(_brokers(), _row([1, 2], leader=2, sizes=[100, 70]))
    assert cluster.alter_reassignments({_T: (3, 2)}) == {}
    state = cluster.read(ReadRequest()).state
    assert state.replicas.size_bytes.tolist() == [70, 70]
    assert (_usable(cluster, 1), _usable(cluster, 2), _usable(cluster, 3)) == ([500, 400], [400, 400], [330, 400])
    assert cluster.partition_status(["t"])[_T].leader == 2


def test_a_move_frees_no_more_than_the_whole_disk(snapshot: Callable[..., SnapshotCluster]) -> None:
    """A disk that compresses holds less than its replicas do: once they have left it is empty, and the snapshot can
    still be read."""
    cluster = snapshot(_brokers(), _row([1, 2], sizes=[700, 700]))
    assert cluster.alter_reassignments({_T: (3, 2)}) == {}
    assert _usable(cluster, 1) == [_TOTAL, 400]


def test_dirs_of_one_volume_share_its_free_bytes(snapshot: Callable[..., SnapshotCluster]) -> None:
    """Free bytes change on both dirs at once."""
    cluster = snapshot(_brokers(volume="v"), _row([1, 2]))
    cluster.alter_reassignments({_T: (3, 2)})
    assert (_usable(cluster, 1), _usable(cluster, 3)) == ([500, 500], [300, 300])


def test_without_the_leaders_size_the_largest_copy_counts(snapshot: Callable[..., SnapshotCluster]) -> None:
    """A replica moved from a leader of unknown size gets the size of the largest known replica, as in a plan."""
    cluster = snapshot(_brokers(), _row([1, 2], sizes=[None, 60]))
    cluster.alter_reassignments({_T: (3, 2)})
    assert cluster.read(ReadRequest()).state.replicas.size_bytes.tolist() == [60, 60]


def test_a_leader_that_leaves_is_followed_by_one_that_stays(snapshot: Callable[..., SnapshotCluster]) -> None:
    """The first in-sync replica of the new list leads."""
    cluster = snapshot(_brokers(), _row([1, 2], isr=[1]))
    cluster.alter_reassignments({_T: (2, 3)})
    status = cluster.partition_status(["t"])[_T]
    assert (status.leader, status.isr) == (3, (3,))


def test_a_replica_goes_to_the_chosen_dir_else_to_the_one_with_fewest(
    snapshot: Callable[..., SnapshotCluster],
) -> None:
    """A request counts once; a dir that accepts no replicas is not chosen."""
    cluster = snapshot(_brokers(), _row([1]), _row([2], partition=1))
    other = TopicPartition("t", 1)
    assert cluster.move_log_dirs({ReplicaOn("t", 0, 3): "/d1"})[ReplicaOn("t", 0, 3)].name == "REPLICA_NOT_AVAILABLE"
    cluster.alter_reassignments({_T: (3,)})
    cluster.alter_reassignments({other: (3,)})
    found, _ = cluster.replica_logs([3], [_T, other])
    assert {replica.partition: log.log_dir for replica, log in found.items()} == {0: "/d1", 1: "/d0"}


@pytest.mark.parametrize("sizes", [[None, None], None])
def test_a_replica_of_unknown_size_is_in_its_log_dir(
    snapshot: Callable[..., SnapshotCluster], sizes: list[int | None] | None
) -> None:
    """A run sees where it is, also after a move, and counts no bytes."""
    cluster = snapshot(_brokers(), _row([1, 2], sizes=sizes))
    cluster.alter_reassignments({_T: (1, 3)})
    found, _ = cluster.replica_logs([1, 3], [_T])
    assert {r.broker: (log.log_dir, log.size_bytes) for r, log in found.items()} == {1: ("/d0", 0), 3: ("/d0", 0)}


def test_cordoned_dirs_receive_no_replicas(snapshot: Callable[..., SnapshotCluster]) -> None:
    """A new replica goes to the open dir, even if that one has more replicas."""
    cluster = snapshot(_brokers(state="cordoned"), _row([1]), _row([3], partition=1))
    cluster.alter_reassignments({_T: (3,)})
    found, _ = cluster.replica_logs([3], [_T])
    assert found[ReplicaOn("t", 0, 3)].log_dir == "/d0"


def test_an_offline_dir_stops_moves_on_its_broker(snapshot: Callable[..., SnapshotCluster]) -> None:
    """Like brokers: no copy is started while a dir is offline."""
    cluster = snapshot(_brokers(state="offline"), _row([1]))
    assert cluster.move_log_dirs({ReplicaOn("t", 0, 1): "/d0"})[ReplicaOn("t", 0, 1)].name == "KAFKA_STORAGE_ERROR"


def test_dead_brokers_take_no_part(snapshot: Callable[..., SnapshotCluster]) -> None:
    """An unregistered broker gets no replicas, reports nothing, and does not lead."""
    cluster = snapshot(_brokers(2), _row([9, 1], leader=1, isr=[1], sizes=[None, 100], log_dirs=[None, 0]))
    assert cluster.broker_ids() == {1, 2}
    assert cluster.alter_reassignments({_T: (9, 2)})[_T].name == "INVALID_REPLICA_ASSIGNMENT"
    assert cluster.elect_preferred_leaders([_T])[_T].name == "PREFERRED_LEADER_NOT_AVAILABLE"
    assert set(cluster.replica_logs([1, 9], [_T])[1]) == {9}
    assert cluster.move_log_dirs({ReplicaOn("t", 0, 9): "/d0"})[ReplicaOn("t", 0, 9)].name == "unreachable"
    assert cluster.alter_reassignments({_T: (2, 1)}) == {}
    assert cluster.partition_status(["t"])[_T].replicas == (2, 1)


def test_reassignments_are_listed_without_rows(
    snapshot: Callable[..., SnapshotCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preflight check that changes nothing needs no row of each partition, which would take most of the memory."""
    cluster = snapshot(_brokers(), _row([3, 1, 2], leader=1, isr=[1, 2], adding=[3], removing=[1]))
    monkeypatch.setattr(MutableRows, "__init__", Mock(side_effect=AssertionError("rows were made")))
    assert cluster.reassignments() == {_T: Reassignment(replicas=(3, 1, 2), adding=(3,), removing=(1,))}


def test_a_reassignment_that_was_running_is_listed_and_cancelled(
    snapshot: Callable[..., SnapshotCluster],
) -> None:
    """Added replicas are removed, removed ones stay, and the bytes of the copy are free again."""
    cluster = snapshot(_brokers(), _row([3, 1, 2], leader=1, isr=[1, 2], adding=[3], removing=[1]))
    assert cluster.reassignments() == {_T: Reassignment(replicas=(3, 1, 2), adding=(3,), removing=(1,))}
    assert cluster.alter_reassignments({_T: None}) == {}
    assert cluster.reassignments() == {}
    assert cluster.partition_status(["t"])[_T].replicas == (1, 2)
    assert _usable(cluster, 3) == [500, 400]


def test_a_copy_that_was_on_its_way_is_shown_and_ends_with_the_move(
    snapshot: Callable[..., SnapshotCluster],
) -> None:
    """A replica moved elsewhere has no future replica any more."""
    cluster = snapshot(_brokers(), _row([1], future=[FutureRow(broker=1, log_dir=1, bytes=30)]))
    replica = ReplicaOn("t", 0, 1)
    log = cluster.replica_logs([1], [_T])[0][replica]
    assert (log.log_dir, log.future_log_dir, log.future_bytes) == ("/d0", "/d1", 30)
    assert cluster.move_log_dirs({replica: "/d1"}) == {}
    log = cluster.replica_logs([1], [_T])[0][replica]
    assert (log.log_dir, log.future_log_dir) == ("/d1", None)
    assert _usable(cluster, 1) == [500, 300]


def test_topics_need_the_same_number_of_replicas_everywhere(snapshot: Callable[..., SnapshotCluster]) -> None:
    """A topic with partitions of different replication factors is refused, as a controller would."""
    cluster = snapshot(_brokers())
    faults = cluster.create_topics([NewTopic(name="n", assignment=((1, 2), (3,)))])
    assert faults["n"].name == "INVALID_REPLICA_ASSIGNMENT"


def test_a_snapshot_without_an_output_file_cannot_be_changed(tmp_path: Path) -> None:
    """The source is never written: every change is refused, but reading and validating work."""
    path = tmp_path / "s.jsonl"
    topic = TopicRow(topic="t", partitions=[_row([1, 2])])
    write_snapshot(cluster_builders.cluster(_brokers(), [topic]), path)
    before = path.read_bytes()
    with SnapshotCluster(path) as cluster:
        for change in (
            lambda: cluster.alter_reassignments({_T: (3, 2)}),
            lambda: cluster.create_topics([NewTopic(name="new", assignment=((1,),))]),
            lambda: cluster.elect_preferred_leaders([_T]),
            lambda: cluster.move_log_dirs({ReplicaOn(*_T, 1): "/d1"}),
        ):
            with pytest.raises(UsageError, match="only read, never written to"):
                change()
        assert cluster.create_topics([NewTopic(name="new", assignment=((1,),))], validate_only=True) == {}
    assert path.read_bytes() == before


def test_the_result_is_saved_to_another_file(tmp_path: Path) -> None:
    """Also if nothing had to be changed, since it was requested."""
    path, saved = tmp_path / "s.jsonl", tmp_path / "out.jsonl"
    write_snapshot(cluster_builders.cluster(_brokers(), [TopicRow(topic="t", partitions=[_row([1, 2])])]), path)
    before = path.read_bytes()
    with SnapshotCluster(path, save_to=saved):
        pass
    assert saved.read_bytes() == before
    with SnapshotCluster(path, save_to=saved) as cluster:
        cluster.alter_reassignments({_T: (3, 2)})
    assert path.read_bytes() == before
    state = read_snapshot(saved)
    assert state.brokers.id[state.replicas.broker].tolist() == [3, 2]


def test_partitions_are_looked_up_once_for_all_brokers(
    snapshot: Callable[..., SnapshotCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not for each broker: of 200,000 partitions on a thousand brokers each observation would take minutes."""
    cluster = snapshot(_brokers(), _row([1, 2]), _row([3], partition=1))
    looked_up: list[TopicPartition] = []
    lookup = MutableRows.partition

    def partition(rows: MutableRows, name: TopicPartition) -> Any:
        looked_up.append(name)
        return lookup(rows, name)

    monkeypatch.setattr(MutableRows, "partition", partition)
    names = [_T, TopicPartition("t", 1)]
    found, _ = cluster.replica_logs([1, 2, 3], names)
    assert {(replica.partition, replica.broker) for replica in found} == {(0, 1), (0, 2), (1, 3)}
    assert looked_up == names
