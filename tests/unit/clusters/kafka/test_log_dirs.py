"""Log dirs: both levels of errors, future replicas, and moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.protocol.admin import AlterReplicaLogDirsResponse, DescribeLogDirsResponse

from kafkabal.clusters.cluster_protocol import ReplicaLog, ReplicaOn
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.log_dirs import describe_log_dirs, move_log_dirs, replica_logs
from kafkabal.errors import NotAuthorizedError, RefusedByClusterError
from kafkabal.model.cluster_rows import LogDirRow
from kafkabal.model.topic_partition import TopicPartition

_DIR = DescribeLogDirsResponse.DescribeLogDirsResult
_TOPIC = _DIR.DescribeLogDirsTopic
_PARTITION = _TOPIC.DescribeLogDirsPartition


def _dir(path: str, *replicas: tuple[str, int, int, bool], **fields: Any) -> Any:
    """A dir with replicas as topic, partition, bytes, and whether it is a future replica."""
    topics = [
        _TOPIC(
            name=name,
            partitions=[
                _PARTITION(partition_index=n, partition_size=size, offset_lag=0, is_future_key=future)
                for topic, n, size, future in replicas
                if topic == name
            ],
        )
        for name in sorted({topic for topic, *_ in replicas})
    ]
    usual = {"error_code": 0, "total_bytes": 1000, "usable_bytes": 400}
    return _DIR(log_dir=path, topics=topics, **(usual | fields))


def _answer(*dirs: Any, error_code: int = 0) -> Callable[[Any], Any]:
    return lambda request: DescribeLogDirsResponse(error_code=error_code, results=list(dirs))


@pytest.fixture
def cluster(fake_cluster: Callable[..., Any]) -> Any:
    """Two brokers."""
    return fake_cluster(2)


@pytest.fixture
def client(cluster: Any, make_client: Callable[..., KafkaClient]) -> KafkaClient:
    """A client of theirs."""
    return make_client(cluster.settings(broker_timeout_s=6.0))


def test_dirs_and_replicas_are_read(cluster: Any, client: KafkaClient) -> None:
    """Bytes of volumes and replicas are returned as reported; -1 is unknown."""
    cluster.answer(
        "DescribeLogDirs",
        _answer(_dir("/d0", ("t", 0, 10, False)), _dir("/d1", ("t", 1, 20, False), total_bytes=-1, usable_bytes=-1)),
    )
    logs = describe_log_dirs(client, 1, client.deadline())
    assert logs.dirs == [LogDirRow(path="/d0", total_bytes=1000, usable_bytes=400), LogDirRow(path="/d1")]
    assert logs.current == {"t": {0: (0, 10), 1: (1, 20)}}
    assert logs.future == {}


def test_more_usable_bytes_than_there_are_count_as_unknown(cluster: Any, client: KafkaClient) -> None:
    """Java reports 2^63 - 1 where the usable bytes of a file system overflow; the total is kept."""
    cluster.answer("DescribeLogDirs", _answer(_dir("/d0", usable_bytes=2**63 - 1), _dir("/d1", usable_bytes=1000)))
    dirs = describe_log_dirs(client, 1, client.deadline()).dirs
    assert [(d.total_bytes, d.usable_bytes) for d in dirs] == [(1000, None), (1000, 1000)]


def test_bytes_in_an_object_store_are_on_no_disk(cluster: Any, client: KafkaClient) -> None:
    """A dir of an object store, as Redpanda lists it, is left out, and the replica is where its local bytes are."""
    cluster.answer(
        "DescribeLogDirs",
        _answer(_dir("/d0", ("t", 0, 10, False)), _dir("remote://bucket", ("t", 0, 900, False), total_bytes=-1)),
    )
    logs = describe_log_dirs(client, 1, client.deadline())
    assert [d.path for d in logs.dirs] == ["/d0"]
    assert logs.current == {"t": {0: (0, 10)}}


def test_an_unfinished_copy_is_not_counted_as_a_replica(cluster: Any, client: KafkaClient) -> None:
    """The future replica is separate from the replica, whichever comes first."""
    cluster.answer("DescribeLogDirs", _answer(_dir("/d0", ("t", 0, 4, True)), _dir("/d1", ("t", 0, 10, False))))
    logs = describe_log_dirs(client, 1, client.deadline())
    assert logs.current == {"t": {0: (1, 10)}}
    assert logs.future == {"t": {0: (0, 4)}}


def test_a_refusal_is_an_error_and_no_empty_broker(cluster: Any, client: KafkaClient) -> None:
    """Error 31 at the top comes with no dirs at all."""
    cluster.answer("DescribeLogDirs", _answer(error_code=31))
    with pytest.raises(NotAuthorizedError, match="log dirs of broker 1: CLUSTER_AUTHORIZATION_FAILED") as refused:
        describe_log_dirs(client, 1, client.deadline())
    assert str(refused.value.hint).startswith("grant Describe on the cluster;")


def test_an_old_broker_refuses_by_an_empty_list(cluster: Any, client: KafkaClient) -> None:
    """Before version 3, without an error code, an empty list is a refusal: every broker has log dirs."""
    cluster.answer("DescribeLogDirs", _answer())
    with pytest.raises(NotAuthorizedError, match="it reported none"):
        describe_log_dirs(client, 1, client.deadline())


def test_an_offline_dir_is_a_state_and_no_error(cluster: Any, client: KafkaClient) -> None:
    """Error 56 marks one dir; the other one is read, and the lost replicas must have been in the first."""
    cluster.answer(
        "DescribeLogDirs", _answer(_dir("/d0", ("t", 0, 10, False)), _dir("/d1", error_code=56, total_bytes=-1))
    )
    logs = describe_log_dirs(client, 1, client.deadline())
    assert logs.dirs[1] == LogDirRow(path="/d1", state="offline")
    assert logs.only_offline_dir == 1
    assert logs.current == {"t": {0: (0, 10)}}


def test_with_two_offline_dirs_the_log_dir_is_unknown(cluster: Any, client: KafkaClient) -> None:
    """A lost replica may be in either."""
    cluster.answer("DescribeLogDirs", _answer(_dir("/d0", error_code=56), _dir("/d1", error_code=56)))
    assert describe_log_dirs(client, 1, client.deadline()).only_offline_dir is None


def test_any_other_error_of_a_dir_is_reported(cluster: Any, client: KafkaClient) -> None:
    """A dir that is neither fine nor offline is an error, not a guess."""
    cluster.answer("DescribeLogDirs", _answer(_dir("/d0", error_code=-1)))
    with pytest.raises(RefusedByClusterError, match="log dir /d0 of broker 1: UNKNOWN_SERVER_ERROR"):
        describe_log_dirs(client, 1, client.deadline())


def test_a_cordoned_dir_is_marked(fake_cluster: Callable[..., Any], make_client: Callable[..., KafkaClient]) -> None:
    """Version 5 reports which dirs accept no new replicas (KIP-1066)."""
    cluster = fake_cluster(1, versions={3: (1, 12), 18: (0, 3), 35: (1, 5)})
    cluster.answer("DescribeLogDirs", _answer(_dir("/d0", is_cordoned=True), _dir("/d1")))
    client = make_client(cluster.settings())
    assert [d.state for d in describe_log_dirs(client, 1, client.deadline()).dirs] == ["cordoned", "online"]


def test_single_replicas_are_looked_up_on_their_brokers(cluster: Any, client: KafkaClient, silence: object) -> None:
    """Only these partitions are requested; an unresponsive and an unknown broker are reported with the rest."""
    cluster.brokers[1].answers["DescribeLogDirs"] = _answer(
        _dir("/d0", ("t", 0, 10, False)), _dir("/d1", ("t", 0, 4, True))
    )
    cluster.brokers[2].answers["DescribeLogDirs"] = lambda request: silence
    found, faults = replica_logs(client, [1, 2, 3], [TopicPartition("t", 0)])
    assert found == {
        ReplicaOn("t", 0, 1): ReplicaLog(log_dir="/d0", size_bytes=10, future_log_dir="/d1", future_bytes=4)
    }
    assert {broker: fault.name for broker, fault in faults.items()} == {2: "timeout", 3: "unreachable"}
    (asked,) = cluster.brokers[1].asked("DescribeLogDirs")
    assert [(topic.topic, topic.partitions) for topic in asked.topics] == [("t", [0])]


def test_a_refused_look_up_is_raised(cluster: Any, client: KafkaClient) -> None:
    """Without permission no broker responds, so there is nothing to return."""
    cluster.answer("DescribeLogDirs", _answer(error_code=31))
    with pytest.raises(NotAuthorizedError):
        replica_logs(client, [1, 2], [TopicPartition("t", 0)])


def test_moves_go_to_the_brokers_that_hold_the_replicas(cluster: Any, client: KafkaClient, silence: object) -> None:
    """Each broker gets its own replicas, grouped by dir; failures are returned by replica."""
    topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    partition = topic.AlterReplicaLogDirPartitionResult
    cluster.brokers[1].answers["AlterReplicaLogDirs"] = lambda request: AlterReplicaLogDirsResponse(
        results=[
            topic(
                topic_name="t",
                partitions=[partition(partition_index=0, error_code=0), partition(partition_index=1, error_code=9)],
            )
        ]
    )
    cluster.brokers[2].answers["AlterReplicaLogDirs"] = lambda request: silence
    targets = {ReplicaOn("t", 0, 1): "/d0", ReplicaOn("t", 1, 1): "/d1", ReplicaOn("t", 0, 2): "/d1"}
    faults = move_log_dirs(client, targets)
    assert {replica: fault.name for replica, fault in faults.items()} == {
        ReplicaOn("t", 1, 1): "REPLICA_NOT_AVAILABLE",
        ReplicaOn("t", 0, 2): "timeout",
    }
    (asked,) = cluster.brokers[1].asked("AlterReplicaLogDirs")
    assert [(d.path, [(t.name, t.partitions) for t in d.topics]) for d in asked.dirs] == [
        ("/d0", [("t", [0])]),
        ("/d1", [("t", [1])]),
    ]


def test_a_denied_move_is_raised(cluster: Any, client: KafkaClient) -> None:
    """Brokers name each replica with the same code: the error says once which permission is missing."""
    topic = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    partition = topic.AlterReplicaLogDirPartitionResult
    denied = [topic(topic_name="t", partitions=[partition(partition_index=n, error_code=31) for n in (0, 1)])]
    cluster.answer("AlterReplicaLogDirs", lambda request: AlterReplicaLogDirsResponse(results=denied))
    with pytest.raises(NotAuthorizedError, match="cannot move replicas between log dirs") as refused:
        move_log_dirs(client, {ReplicaOn("t", 0, 1): "/d0", ReplicaOn("t", 1, 1): "/d1"})
    assert "Alter on the cluster" in str(refused.value.hint)
