"""The status of a node, derived from its process and from what it left."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.sandbox import Node, NodeState, NodeStatus, Role
from kafkabal.sandbox.node_layout import NodeFiles
from kafkabal.sandbox.node_status import node_status_of
from kafkabal.sandbox.process_table import ProcessStats

NODE = Node(1, Role.BROKER, None, {"PLAINTEXT": 1})
MEMORY = "Terminating due to java.lang.OutOfMemoryError: Java heap space"


@pytest.mark.parametrize(
    ("process", "expected"),
    [
        (ProcessStats(7, 99, is_paused=False), NodeStatus(NODE, NodeState.RUNNING, 7, 99)),
        (ProcessStats(7, 99, is_paused=True), NodeStatus(NODE, NodeState.PAUSED, 7, 99)),
        (None, NodeStatus(NODE, NodeState.NOT_STARTED)),
    ],
)
def test_status_from_the_process(process: ProcessStats | None, expected: NodeStatus, tmp_path: Path) -> None:
    """A process determines the status; a node without a process and a log was never started."""
    assert node_status_of(NODE, NodeFiles(tmp_path), process) == expected


@pytest.mark.parametrize(
    ("log", "last_signal", "expected"),
    [
        ("", "killed", NodeStatus(NODE, NodeState.KILLED)),
        ("", "stopped", NodeStatus(NODE, NodeState.STOPPED)),
        (MEMORY, None, NodeStatus(NODE, NodeState.OUT_OF_MEMORY, cause="heap exhausted")),
        ("[x] ERROR disk full", None, NodeStatus(NODE, NodeState.ENDED, cause="disk full")),
    ],
)
def test_ended_node_status_from_log_and_signal(
    log: str, last_signal: str | None, expected: NodeStatus, tmp_path: Path
) -> None:
    """An exit that the sandbox caused is distinguished from a crash."""
    files = NodeFiles(tmp_path)
    files.log.write_text(log)
    if last_signal:
        files.last_signal.write_text(last_signal)
    assert node_status_of(NODE, files, None) == expected
