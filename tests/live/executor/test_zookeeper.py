"""A cluster with ZooKeeper, which keeps its lock: found, changed and disturbed, and runs on it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import kazoo.client
import pytest
from confluent_kafka.admin import AdminClient

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import Capability, NewTopic, ReadRequest
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.zookeeper.znode_lock import LOCK_PATH
from kafkabal.clusters.zookeeper.znodes import Znodes
from kafkabal.config.connection_settings import SecurityProtocol, ZookeeperAddress
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.plan.plan_file import write_plan
from kafkabal.sandbox import NodeState, Sandbox, WaitLimit
from tests.live.executor.stage import Stage

_eventually = WaitLimit(deadline_s=30.0).until


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


def test_killed_run_is_resumed(zookeeper_stage: Stage) -> None:
    """The lock is taken while it works; after a kill, another host ends the run once the session has expired, and
    undoes it."""
    stage = zookeeper_stage
    process = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    lock = f"cluster locked by kafkabal on one (process {process.popen.pid}, id "
    with pytest.raises(BusyError) as busy:
        stage.cluster.lock(LockRequest("a second one", stage.slow.session_s))
    assert busy.value.message.startswith(lock)
    process.kill()
    stage.finish("resume", host="two")
    stage.assert_as_planned()
    stage.finish("roll back", host="two")
    stage.assert_as_at_start()


@pytest.mark.sweep
def test_takes_over_from_a_killed_process_at_once_with_a_zookeeper(zookeeper_stage: Stage, tmp_path: Path) -> None:
    """The command takes over at once if ZooKeeper keeps the lock, too."""
    stage, path = zookeeper_stage, tmp_path / "plan.json"
    write_plan(stage.plan, path)
    with stage.running("apply", str(path), "--yes", "--force", "--throttle", "100kB") as process:
        stage.until(stage.in_flight)
        process.kill()
        process.wait()
        done = stage.command("resume", "--yes", "--throttle", "50MB")
    assert done.returncode == 0, done.stderr
    stage.assert_as_planned()


def test_command(zookeeper_stage: Stage) -> None:
    """``rebalance --yes`` balances the cluster under a throttle, names the lock in use, and leaves no throttle."""
    stage = zookeeper_stage
    ended = stage.command("--yes", "--throttle", "20MB", "--tolerance", "0.3")
    assert ended.returncode == 0, ended.stderr
    assert f"zookeeper {LOCK_PATH}" in ended.stderr
    assert stage.placement() != stage.start
    stage.assert_clean()


def test_zookeeper_runs_with_the_last_kafka_that_uses_it(zookeeper_brokers: Sandbox) -> None:
    """The brokers register in a real ZooKeeper and respond, also after one of them was killed."""
    sandbox = zookeeper_brokers
    client = kazoo.client.KazooClient(hosts=sandbox.zookeeper)
    client.start(timeout=10)
    try:
        assert sorted(client.get_children("/brokers/ids")) == ["1", "2", "3", "4"]
    finally:
        client.stop()
        client.close()
    sandbox.kill(2)
    sandbox.start(2)
    assert {status.state for status in sandbox.status()} == {NodeState.RUNNING}
