"""Processes that were just started are known, although the list of processes does not show them yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import OperationError
from kafkabal.sandbox import Node, Role, SandboxSpec, node_control
from kafkabal.sandbox.kafka_installation import KafkaInstallation
from kafkabal.sandbox.node_control import NodeControl
from kafkabal.sandbox.node_layout import ZOOKEEPER_ID
from kafkabal.sandbox.process_table import ProcessTable
from kafkabal.sandbox.sandbox_record import SandboxRecord
from kafkabal.sandbox.wait_limit import WaitLimit

SERVER = Node(ZOOKEEPER_ID, Role.ZOOKEEPER, None, {"ZOOKEEPER": 1})
BROKER = Node(1, Role.BROKER, None, {"PLAINTEXT": 2})


class TooNewToBeFound(ProcessTable):
    """Starts processes that last until they are killed, and finds none of them."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Any] = []

    def spawn(self, command: list[str], environment: Mapping[str, str], log: Path) -> Any:
        """Start a process and remember it."""
        self.started.append(super().spawn(command, environment, log))
        return self.started[-1]

    def find(self, sandbox_folder: Path) -> dict[Path, Any]:
        """No process at all, as immediately after a start."""
        return {}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Iterator[TooNewToBeFound]:
    """Let nodes be processes that sleep."""
    made = TooNewToBeFound()
    monkeypatch.setattr(node_control, "ProcessTable", lambda: made)
    monkeypatch.setattr(node_control, "ensure_files", lambda _record, _node, files, _: files.folder.mkdir())
    monkeypatch.setattr(node_control, "node_command", lambda *_: ["/bin/sleep", "600"])
    yield made
    made.end(made.started, 9, grace_s=0)  # type: ignore[arg-type] # of no use to a test


def start(folder: Path) -> None:
    """Start a ZooKeeper and a broker, which never respond."""
    spec = SandboxSpec(brokers=1, zookeeper=True)
    control = NodeControl(folder, SandboxRecord("mine", spec, "id", 1.5, (SERVER, BROKER)), WaitLimit(deadline_s=0.0))
    control.start((SERVER, BROKER), KafkaInstallation("3.9.2", (), folder), lambda _: None)


def test_a_broker_starts_with_a_zookeeper_that_is_just_starting(
    table: TooNewToBeFound, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ZooKeeper that is not listed yet counts as running, and the broker is started."""
    monkeypatch.setattr(node_control, "registered_brokers", lambda _: frozenset())
    with pytest.raises(OperationError, match="did not respond"):
        start(tmp_path)
    assert len(table.started) == 2


def test_a_failed_start_leaves_no_process(table: TooNewToBeFound, tmp_path: Path) -> None:
    """What was started is killed although it is not listed yet, its node counts as killed, and the hint says how to
    wait longer: a killed broker with thousands of replicas recovers them for minutes."""
    with pytest.raises(OperationError) as caught:
        start(tmp_path)
    assert "'kafkabal sandbox up --timeout 10m'" in (caught.value.hint or "")
    assert [table.has_ended(process) for process in table.started] == [True]
    assert (tmp_path / "zookeeper" / "last-signal").read_text() == "killed"
