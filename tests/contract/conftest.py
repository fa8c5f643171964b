"""The same cluster behind every back end: three brokers in three racks, two log dirs each, no topics.

Each test makes topics of its own names, so that the real cluster can be shared by all of them.
"""

from __future__ import annotations

import os
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.protocol import Cluster
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.sandbox import Sandbox, SandboxSpec, up
from kafkabal.testing import cluster_builders

_PATIENCE_S = 30.0
_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class Subject:
    """A cluster under test, and how time passes for it."""

    cluster: Cluster
    connect: Callable[[], Cluster]
    """Another client of the same cluster."""
    sleep: Callable[[float], None]

    def until(self, condition: Callable[[], bool]) -> None:
        """Let time pass until something is true."""
        for _ in range(int(_PATIENCE_S / _LOOK_EVERY_S)):
            if condition():
                return
            self.sleep(_LOOK_EVERY_S)
        raise AssertionError("it did not become true")

    def topic(self) -> str:
        """A name that nobody uses."""
        return f"contract-{uuid.uuid4().hex[:12]}"


@pytest.fixture(
    params=[
        "memory",
        "snapshot",
        pytest.param("kafka", marks=pytest.mark.live),
    ]
)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Each back end in turn."""
    if request.param == "memory":
        yield _memory()
    elif request.param == "snapshot":
        yield _snapshot(tmp_path)
    else:
        sandbox: Sandbox = request.getfixturevalue("contract_sandbox")
        settings = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))
        with KafkaCluster(settings) as cluster:
            yield Subject(cluster, lambda: KafkaCluster(settings), time.sleep)


@pytest.fixture(scope="session")
def contract_sandbox() -> Iterator[Sandbox]:
    """The real cluster, shared by all tests."""
    home = Path(tempfile.gettempdir()) / f"kafkabal-live-tests-{os.getuid()}"
    with up(SandboxSpec(brokers=3, racks=3), f"contract-{os.getpid()}", home=home) as sandbox:
        yield sandbox


def _memory() -> Subject:
    state = cluster_builders.cluster(cluster_builders.brokers(3, racks=3, dirs=2), [])
    memory = InMemoryCluster.of(state)
    return Subject(memory, lambda: memory.connect("another"), memory.kafka.clock.sleep)


def _snapshot(folder: Path) -> Subject:
    path = folder / "cluster.jsonl"
    write_snapshot(cluster_builders.cluster(cluster_builders.brokers(3, racks=3, dirs=2), []), path)
    return Subject(SnapshotCluster(path, save_to=path), lambda: SnapshotCluster(path, save_to=path), lambda _: None)
