"""Clusters found through ZooKeeper, including old brokers that support little themselves."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Collection, Mapping
from typing import Any

import pytest
from kazoo.exceptions import ConnectionClosedError, ConnectionLoss, NoAuthError, NodeExistsError, NoNodeError

from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.cluster_protocol import Capability, PartitionStatus
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.clusters.zookeeper import cluster as cluster_module
from kafkabal.clusters.zookeeper import znode_lock as lock_module
from kafkabal.clusters.zookeeper import znodes as znodes_module
from kafkabal.clusters.zookeeper.cluster import ZookeeperCluster
from kafkabal.clusters.zookeeper.znodes import Znodes
from kafkabal.config.connection_settings import ConnectionSettings, SecurityProtocol, ZookeeperAddress
from kafkabal.errors import ConfigError, NotAuthorizedError, RefusedByClusterError, UnreachableError
from kafkabal.model.topic_partition import TopicPartition

_A, _B = TopicPartition("t", 0), TopicPartition("t", 1)


class FakeZookeeper:
    """Znodes in a dictionary."""

    def __init__(self, content: dict[str, Any]) -> None:
        self.content = content
        self.error: Exception | None = None

    def get(self, path: str) -> tuple[bytes, None]:
        """Content of a znode."""
        if self.error is not None:
            raise self.error
        if path not in self.content:
            raise NoNodeError
        return json.dumps(self.content[path]).encode(), None

    def get_children(self, path: str) -> list[str]:
        """Names below a znode."""
        found = [name.removeprefix(f"{path}/") for name in self.content if name.startswith(f"{path}/")]
        if not found:
            raise NoNodeError
        return found

    def create(self, path: str, content: bytes) -> None:
        """A new znode."""
        if path in self.content:
            raise NodeExistsError
        self.content[path] = json.loads(content)

    def stop(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _broker(*endpoints: str) -> dict[str, Any]:
    protocols = {"INSIDE": "PLAINTEXT", "OUTSIDE": "SASL_SSL"}
    return {"endpoints": list(endpoints), "listener_security_protocol_map": protocols}


@pytest.fixture
def zookeeper(monkeypatch: pytest.MonkeyPatch) -> FakeZookeeper:
    """Two brokers with two listeners each, and a controller."""
    content = {
        "/brokers/ids/2": _broker("INSIDE://b2:9092", "OUTSIDE://b2.example.org:9093"),
        "/brokers/ids/10": _broker("INSIDE://b10:9092", "OUTSIDE://b10.example.org:9093"),
        "/controller": {"brokerid": 2},
    }
    fake = FakeZookeeper(content)
    monkeypatch.setattr(znodes_module, "open_zookeeper", lambda *_: fake)
    return fake


@pytest.fixture
def znodes(zookeeper: FakeZookeeper) -> Znodes:
    """The znodes of that cluster."""
    return Znodes("zk:2181")


@pytest.mark.parametrize(
    ("protocol", "servers"),
    [
        (SecurityProtocol.PLAINTEXT, ("b2:9092", "b10:9092")),
        (SecurityProtocol.SASL_SSL, ("b2.example.org:9093", "b10.example.org:9093")),
    ],
)
def test_brokers_are_found_by_the_protocol_of_their_listeners(
    znodes: Znodes, protocol: SecurityProtocol, servers: tuple[str, ...]
) -> None:
    """The protocol of a listener matters, not its name."""
    assert znodes.bootstrap_servers(protocol) == servers


def test_a_cluster_without_brokers_is_reported(znodes: Znodes, zookeeper: FakeZookeeper) -> None:
    """No broker at all, and none with a matching listener, have their own reasons."""
    with pytest.raises(UnreachableError, match="none of its 2 brokers has a listener for SSL"):
        znodes.bootstrap_servers(SecurityProtocol.SSL)
    zookeeper.content.clear()
    with pytest.raises(UnreachableError, match="no broker is registered") as caught:
        znodes.bootstrap_servers(SecurityProtocol.PLAINTEXT)
    assert "chroot" in str(caught.value.hint)


def test_requests_reach_the_controller_through_znodes(znodes: Znodes, zookeeper: FakeZookeeper) -> None:
    """Kafka's own JSON is written, and read back."""
    znodes.reassign({_B: (10, 2), _A: (2,)})
    assert zookeeper.content["/admin/reassign_partitions"] == {
        "version": 1,
        "partitions": [
            {"topic": "t", "partition": 0, "replicas": [2]},
            {"topic": "t", "partition": 1, "replicas": [10, 2]},
        ],
    }
    assert znodes.reassignments() == {_A: (2,), _B: (10, 2)}
    znodes.elect([_A])
    assert zookeeper.content["/admin/preferred_replica_election"]["partitions"] == [{"topic": "t", "partition": 0}]


def test_one_request_at_a_time(znodes: Znodes, zookeeper: FakeZookeeper) -> None:
    """While the controller is busy nothing is overwritten, and without a controller nothing is left behind."""
    znodes.reassign({_A: (2,)})
    with pytest.raises(RefusedByClusterError, match="another reassignment is running"):
        znodes.reassign({_B: (2,)})
    assert znodes.reassignments() == {_A: (2,)}
    del zookeeper.content["/controller"]
    with pytest.raises(UnreachableError, match="has no controller"):
        znodes.elect([_A])


