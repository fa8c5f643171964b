"""A sandbox: start, disturb, inspect and remove its nodes."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from kafkabal.errors import OperationError, OutputError, UsageError
from kafkabal.sandbox.free_ports import LOOPBACK
from kafkabal.sandbox.java_programs import ProgramResult, java_command, run_java
from kafkabal.sandbox.kafka_installation import TOOL_HEAP_BYTES, KafkaInstallation, prepare_kafka
from kafkabal.sandbox.node_control import NodeControl, titles
from kafkabal.sandbox.node_files_and_command import write_log_settings
from kafkabal.sandbox.node_layout import Node, Role
from kafkabal.sandbox.node_status import NodeState, NodeStatus, node_status_of
from kafkabal.sandbox.process_table import ProcessTable
from kafkabal.sandbox.sandbox_home import make_folder
from kafkabal.sandbox.sandbox_locks import exclusive
from kafkabal.sandbox.sandbox_profile import write_profile
from kafkabal.sandbox.sandbox_record import RECORD_FILE, SandboxRecord
from kafkabal.sandbox.sandbox_spec import INNER_LISTENER
from kafkabal.sandbox.wait_limit import WaitLimit
from kafkabal.wording import system_fault

PROFILE_FILE: Final = "profile.yaml"
_TOOLS: Final = {
    "LogDirsCommand": "org.apache.kafka.tools.LogDirsCommand",
    "ReassignPartitionsCommand": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "TopicCommand": "org.apache.kafka.tools.TopicCommand",
}


class Sandbox:
    """An Apache Kafka cluster on this machine's loopback, stored entirely in one folder.

    As a context manager it is taken down at the end of the block.

    Parameters
    ----------
    folder
        Its folder.
    record
        Its specification and layout.
    cache_folder
        Where jars are stored.
    wait_limit
        How long to wait for nodes.
    """

    def __init__(
        self,
        folder: Path,
        record: SandboxRecord,
        cache_folder: Path,
        *,
        wait_limit: WaitLimit = WaitLimit(),  # noqa: B008 - frozen
    ) -> None:
        self.folder = folder
        self.record = record
        self._cache_folder = cache_folder
        self._control = NodeControl(folder, record, wait_limit)
        self._distribution: KafkaInstallation | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @property
    def name(self) -> str:
        """Its name among the sandboxes of this user."""
        return self.record.name

    @property
    def profile_path(self) -> Path:
        """Its kafkabal profile, with a capacity for each log dir."""
        return self.folder / PROFILE_FILE

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of all brokers, separated by commas, for plaintext clients."""
        return self.bootstrap_servers_of(INNER_LISTENER)

    @property
    def zookeeper(self) -> str | None:
        """``host:port`` of its ZooKeeper; None without one."""
        servers = (node.main_port for node in self.record.nodes if node.role is Role.ZOOKEEPER)
        return next((f"{LOOPBACK}:{port}" for port in servers), None)

    def bootstrap_servers_of(self, listener: str) -> str:
        """``host:port`` of all brokers on one listener, separated by commas.

        Raises
        ------
        UsageError
            If the listener is unknown.
        """
        if not all(listener in node.ports for node in self.record.brokers):
            raise UsageError(f"sandbox {self.name}: unknown listener: {listener}")
        return ",".join(f"{LOOPBACK}:{node.ports[listener]}" for node in self.record.brokers)

    def log_dirs(self, broker: int) -> list[Path]:
        """The log dirs of a broker.

        Raises
        ------
        UsageError
            If the broker is unknown.
        """
        return self.record.log_dirs(self.folder).get(self.record.node(broker).id, [])

    def log(self, node_id: int) -> Path:
        """The file with a node's output.

        Raises
        ------
        UsageError
            If the node is unknown.
        """
        return self._control.files(self.record.node(node_id)).log

    def status(self) -> list[NodeStatus]:
        """The status of every node."""
        stats = self._control.stats()
        return [node_status_of(node, self._control.files(node), stats.get(node.id)) for node in self.record.nodes]

    def start(self, *node_ids: int, on_step: Callable[[str], None] = lambda _step: None) -> None:
        """Start or resume nodes; without ids all that are not running. Returns once they respond.

        Raises
        ------
        UsageError
            If the node is unknown.
        OperationError
            If a node exits, or does not respond before the deadline.
        """
        nodes = self._chosen(node_ids)
        with exclusive(lock_of(self.folder)):
            self._control.start(nodes, self.prepare(), on_step)

    def complete_locked(self, *, on_step: Callable[[str], None]) -> None:
        """Write the shared files and start all nodes, for a caller that holds the lock of the sandbox."""
        make_folder(self._scratch)
        write_log_settings(self.folder)
        write_profile(self.record, self.folder, self.profile_path)
        self._control.start(self.record.nodes, self.prepare(), on_step)

    def kill(self, *node_ids: int) -> list[Node]:
        """Kill nodes (SIGKILL), as in a crash; without ids all. Returns those that ran.

        Raises
        ------
        UsageError
            If the node is unknown.
        """
        return self._end(self._chosen(node_ids), signal.SIGKILL, NodeState.KILLED, grace_s=0)

    def stop(self, *node_ids: int, grace_s: float = 30.0) -> list[Node]:
        """Shut nodes down gracefully (SIGTERM); without ids all. Returns those that ran; any that remain after
        ``grace_s`` are killed.

        Raises
        ------
        UsageError
            If the node is unknown.
        """
        nodes = self._chosen(node_ids)
        # first the nodes that need the others for a graceful shutdown
        brokers, others = ([n for n in nodes if (n.role is Role.BROKER) is is_broker] for is_broker in (True, False))
        return [
            node
            for group in (brokers, others)
            for node in self._end(group, signal.SIGTERM, NodeState.STOPPED, grace_s=grace_s)
        ]

    def pause(self, *node_ids: int) -> list[Node]:
        """Pause nodes (SIGSTOP), as on a machine that hangs; without ids all. :meth:`start` resumes them. Returns them.

        Raises
        ------
        UsageError
            If the node is unknown.
        OperationError
            If a node is not running, or does not stop before the deadline.
        """
        nodes = self._chosen(node_ids)
        running = self._control.processes()
        if absent := [node for node in nodes if node.id not in running]:
            raise OperationError(f"cannot pause, not running: {titles(absent)}")
        self._control.pause(nodes)
        return nodes

    def down(self) -> None:
        """Kill all processes of the sandbox and remove all its files; harmless if already done.

        Raises
        ------
        OutputError
            If a file cannot be removed.
        """
        remove_sandbox(self.folder)

    def prepare(self, *, on_step: Callable[[str], None] = lambda _step: None) -> KafkaInstallation:
        """Its Kafka version, ready to be started; fetched first if it is not in the cache.

        Raises
        ------
        UsageError
            If the extra ``sandbox`` is not installed.
        OperationError
            If a jar cannot be fetched or does not match the lock file.
        """
        if self._distribution is None:
            self._distribution = prepare_kafka(self.record.spec.version, self._cache_folder, on_step=on_step)
        return self._distribution

    def kafka_tool(self, tool: str, *arguments: str, timeout_s: float = 60.0) -> ProgramResult:
        """Run one of Kafka's own tools against this sandbox.

        Parameters
        ----------
        tool
            ``LogDirsCommand``, ``ReassignPartitionsCommand`` or ``TopicCommand``.
        arguments
            Arguments of the tool; ``--bootstrap-server`` is inserted before them.
        timeout_s
            Timeout in seconds.

        Raises
        ------
        UsageError
            If the tool is none of these.
        OperationError
            If it does not exit in time.
        """
        if tool not in _TOOLS:
            raise UsageError(f"unknown tool of Kafka: {tool}", hint=f"choose from: {', '.join(_TOOLS)}")
        servers = ("--bootstrap-server", self.bootstrap_servers)
        return self.run_main(_TOOLS[tool], *servers, *arguments, timeout_s=timeout_s)

    def run_main(self, main_class: str, *arguments: str, timeout_s: float = 60.0) -> ProgramResult:
        """Run any main class on the class path of the sandbox.

        Raises
        ------
        OperationError
            If it does not exit in time.
        """
        return run_java(self.main_command(main_class, *arguments), timeout_s=timeout_s)

    def main_command(self, main_class: str, *arguments: str, with_class_cache: bool = True) -> list[str]:
        """The command line that runs any main class on the class path of the sandbox.

        ``with_class_cache`` halves the start time; leave it out to measure a program as others run it.
        """
        distribution = self.prepare()
        return java_command(
            main_class,
            arguments,
            (*distribution.class_path, *self.record.spec.class_path),
            heap_bytes=TOOL_HEAP_BYTES,
            scratch=self._scratch,
            class_cache=distribution.usable_class_cache if with_class_cache else None,
        )

    @property
    def _scratch(self) -> Path:
        return self.folder / "scratch"

    def _chosen(self, node_ids: Collection[int]) -> list[Node]:
        return [self.record.node(node_id) for node_id in node_ids] if node_ids else list(self.record.nodes)

    def _end(self, nodes: Sequence[Node], which: signal.Signals, state: NodeState, *, grace_s: float) -> list[Node]:
        """End the nodes that run, and record how; returns them."""
        ended = self._control.end(nodes, which, grace_s=grace_s)
        for node in ended:
            self._control.files(node).last_signal.write_text(state.value, encoding="ascii")
        return ended


def lock_of(folder: Path) -> Path:
    """The lock file held by the process that starts or removes the sandbox in ``folder``."""
    return folder.parent / f".{folder.name}.lock"


def remove_sandbox(folder: Path) -> None:
    """Kill all processes of the sandbox in ``folder`` and remove all its files, even if its record is damaged.

    Raises
    ------
    OutputError
        If a file cannot be removed.
    """
    table = ProcessTable()
    with exclusive(lock_of(folder)):
        table.end(table.find(folder).values(), signal.SIGKILL, grace_s=0)
        try:
            _remove_folder(folder)
        except OSError as error:
            # what is below a folder is removed by its bare name
            raise OutputError(f"cannot remove {folder}: {error.filename}: {system_fault(error)}") from error


def _remove_folder(folder: Path) -> None:
    """Remove the record last: the sandbox can be found as long as anything is left."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != RECORD_FILE:
            entry.unlink()
    shutil.rmtree(folder)
