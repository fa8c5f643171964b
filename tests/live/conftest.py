"""Real clusters for the live tests.

``three_brokers`` and the like are shared by many tests: use your own topics, and leave brokers, settings and throttles
as you found them. Tests that kill, pause or fill brokers need their own cluster from ``make_sandbox``, which goes down
with the test.

With several workers the tests that share a cluster run on one of them, one after the other (``live_group`` in
``tests/conftest.py``), and it goes down with the last of them: an idle broker takes 2% of a processor. Tests on the
other workers may have clusters in the same folder at the same time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import psutil
import pytest

from kafkabal.sandbox import Sandbox, SandboxSpec, list_sandboxes, up
from tests.conftest import live_group

_HERE = Path(__file__).parent
_LONGEST_S = 900
"""Processes of Kafka and of commands take ten times as long to start on a machine with ten times the load."""


class MakeSandbox(Protocol):
    """Starts a sandbox that is removed automatically."""

    def __call__(self, spec: SandboxSpec, label: str = ...) -> Sandbox:
        """Return the sandbox when it is ready."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test below this folder as live, with a longer timeout unless it sets its own."""
    for item in items:
        if _HERE in item.path.parents:
            item.add_marker(pytest.mark.live)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(_LONGEST_S))


@pytest.fixture(scope="session")
def sandbox_home() -> Path:
    """Folder of the tests' sandboxes; those of killed test runs are removed first."""
    home = Path(tempfile.gettempdir()) / f"kafkabal-live-tests-{os.getuid()}"
    for sandbox in list_sandboxes(home=home):
        maker = sandbox.name.rpartition("-")[2]
        if maker.isdigit() and not psutil.pid_exists(int(maker)):
            sandbox.down()
    return home


class SharedClusters:
    """Sandboxes that several files of tests use, each started when it is first asked for."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._running: dict[str, Sandbox] = {}
        self._at_end = ExitStack()

    def get(self, label: str, spec: SandboxSpec) -> Sandbox:
        """Return a sandbox, and start it if it is not running."""
        if label not in self._running:
            sandbox = up(spec, f"{label}-{os.getpid()}", home=self._home)
            self._running[label] = self._at_end.enter_context(sandbox)
        return self._running[label]

    def take_down(self) -> None:
        """Remove all of them."""
        self._running.clear()
        self._at_end.close()


_SHARED = pytest.StashKey[SharedClusters]()


@pytest.fixture(scope="session")
def shared_clusters(sandbox_home: Path, request: pytest.FixtureRequest) -> Iterator[SharedClusters]:
    """Return the sandboxes that this worker has running."""
    clusters = request.config.stash[_SHARED] = SharedClusters(sandbox_home)
    yield clusters
    clusters.take_down()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Take shared clusters down after the last test of a group."""
    is_last = nextitem is not None and live_group(item.nodeid) != live_group(nextitem.nodeid)
    if is_last and _SHARED in item.config.stash:
        item.config.stash[_SHARED].take_down()


@pytest.fixture(scope="module")
def three_brokers(shared_clusters: SharedClusters) -> Sandbox:
    """Return three brokers in three racks with two log dirs each."""
    return shared_clusters.get("three", SandboxSpec(brokers=3, racks=3))


@pytest.fixture(scope="module")
def zookeeper_brokers(shared_clusters: SharedClusters) -> Sandbox:
    """Return four brokers in two racks and a ZooKeeper; delete the topics that you create."""
    spec = SandboxSpec(
        brokers=4,
        racks=2,
        zookeeper=True,
        properties={"group.min.session.timeout.ms": "1000", "auto.leader.rebalance.enable": "false"},
    )
    return shared_clusters.get("four-zookeeper", spec)


@pytest.fixture(scope="module")
def newest_broker(shared_clusters: SharedClusters) -> Sandbox:
    """Return one broker of the newest Kafka, with share groups and cordons; leave no log dir cordoned."""
    single = {"share.coordinator.state.topic.replication.factor": "1", "share.coordinator.state.topic.min.isr": "1"}
    return shared_clusters.get("newest", SandboxSpec(brokers=1, kafka_version="4.4.0", properties=single))


@pytest.fixture
def make_sandbox(sandbox_home: Path) -> Iterator[MakeSandbox]:
    """Start sandboxes that are removed with the test, whether they started or not."""
    with ExitStack() as at_end:

        def make(spec: SandboxSpec, label: str = "disposable") -> Sandbox:
            name = f"{label}-{os.getpid()}"
            at_end.callback(_take_down, sandbox_home, name)
            return up(spec, name, home=sandbox_home)

        yield make


def _take_down(home: Path, name: str) -> None:
    for sandbox in list_sandboxes(home=home):
        if sandbox.name == name:
            sandbox.down()