@pytest.mark.parametrize(("error", "ours"), [(ConnectionLoss(), UnreachableError), (NoAuthError(), NotAuthorizedError)])
def test_errors_of_kazoo_become_ours(
    znodes: Znodes, zookeeper: FakeZookeeper, error: Exception, ours: type[Exception]
) -> None:
    """With the address, and without the library's own text."""
    zookeeper.error = error
    with pytest.raises(ours, match="ZooKeeper at zk:2181"):
        znodes.reassignments()


class OldBrokers(ZookeeperCluster):
    """Brokers that support neither reassignments nor elections, with fixed metadata."""

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Two partitions on brokers 2 and 10."""
        return {name: PartitionStatus(leader=2, replicas=(2, 10), isr=(2, 10)) for name in (_A, _B)}


@pytest.fixture
def old(zookeeper: FakeZookeeper, monkeypatch: pytest.MonkeyPatch) -> OldBrokers:
    """A cluster of them."""
    monkeypatch.setattr(cluster_module.KafkaCluster, "capabilities", frozenset({Capability.LOG_DIRS}))
    return OldBrokers(ZookeeperAddress(servers="zk:2181"))


def test_zookeeper_supplies_the_requests_that_old_brokers_lack(old: OldBrokers) -> None:
    """Reassignment, election and lock are supported, the guard is not."""
    assert {Capability.REASSIGN, Capability.ELECT_LEADERS, Capability.LOCK} <= old.capabilities
    assert Capability.REPLICATION_FACTOR_GUARD not in old.capabilities


def test_old_brokers_are_reassigned_with_a_guard_of_our_own(old: OldBrokers, zookeeper: FakeZookeeper) -> None:
    """A target with another number of replicas is refused unless allowed, and nothing can be cancelled."""
    faults = old.alter_reassignments({_A: (10, 3), _B: (2,)})
    assert {name: fault.name for name, fault in faults.items()} == {_B: "INVALID_REPLICATION_FACTOR"}
    running = old.reassignments()
    assert list(running) == [_A]
    assert (running[_A].replicas, running[_A].adding, running[_A].removing) == ((2, 10, 3), (3,), (2,))
    assert old.alter_reassignments({_A: None})[_A].name == "UNSUPPORTED_VERSION"
    del zookeeper.content["/admin/reassign_partitions"]
    assert old.alter_reassignments({_B: (2,)}, allow_replication_factor_change=True) == {}


def test_old_brokers_are_elected_by_znode(old: OldBrokers, zookeeper: FakeZookeeper) -> None:
    """The controller finds the request there."""
    assert old.elect_preferred_leaders([_A]) == {}
    assert "/admin/preferred_replica_election" in zookeeper.content


@pytest.mark.parametrize("servers", ["", "a,,b", "host:port", "zk1:2181,/kafka", "zk1:99999"])
def test_invalid_addresses_are_refused_before_connecting(servers: str) -> None:
    """The text is quoted, with how to write it."""
    with pytest.raises(ConfigError) as caught:
        znodes_module.open_zookeeper(servers, 10.0)
    assert repr(servers) in caught.value.message
    assert "zk1:2181" in str(caught.value.hint)


def test_a_server_that_never_responds_is_given_up_in_time() -> None:
    """It accepts a connection, as one that is suspended does; neither the session nor its end is waited for."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        servers = f"127.0.0.1:{listener.getsockname()[1]}"
        with pytest.raises(UnreachableError, match=f"ZooKeeper at {servers} did not respond"):
            znodes_module.open_zookeeper(servers, 0.2, session_s=3600.0)


class HangingZookeeper:
    """A server that stops responding once it is connected to."""

    def __init__(self) -> None:
        self.is_stopped = threading.Event()

    def Lock(self, path: str, owner: str) -> HangingZookeeper:  # noqa: N802 - as kazoo names it
        """The recipe."""
        return self

    def exists(self, path: str) -> bool:
        """Wait until the client is stopped."""
        assert self.is_stopped.wait(60.0)
        raise ConnectionClosedError

    def stop(self) -> None:
        """End all calls."""
        self.is_stopped.set()

    def close(self) -> None:
        """Do nothing."""


def test_a_lock_is_given_up_in_time_and_its_session_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """``--broker-timeout`` also limits a lock; a session that went on by itself would keep others out."""
    client = HangingZookeeper()
    monkeypatch.setattr(lock_module, "open_zookeeper", lambda *_: client)
    with pytest.raises(UnreachableError, match="ZooKeeper at zk:2181 did not respond"):
        lock_module.ZookeeperLock("zk:2181", SystemClock(), LockRequest("me", 30.0), within_s=0.1)
    assert client.is_stopped.wait(60.0)


def test_broker_timeout_limits_what_zookeeper_is_waited_for(
    zookeeper: FakeZookeeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Connecting, the list of brokers, and locks."""
    limits = list[float]()

    def opened(_: str, within_s: float, *_session_s: float) -> FakeZookeeper:
        limits.append(within_s)
        return zookeeper

    for module in (znodes_module, lock_module):
        monkeypatch.setattr(module, "open_zookeeper", opened)
    connection = ConnectionSettings(bootstrap_servers=(), connect_timeout_s=2.0, broker_timeout_s=2.0)
    with ZookeeperCluster(ZookeeperAddress(servers="zk:2181", connection=connection)) as cluster:
        assert cluster.lock_holders() == ()
    assert limits == [2.0, 2.0]
