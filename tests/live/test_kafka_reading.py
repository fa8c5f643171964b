"""The state read from a live cluster matches the output of Kafka's own tools."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as Position

from kafkabal.clusters.cluster_protocol import NewTopic, ReadRequest, ReplicaOn
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.sandbox import Sandbox, WaitLimit

_eventually = WaitLimit(deadline_s=30.0).until
_ASSIGNMENT = ((1, 2), (2, 3), (3, 1))
_EVERYTHING = ReadRequest(configs=True, offsets=True, group_offsets=True)


@pytest.fixture
def cluster(three_brokers: Sandbox) -> Iterator[KafkaCluster]:
    """The shared sandbox."""
    with KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(three_brokers.bootstrap_servers.split(",")))) as made:
        yield made


@pytest.fixture
def topic(cluster: KafkaCluster, three_brokers: Sandbox) -> str:
    """A topic of three partitions with 3, 6 and 9 MB."""
    name = f"reading-{uuid.uuid4().hex[:8]}"
    assert cluster.create_topics([NewTopic(name=name, assignment=_ASSIGNMENT)]) == {}
    assert _eventually(lambda: len(cluster.partition_status([name])) == 3)
    producer = Producer({"bootstrap.servers": three_brokers.bootstrap_servers, "linger.ms": 50})
    for partition in range(3):
        for _ in range(4 * (partition + 1)):
            producer.produce(name, uuid.uuid4().bytes * 50_000, partition=partition)
    assert producer.flush(30) == 0
    assert _eventually(lambda: _replicated(cluster, name))
    return name


def _replicated(cluster: KafkaCluster, topic: str) -> bool:
    sizes = _sizes(cluster.read(ReadRequest()).state, topic)
    return len(sizes) == 6 and all(
        sizes[n, a[0]][1] == sizes[n, a[1]][1] >= 3_000_000 * (n + 1) for n, a in enumerate(_ASSIGNMENT)
    )


def _rows(state: ClusterState, topic: str) -> list[int]:
    """Rows of the replicas of a topic."""
    of_topic = state.partitions.topic[state.replicas.partition] == state.topics.name.index(topic)
    return [int(row) for row in of_topic.nonzero()[0]]


def _sizes(state: ClusterState, topic: str) -> dict[tuple[int, int], tuple[str, int]]:
    """(Partition, broker) -> log dir, bytes."""
    r = state.replicas
    return {
        (int(state.partitions.number[r.partition[row]]), int(state.brokers.id[r.broker[row]])): (
            state.log_dirs.path[r.log_dir[row]],
            int(r.size_bytes[row]),
        )
        for row in _rows(state, topic)
        if r.log_dir[row] >= 0
    }


def test_sizes_agree_with_logdirscommand(cluster: KafkaCluster, three_brokers: Sandbox, topic: str) -> None:
    """Bytes and log dir of every replica match Kafka's tool."""
    printed = three_brokers.kafka_tool("LogDirsCommand", "--describe", "--topic-list", topic).stdout
    report = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    theirs = {
        (int(p["partition"].rpartition("-")[2]), broker["broker"]): (log_dir["logDir"], p["size"])
        for broker in report["brokers"]
        for log_dir in broker["logDirs"]
        for p in log_dir["partitions"]
    }
    assert _sizes(cluster.read(ReadRequest()).state, topic) == theirs


def test_leaders_replicas_and_isr_agree_with_topiccommand(
    cluster: KafkaCluster, three_brokers: Sandbox, topic: str
) -> None:
    """Leader, replica list and in-sync replicas of every partition match too."""
    printed = three_brokers.kafka_tool("TopicCommand", "--describe", "--topic", topic).stdout
    found = re.findall(r"Partition: (\d+)\s+Leader: (\d+)\s+Replicas: ([\d,]+)\s+Isr: ([\d,]+)", printed)
    theirs = {int(n): (int(leader), _ids(replicas), set(_ids(isr))) for n, leader, replicas, isr in found}
    status = cluster.partition_status([topic])
    assert theirs == {name.partition: (s.leader, list(s.replicas), set(s.isr)) for name, s in status.items()}
    state = cluster.read(ReadRequest()).state
    ids = state.brokers.id
    ours: dict[int, tuple[int, list[int], set[int]]] = {}
    for row in _rows(state, topic):
        p = int(state.replicas.partition[row])
        _, replicas, isr = ours.setdefault(
            int(state.partitions.number[p]), (int(ids[state.partitions.leader[p]]), [], set())
        )
        replicas.append(int(ids[state.replicas.broker[row]]))
        if state.replicas.in_sync[row]:
            isr.add(replicas[-1])
    assert ours == theirs


