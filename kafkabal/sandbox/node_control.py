"""Controls the processes of one sandbox: starts them, waits for them, signals and ends them."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from kafkabal.errors import OperationError
from kafkabal.sandbox import exit_diagnosis
from kafkabal.sandbox.java_programs import java_environment
from kafkabal.sandbox.kafka_installation import KafkaInstallation
from kafkabal.sandbox.node_files_and_command import ensure_files, node_command
from kafkabal.sandbox.node_layout import ZOOKEEPER_ID, Node, NodeFiles
from kafkabal.sandbox.node_status import NodeState
from kafkabal.sandbox.process_table import ProcessStats, ProcessTable
from kafkabal.sandbox.readiness import Readiness
from kafkabal.sandbox.sandbox_record import SandboxRecord
from kafkabal.sandbox.wait_limit import WaitLimit
from kafkabal.sandbox.zookeeper_brokers import registered_brokers


class NodeControl:
    """The current processes of the sandbox in ``folder``; nothing about them is stored."""

    def __init__(self, folder: Path, record: SandboxRecord, wait_limit: WaitLimit) -> None:
        self._folder = folder
        self._record = record
        self._wait_limit = wait_limit
        self._table = ProcessTable()

    def files(self, node: Node) -> NodeFiles:
        """The paths of a node's files."""
        return NodeFiles(self._folder / node.folder_name)

    def processes(self) -> dict[int, Any]:
        """The running processes, by node id."""
        by_folder = self._table.find(self._folder)
        return {
            node.id: by_folder[folder]
            for node in self._record.nodes
            if (folder := self.files(node).folder) in by_folder
        }

    def stats(self) -> dict[int, ProcessStats]:
        """Statistics of the running processes, by node id."""
        stats = ((node_id, self._table.stats_of(process)) for node_id, process in self.processes().items())
        return {node_id: each for node_id, each in stats if each is not None}

    def send(self, nodes: Collection[Node], which: signal.Signals) -> None:
        """Signal the given nodes that have a process."""
        processes = self.processes()
        self._table.signal([processes[node.id] for node in nodes if node.id in processes], which)

    def pause(self, nodes: Sequence[Node]) -> None:
        """Stop the given nodes that have a process; returns once all their threads stand still, which takes a moment.

        Raises
        ------
        OperationError
            If a node still runs at the deadline.
        """
        self.send(nodes, signal.SIGSTOP)

        def running() -> list[Node]:
            stats = self.stats()
            return [node for node in nodes if node.id in stats and not stats[node.id].is_paused]

        if not self._wait_limit.until(lambda: not running()):
            raise OperationError(f"cannot pause, still running: {titles(running())}")

    def end(self, nodes: Collection[Node], which: signal.Signals, *, grace_s: float) -> list[Node]:
        """Signal the given nodes that have a process, kill them after ``grace_s``, and return them."""
        processes = self.processes()
        present = [node for node in nodes if node.id in processes]
        self._table.end([processes[node.id] for node in present], which, grace_s=grace_s)
        return present

    def start(self, nodes: Sequence[Node], distribution: KafkaInstallation, on_step: Callable[[str], None]) -> None:
        """Resume paused nodes and start missing ones; returns once all respond. If one fails, those it started are
        killed.

        Raises
        ------
        OperationError
            If a node exits, or does not respond before the deadline.
        OutputError
            If a node's files cannot be written.
        """
        stats = self.stats()
        if paused := [node for node in nodes if node.id in stats and stats[node.id].is_paused]:
            on_step(f"resuming {titles(paused)}")
        self.send(nodes, signal.SIGCONT)
        processes = self.processes()
        absent = [node for node in nodes if node.id not in processes]
        if absent:
            on_step(f"starting {titles(absent)}")
        try:
            for node in absent:
                processes[node.id] = self._spawn(node, distribution, processes)
            self._wait_until_ready(nodes, processes)
        except BaseException:
            # by their ids: for a moment a new process cannot be found
            started = [n for n in absent if n.id in processes and not self._table.has_ended(processes[n.id])]
            self._table.end([processes[node.id] for node in started], signal.SIGKILL, grace_s=0)
            for node in started:
                # otherwise its log would be searched for an error
                self.files(node).last_signal.write_text(NodeState.KILLED.value, encoding="ascii")
            raise

    def _spawn(self, node: Node, distribution: KafkaInstallation, processes: Mapping[int, Any]) -> Any:
        if self._record.spec.zookeeper and node.role.serves_clients:
            self._wait_until_unregistered(node, processes.get(ZOOKEEPER_ID))
        files = self.files(node)
        ensure_files(self._record, node, files, distribution)
        files.last_signal.unlink(missing_ok=True)
        exit_diagnosis.mark_start(files.log)
        return self._table.spawn(node_command(self._record, node, files, distribution), java_environment(), files.log)

    def _wait_until_unregistered(self, broker: Node, process: Any) -> None:
        """Wait until ZooKeeper, which runs as this process, has expired the session of a killed broker."""
        server = self._record.node(ZOOKEEPER_ID)
        if process is None:
            raise OperationError(f"the zookeeper of sandbox {self._record.name} is not running", hint="start it first")

        def is_expired() -> bool:
            if self._table.has_ended(process):
                raise self._not_started_error(server)
            registered = registered_brokers(server.main_port)
            return registered is not None and broker.id not in registered

        if not self._wait_limit.until(is_expired):
            raise self._no_response_error(server)

    def _wait_until_ready(self, nodes: Sequence[Node], processes: Mapping[int, Any]) -> None:
        readiness = Readiness(nodes, [node.id for node in nodes if node.role.serves_clients])

        def is_ready() -> bool:
            for node in nodes:
                if self._table.has_ended(processes[node.id]):
                    raise self._not_started_error(node)
            return readiness.check()

        if not self._wait_limit.until(is_ready):
            raise self._no_response_error(readiness.waited_for[0])

    def _not_started_error(self, node: Node) -> OperationError:
        log = self.files(node).log
        return OperationError(
            f"{node.title} of sandbox {self._record.name} did not start: {exit_diagnosis.cause_of_end(log)}",
            hint=f"see its log: {log}",
        )

    def _no_response_error(self, node: Node) -> OperationError:
        return OperationError(
            f"{node.title} of sandbox {self._record.name} did not respond within {self._wait_limit.deadline_s:g} s",
            # a killed broker with 5,500 replicas took three minutes to recover their logs, on a busy machine
            hint=f"see its log: {self.files(node).log}; 'kafkabal sandbox up --timeout 10m' waits longer",
        )


def titles(nodes: Sequence[Node]) -> str:
    """List nodes in a sentence."""
    return ", ".join(node.title for node in nodes)
