"""Real clusters for the live tests.

``three_brokers`` and the like are shared by all tests: use your own topics, and leave brokers, settings and throttles
as you found them. Tests that kill, pause or fill brokers need their own cluster from ``make_sandbox``, which goes down
with the test.

With several workers the tests that share a cluster run on one of them (``tests/conftest.py``). Tests on the other
worker may have clusters in the same folder at the same time."""

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


@pytest.fixture(scope="session")
def three_brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    """Return three brokers in three racks with two log dirs each, shared by all tests."""
    with up(SandboxSpec(brokers=3, racks=3), f"three-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def zookeeper_brokers(sandbox_home: Path) -> Iterator[Sandbox]:
    """Return four brokers in two racks and a ZooKeeper, shared by all tests; delete the topics that you create."""
    spec = SandboxSpec(
        brokers=4,
        racks=2,
        zookeeper=True,
        properties={"group.min.session.timeout.ms": "1000", "auto.leader.rebalance.enable": "false"},
    )
    with up(spec, f"four-zookeeper-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


@pytest.fixture(scope="session")
def cordoning_broker(sandbox_home: Path) -> Iterator[Sandbox]:
    """Return one broker of a Kafka that supports cordons, shared by all tests; leave no log dir cordoned."""
    with up(SandboxSpec(brokers=1, kafka_version="4.3.1"), f"cordoning-{os.getpid()}", home=sandbox_home) as sandbox:
        yield sandbox


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
