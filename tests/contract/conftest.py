"""The same cluster behind every back end: three brokers in three racks, two log dirs each, no topics.

Each test creates topics with its own names, so that all of them can share the real cluster."""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config.connection_settings import ClusterAddress, ConnectionSettings, ZookeeperAddress
from kafkabal.sandbox import Sandbox, SandboxSpec, up
from kafkabal.testing import cluster_builders

_TIMEOUT_S = 30.0
_POLL_S = 0.05
_OTHER_VERSIONS = {
    "kafka-3.9.2": SandboxSpec(brokers=3, racks=3, kafka_version="3.9.2"),
    "kafka-3.9.2-zookeeper": SandboxSpec(brokers=3, racks=3, zookeeper=True),
    "kafka-4.3.1": SandboxSpec(brokers=3, racks=3, kafka_version="4.3.1"),
    "kafka-4.4.0": SandboxSpec(brokers=3, racks=3, kafka_version="4.4.0"),
}
"""Those that the contract holds for, besides the usual one."""


@dataclass(frozen=True)
class Subject:
    """A cluster under test, and how time passes for it."""

    cluster: Cluster
    connect: Callable[[], Cluster]
    """Another client of the same cluster."""
    sleep: Callable[[float], None]

    def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until a condition holds."""
        for _ in range(int(_TIMEOUT_S / _POLL_S)):
            if condition():
                return
            self.sleep(_POLL_S)
        raise AssertionError("it did not become true")

    def topic(self) -> str:
        """A unique topic name."""
        return f"contract-{uuid.uuid4().hex[:12]}"


@pytest.fixture(
    params=[
        "memory",
        "snapshot",
        pytest.param("kafka", marks=pytest.mark.live),
        *(pytest.param(version, marks=[pytest.mark.live, pytest.mark.sweep]) for version in _OTHER_VERSIONS),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each back end in turn."""
    if request.param == "memory":
        yield _memory()
    elif request.param == "snapshot":
        yield _snapshot(tmp_path)
    else:
        sandbox: Sandbox = request.getfixturevalue("contract_sandboxes")(request.param)
        address = _address(sandbox)
        with connect(address) as cluster:
            yield Subject(cluster, lambda: connect(address), time.sleep)


@pytest.fixture(scope="session")
def contract_sandboxes() -> Iterator[Callable[[str], Sandbox]]:
    """Real clusters by version, each shared by all tests."""
    home = Path(tempfile.gettempdir()) / f"kafkabal-live-tests-{os.getuid()}"
    with ExitStack() as at_end:

        @cache
        def bring_up(version: str) -> Sandbox:
            spec = _OTHER_VERSIONS.get(version, SandboxSpec(brokers=3, racks=3))
            return at_end.enter_context(up(spec, f"contract-{version}-{os.getpid()}", home=home))

        yield bring_up


def _address(sandbox: Sandbox) -> ClusterAddress:
    settings = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))
    return ZookeeperAddress(servers=sandbox.zookeeper, connection=settings) if sandbox.zookeeper else settings


def _memory() -> Subject:
    state = cluster_builders.cluster(cluster_builders.brokers(3, racks=3, dirs=2), [])
    memory = InMemoryCluster.of(state)
    return Subject(memory, lambda: memory.connect("another"), memory.kafka.clock.sleep)


def _snapshot(folder: Path) -> Subject:
    path = folder / "cluster.jsonl"
    write_snapshot(cluster_builders.cluster(cluster_builders.brokers(3, racks=3, dirs=2), []), path)
    return Subject(SnapshotCluster(path, save_to=path), lambda: SnapshotCluster(path, save_to=path), lambda _: None)
