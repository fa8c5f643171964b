"""What single versions of Kafka add or lack: cordoned log dirs of the newest, ZooKeeper of the oldest."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.protocol import Capability, ConfigChange, ConfigResource, NewTopic, ReadRequest, ResourceKind
from kafkabal.clusters.zookeeper.znodes import Znodes
from kafkabal.config.connection_settings import ConnectionSettings, SecurityProtocol, ZookeeperAddress
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.model.cluster_state import LogDirState
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit

_eventually = WaitLimit(deadline_s=30.0).until


def test_cordoned_log_dirs_are_shown(make_sandbox: Callable[..., Sandbox]) -> None:
    """A dir that was cordoned (KIP-1066, Kafka 4.3) is marked, and one that is free again is not."""
    sandbox = make_sandbox(SandboxSpec(brokers=1, kafka_version="4.3.1"), "cordoned")
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
    """Topics created after a drain stay off the broker (KIP-1066), which is safe to stop; a rollback frees it."""
    sandbox = make_sandbox(SandboxSpec(brokers=4, kafka_version="4.3.1"), "drained")
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


def test_a_cluster_is_found_through_its_zookeeper(make_sandbox: Callable[..., Sandbox]) -> None:
    """Brokers, placement, reassignment, election, lock and records work on Kafka 3.9 with ZooKeeper."""
    sandbox = make_sandbox(SandboxSpec(brokers=3, zookeeper=True), "zookeeper")
    assert sandbox.zookeeper is not None
    address = ZookeeperAddress(servers=sandbox.zookeeper)
    a, b = TopicPartition("t", 0), TopicPartition("t", 1)
    with connect(address) as cluster:
        assert Capability.REPLICATION_FACTOR_GUARD not in cluster.capabilities
        assert cluster.create_topics([NewTopic(name="t", assignment=((1, 2), (1, 2)))]) == {}
        assert _eventually(lambda: len(cluster.partition_status(["t"])) == 2)
        state = cluster.read(ReadRequest(offsets=True)).state
        assert state.source == "zookeeper"
        assert state.partitions.end_offset.tolist() == [0, 0]

        def guarded() -> dict[TopicPartition, str]:
            faults = cluster.alter_reassignments({a: (3, 2), b: (1,)})
            return {name: fault.name for name, fault in faults.items()}

        # the broker that is asked may not know the topic yet
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
    with pytest.raises(UnreachableError, match="no broker is registered") as caught:
        connect(ZookeeperAddress(servers=f"{sandbox.zookeeper}/elsewhere"))
    assert "chroot" in str(caught.value.hint)


def _one_lock(address: ZookeeperAddress) -> None:
    """The second client is told who holds the lock, and gets it when it is free."""
    with connect(address) as first, connect(address) as second:
        lock = first.lock("alice on host-a", 10.0)
        assert lock.is_held()
        assert lock.seconds_since_heartbeat() < 5.0
        with pytest.raises(BusyError, match="alice on host-a"):
            second.lock("bob", 10.0)
        lock.release()
        lock.release()
        assert not lock.is_held()
        second.lock("bob", 10.0).release()


def _old_ways(servers: str, leader_of_b: Callable[[], int]) -> None:
    """What brokers older than 2.4 need is still understood by those of 3.9: reassignment and election by znode."""
    znodes = Znodes(servers)
    assert len(znodes.bootstrap_servers(SecurityProtocol.PLAINTEXT)) == 3
    with pytest.raises(UnreachableError, match="none of its 3 brokers has a listener for SSL"):
        znodes.bootstrap_servers(SecurityProtocol.SSL)
    znodes.reassign({TopicPartition("t", 1): (1, 2)})
    assert _eventually(lambda: znodes.reassignments() == {})
    znodes.elect([TopicPartition("t", 1)])
    assert _eventually(lambda: leader_of_b() == 1)
    znodes.close()
