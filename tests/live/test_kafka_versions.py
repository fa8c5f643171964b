"""What single versions of Kafka add or lack: cordoned log dirs in the newest, ZooKeeper in the oldest."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import Capability, NewTopic, ReadRequest
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.zookeeper.znodes import Znodes
from kafkabal.config.connection_settings import ConnectionSettings, SecurityProtocol, ZookeeperAddress
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.model.cluster_state import LogDirState
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit
from kafkabal.telemetry import with_rates

_eventually = WaitLimit(deadline_s=30.0).until


def test_cordoned_log_dirs_are_shown(newest_broker: Sandbox) -> None:
    """A cordoned dir (KIP-1066, Kafka 4.3) is marked, and one that is uncordoned is not."""
    sandbox = newest_broker
    cordoned = str(sandbox.log_dirs(1)[1])
    resource = ConfigResource(ResourceKind.BROKER, "1")
    with KafkaCluster(ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))) as cluster:

        def states() -> dict[str, int]:
            dirs = cluster.read(ReadRequest()).state.log_dirs
            return dict(zip(dirs.path, dirs.state.tolist(), strict=True))

        assert set(states().values()) == {LogDirState.ONLINE}
        assert cluster.alter_configs([ConfigChange(resource, "cordoned.log.dirs", cordoned)]) == {}
        assert _eventually(lambda: states()[cordoned] == LogDirState.CORDONED)
        assert sorted(states().values()) == [LogDirState.ONLINE, LogDirState.CORDONED]
        assert cluster.alter_configs([ConfigChange(resource, "cordoned.log.dirs", None)]) == {}
        assert _eventually(lambda: states()[cordoned] == LogDirState.ONLINE)


def test_a_drained_broker_is_cordoned(make_sandbox: Callable[..., Sandbox], tmp_path: Path) -> None:
    """Topics created after a drain avoid the broker (KIP-1066), which may be stopped; a rollback uncordons it."""
    sandbox = make_sandbox(SandboxSpec(brokers=4, kafka_version="4.4.0"), "drained")
    address = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))

    def run(*words: str) -> tuple[int, str]:
        err = io.StringIO()
        folders = {kind: tmp_path / kind for kind in ("config", "cache", "state")}
        context = CommandContext(stdout=io.StringIO(), stderr=err, environ={}, folders=folders)
        return main([*words, "--profile", str(sandbox.profile_path)], context), err.getvalue()

    with KafkaCluster(address) as cluster:

        def states() -> set[int]:
            state = cluster.read(ReadRequest()).state
            return set(state.log_dirs.state[state.log_dirs.broker == state.brokers.index_of(4)].tolist())

        assert cluster.create_topics([NewTopic(name="t", assignment=((1, 4), (4, 2)))]) == {}
        code, said = run("rebalance", "--yes", "--drain", "4", "--throttle", "50MB")
        assert code == 0, said
        assert "broker 4 is safe to stop" in said
        assert "not a voter of the controller quorum" in said
        assert _eventually(lambda: states() == {LogDirState.CORDONED})
        run_id = re.search(r"run (\d{8}T\d{6}-\w+)", said)
        assert run_id is not None, said
        assert run("rebalance", "rollback", run_id[1], "--yes")[0] == 0
        assert _eventually(lambda: states() == {LogDirState.ONLINE})


def test_share_groups_count_as_readers(newest_broker: Sandbox) -> None:
    """The acknowledged offsets of a share group (KIP-932) are read under its name, and count as bytes out."""
    sandbox = newest_broker
    servers = ("--bootstrap-server", sandbox.bootstrap_servers)
    request = ReadRequest(offsets=True, group_offsets=True)

    def read_records(number: int) -> None:
        tool = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
        limits = ("--max-messages", str(number), "--timeout-ms", "20000")
        sandbox.run_main(tool, *servers, "--topic", "t", "--group", "workers", *limits)

    with KafkaCluster(ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))) as cluster:
        assert cluster.create_topics([NewTopic(name="t", assignment=((1,),))]) == {}
        earliest = ("--add-config", "share.auto.offset.reset=earliest")
        group = ("--entity-type", "groups", "--entity-name", "workers")
        sandbox.run_main("org.apache.kafka.tools.ConfigCommand", *servers, "--alter", *group, *earliest)
        producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers})
        for _ in range(100):
            producer.produce("t", b"x" * 1000, partition=0)
        assert producer.flush(30) == 0

        def come_to() -> int:
            committed = cluster.read(request).state.committed
            mine = [i for i, g in enumerate(committed.group.tolist()) if committed.groups[g] == "workers"]
            return int(committed.offset[mine[0]]) if mine else -1

        read_records(40)
        assert _eventually(lambda: come_to() == 40)
        before = cluster.read(request).state
        read_records(30)
        assert _eventually(lambda: come_to() == 70)
        after = with_rates(before, cluster.read(request).state, 10.0, group_offsets=True)
        row = after.topics.name.index("t")
        (out,) = after.partitions.out_bytes_per_s[after.partitions.topic == row].tolist()
        assert 30 * 900 / 10 < out < 30 * 1200 / 10


def test_a_cluster_is_found_through_its_zookeeper(zookeeper_brokers: Sandbox) -> None:
    """Brokers, placement, reassignment, election, lock and records work on Kafka 3.9 with ZooKeeper."""
    sandbox = zookeeper_brokers
    assert sandbox.zookeeper is not None
    address = ZookeeperAddress(servers=sandbox.zookeeper)
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    with connect(address) as cluster:
        assert Capability.REPLICATION_FACTOR_GUARD not in cluster.capabilities
        assert cluster.create_topics([NewTopic(name="t", assignment=((1, 2), (1, 2)))]) == {}
        assert _eventually(lambda: len(cluster.partition_status(["t"])) == 2)

        def end_offsets() -> list[int]:
            return cluster.read(ReadRequest(offsets=True)).state.partitions.end_offset.tolist()

        # the metadata may name a leader that does not know yet that it leads
        assert _eventually(lambda: end_offsets() == [0, 0])
        assert cluster.read(ReadRequest()).state.source == "zookeeper"

        def guarded() -> dict[TopicPartition, str]:
            faults = cluster.alter_reassignments({a: (3, 2), b: (1,)})
            return {name: fault.name for name, fault in faults.items()}

        # the broker that receives the request may not know the topic yet
        assert _eventually(lambda: guarded() == {b: "INVALID_REPLICATION_FACTOR"})
        assert _eventually(lambda: cluster.partition_status(["t"])[a].replicas == (3, 2))
        assert cluster.alter_reassignments({b: (2, 1)}) == {}
        assert _eventually(lambda: cluster.partition_status(["t"])[b].replicas == (2, 1))
        assert cluster.elect_preferred_leaders([b]) == {}
        assert _eventually(lambda: cluster.partition_status(["t"])[b].leader == 2)
        _one_lock(address)
        cluster.records().put("k", b"v")
        assert cluster.records().get_all() == {"k": b"v"}
        _old_ways(sandbox.zookeeper, lambda: cluster.partition_status(["t"])[b].leader)
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})  # must live until the response
    admin.delete_topics(["t"])["t"].result()
    with pytest.raises(UnreachableError, match="no broker is registered") as caught:
        connect(ZookeeperAddress(servers=f"{sandbox.zookeeper}/elsewhere"))
    assert "chroot" in str(caught.value.hint)


def _one_lock(address: ZookeeperAddress) -> None:
    """The second client learns who holds the lock, and gets it when it is free."""
    with connect(address) as first, connect(address) as second:
        lock = first.lock(LockRequest("alice on host-a", 10.0))
        assert lock.is_held()
        assert lock.seconds_since_heartbeat() < 5.0
        with pytest.raises(BusyError, match="alice on host-a"):
            second.lock(LockRequest("bob", 10.0))
        lock.release()
        lock.release()
        assert not lock.is_held()
        second.lock(LockRequest("bob", 10.0)).release()


def _old_ways(servers: str, leader_of_b: Callable[[], int]) -> None:
    """Kafka 3.9 still understands what brokers older than 2.4 need: reassignment and election by znode."""
    znodes = Znodes(servers)
    assert len(znodes.bootstrap_servers(SecurityProtocol.PLAINTEXT)) == 4
    with pytest.raises(UnreachableError, match="none of its 4 brokers has a listener for SSL"):
        znodes.bootstrap_servers(SecurityProtocol.SSL)
    znodes.reassign({TopicPartition("t", 1): (1, 2)})
    assert _eventually(lambda: znodes.reassignments() == {})
    znodes.elect([TopicPartition("t", 1)])
    assert _eventually(lambda: leader_of_b() == 1)
    znodes.close()