def _ids(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def test_offsets_agree_with_getoffsetshell(cluster: KafkaCluster, three_brokers: Sandbox, topic: str) -> None:
    """Start and end offset of every partition match Kafka's tool."""
    state = cluster.read(_EVERYTHING).state
    rows = (state.partitions.topic == state.topics.name.index(topic)).nonzero()[0]
    for time_, ours in ((-2, state.partitions.start_offset), (-1, state.partitions.end_offset)):
        shell = "org.apache.kafka.tools.GetOffsetShell"
        arguments = ("--bootstrap-server", three_brokers.bootstrap_servers, "--topic", topic, "--time", str(time_))
        lines = three_brokers.run_main(shell, *arguments).stdout.split()
        theirs = {int(n): int(offset) for name, n, offset in (line.split(":") for line in lines) if name == topic}
        assert {int(state.partitions.number[row]): int(ours[row]) for row in rows} == theirs


def test_committed_offsets_are_read(cluster: KafkaCluster, three_brokers: Sandbox, topic: str) -> None:
    """A consumer's committed offset is found under its group and partition."""
    group = f"group-of-{topic}"
    consumer = Consumer({"bootstrap.servers": three_brokers.bootstrap_servers, "group.id": group})
    assert _eventually(lambda: _has_committed(consumer, Position(topic, 1, 4)))
    consumer.close()
    state = cluster.read(_EVERYTHING).state
    row = state.committed.groups.index(group)
    mine = (state.committed.group == row).nonzero()[0]
    found = [
        (str(state.topic_partition(int(state.committed.partition[i]))), int(state.committed.offset[i])) for i in mine
    ]
    assert found == [(f"{topic}-1", 4)]


def _has_committed(consumer: Consumer, position: Position) -> bool:
    """Try once: the coordinator of a new group may not be known yet."""
    try:
        consumer.commit(offsets=[position], asynchronous=False)
    except KafkaException:
        return False
    return True


def test_a_copy_between_log_dirs_is_shown_with_its_replica(cluster: KafkaCluster, topic: str) -> None:
    """During a throttled copy the replica counts once, with the copy as a future replica."""
    broker = ConfigResource(ResourceKind.BROKER, "1")
    rate = "replica.alter.log.dirs.io.max.bytes.per.second"
    replica, name = ReplicaOn(topic, 2, 1), TopicPartition(topic, 2)
    before = cluster.read(ReadRequest()).state
    here = _sizes(before, topic)[2, 1][0]
    there = next(path for path in before.log_dirs.path if path != here and "broker-1" in path)
    assert cluster.alter_configs([ConfigChange(broker, rate, "1000")]) == {}
    try:
        assert cluster.move_log_dirs({replica: there}) == {}
        assert _eventually(lambda: len(cluster.read(ReadRequest()).state.futures) == 1)
        state = cluster.read(ReadRequest()).state
        assert state.log_dirs.path[state.futures.log_dir[0]] == there
        assert _sizes(state, topic) == _sizes(before, topic)
        log = cluster.replica_logs([1], [name])[0][replica]
        assert (log.log_dir, log.future_log_dir) == (here, there)
        assert 0 <= log.future_bytes < log.size_bytes
    finally:
        cluster.alter_configs([ConfigChange(broker, rate, None)])
    assert _eventually(lambda: cluster.replica_logs([1], [name])[0][replica].log_dir == there)
    assert len(cluster.read(ReadRequest()).state.futures) == 0


def test_a_reassignment_in_flight_is_shown_and_can_be_cancelled(cluster: KafkaCluster, topic: str) -> None:
    """Under a throttle the new replica is marked and grows; after cancelling, all is as before."""
    name = TopicPartition(topic, 0)
    changes = _throttle(topic)
    assert cluster.alter_configs(changes) == {}
    try:
        assert cluster.alter_reassignments({name: (2, 3)}) == {}
        assert cluster.reassignments()[name].adding == (3,)
        assert cluster.reassignments()[name].removing == (1,)
        # the controller knows of it before the broker that answers with the metadata
        assert _eventually(lambda: _adding_and_removing(cluster) == ([3], [1]))
        assert cluster.alter_reassignments({name: None}) == {}
        assert _eventually(lambda: name not in cluster.reassignments())
        assert _eventually(lambda: set(cluster.partition_status([topic])[name].replicas) == {1, 2})
    finally:
        cluster.alter_configs([ConfigChange(change.resource, change.key, None) for change in changes])


def _adding_and_removing(cluster: KafkaCluster) -> tuple[list[int], list[int]]:
    """Brokers whose replicas are being added, and being removed."""
    state = cluster.read(ReadRequest()).state
    ids = state.brokers.id[state.replicas.broker]
    return ids[state.replicas.adding].tolist(), ids[state.replicas.removing].tolist()


def _throttle(topic: str) -> list[ConfigChange]:
    brokers = [ConfigResource(ResourceKind.BROKER, str(n)) for n in (1, 2, 3)]
    resource = ConfigResource(ResourceKind.TOPIC, topic)
    sides = ("leader", "follower")
    return [
        *(ConfigChange(broker, f"{side}.replication.throttled.rate", "1000") for broker in brokers for side in sides),
        *(ConfigChange(resource, f"{side}.replication.throttled.replicas", "*") for side in sides),
    ]


def test_more_than_a_controller_takes_at_once_is_divided(cluster: KafkaCluster) -> None:
    """Requests are split for many small topics and for few large ones; a topic that alone is too large is named."""
    large = [NewTopic(name=f"large-{n}", assignment=((1,),) * 5_050) for n in range(2)]
    small = [NewTopic(name=f"small-{n}", assignment=((1,),), configs={"retention.ms": "1"}) for n in range(3_500)]
    too_large = NewTopic(name="too-large", assignment=((1,),) * 10_001)
    faults = cluster.create_topics([*large, *small, too_large], validate_only=True)
    assert {name: fault.name for name, fault in faults.items()} == {"too-large": "POLICY_VIOLATION"}
