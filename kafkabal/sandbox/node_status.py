"""The status of the nodes of a sandbox."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kafkabal.sandbox import exit_diagnosis
from kafkabal.sandbox.node_layout import Node, NodeFiles
from kafkabal.sandbox.process_table import ProcessStats


class NodeState(StrEnum):
    """The state of a node."""

    RUNNING = "running"
    PAUSED = "paused"
    KILLED = "killed"
    STOPPED = "stopped"
    OUT_OF_MEMORY = "out of memory"
    ENDED = "ended"
    NOT_STARTED = "not started"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """A node and its state; its process with that one's memory, if any; and why it exited, if it did so by itself."""

    node: Node
    state: NodeState
    pid: int | None = None
    rss_bytes: int | None = None
    cause: str | None = None


def node_status_of(node: Node, files: NodeFiles, process: ProcessStats | None) -> NodeStatus:
    """The status of a node, from its process if it has one, else from the files it left."""
    if process is not None:
        state = NodeState.PAUSED if process.is_paused else NodeState.RUNNING
        return NodeStatus(node, state, process.pid, process.rss_bytes)
    if not files.log.exists():
        return NodeStatus(node, NodeState.NOT_STARTED)
    if exit_diagnosis.ran_out_of_memory(files.log):
        return NodeStatus(node, NodeState.OUT_OF_MEMORY, cause="heap exhausted")
    if files.last_signal.exists():
        return NodeStatus(node, NodeState(files.last_signal.read_text(encoding="ascii")))
    return NodeStatus(node, NodeState.ENDED, cause=exit_diagnosis.cause_of_end(files.log))
