"""A sandbox: its nodes started, disturbed, looked at and removed."""

from __future__ import annotations

import shutil
import signal
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Self

from kafkabal.errors import OperationError, OutputError, UsageError
from kafkabal.sandbox import diagnosis
from kafkabal.sandbox.distribution import TOOL_HEAP_BYTES, Distribution, prepare
from kafkabal.sandbox.home import exclusive, make_folder
from kafkabal.sandbox.java import ProgramResult, java_command, java_environment, run_java
from kafkabal.sandbox.nodes import ZOOKEEPER_ID, Node, NodeFiles, Role
from kafkabal.sandbox.ports import LOOPBACK
from kafkabal.sandbox.processes import ProcessTable, mark_of
from kafkabal.sandbox.profile import write_profile
from kafkabal.sandbox.properties import as_properties_file, node_properties
from kafkabal.sandbox.readiness import Readiness
from kafkabal.sandbox.record import RECORD_FILE, SandboxRecord
from kafkabal.sandbox.spec import INNER_LISTENER
from kafkabal.sandbox.status import NodeState, NodeStatus, status_of
from kafkabal.sandbox.storage import format_dirs
from kafkabal.sandbox.waiting import Patience
from kafkabal.sandbox.zookeeper import registered_brokers

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from pathlib import Path
    from types import TracebackType

PROFILE_FILE: Final = "profile.yaml"
_LOG_SETTINGS_FILE: Final = "log4j2.properties"
_BROKER_MAIN: Final = "kafka.Kafka"
_ZOOKEEPER_MAIN: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
_ZOOKEEPER_HEAP_BYTES: Final = 128 * 2**20
_CONTROLLER_HEAP_BYTES: Final = 256 * 2**20
_TOOLS: Final = {
    "LogDirsCommand": "org.apache.kafka.tools.LogDirsCommand",
    "ReassignPartitionsCommand": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "TopicCommand": "org.apache.kafka.tools.TopicCommand",
}


class Sandbox:
    """A cluster of Apache Kafka on this machine's loopback, in a folder that holds all that it is.

    As a context manager it goes down at the end of the block.

    Parameters
    ----------
    folder
        Where it lies.
    record
        What it was asked to be, and how it was laid out.
    cache_folder
        Where jars are kept.
    patience
        How long to wait for nodes.
    """

    def __init__(
        self,
        folder: Path,
        record: SandboxRecord,
        cache_folder: Path,
        *,
        patience: Patience = Patience(),  # noqa: B008 - frozen
    ) -> None:
        self.folder = folder
        self.record = record
        self._cache_folder = cache_folder
        self._patience = patience
        self._processes = ProcessTable()
        self._distribution: Distribution | None = None

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
        """The kafkabal profile that describes it, with a capacity for each log dir."""
        return self.folder / PROFILE_FILE

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of all brokers, separated by commas, for clients without encryption and authentication."""
        return self.bootstrap_servers_of(INNER_LISTENER)

    @property
    def zookeeper(self) -> str | None:
        """``host:port`` of its ZooKeeper, None without."""
        servers = (node.main_port for node in self.record.nodes if node.role is Role.ZOOKEEPER)
        return next((f"{LOOPBACK}:{port}" for port in servers), None)

    def bootstrap_servers_of(self, listener: str) -> str:
        """``host:port`` of one of the listeners of all brokers, separated by commas.

        Raises
        ------
        UsageError
            If there is no such listener.
        """
        if not all(listener in node.ports for node in self.record.brokers):
            raise UsageError(f"sandbox {self.name} has no listener {listener}")
        return ",".join(f"{LOOPBACK}:{node.ports[listener]}" for node in self.record.brokers)

    def log_dirs(self, broker: int) -> list[Path]:
        """Return the log dirs of a broker.

        Raises
        ------
        UsageError
            If there is no such broker.
        """
        return self.record.log_dirs(self.folder).get(self.record.node(broker).id, [])

    def log(self, node_id: int) -> Path:
        """Return the file that a node prints to.

        Raises
        ------
        UsageError
            If there is no such node.
        """
        return self._files(self.record.node(node_id)).log

    def status(self) -> list[NodeStatus]:
        """Say how every node is."""
        views = {
            folder: self._processes.look_at(process) for folder, process in self._processes.find(self.folder).items()
        }
        return [status_of(node, self._files(node), views.get(self._folder(node))) for node in self.record.nodes]

    def start(self, *node_ids: int, on_step: Callable[[str], None] = lambda _step: None) -> None:
        """Bring nodes back, paused or ended; without ids all that are not running. Return when they answer.

        Raises
        ------
        UsageError
            If there is no such node.
        OperationError
            If one of them ends, or does not answer before the deadline.
        """
        with exclusive(lock_of(self.folder)):
            self.start_locked(self._chosen(node_ids), on_step=on_step)

    def start_locked(self, nodes: Sequence[Node], *, on_step: Callable[[str], None]) -> None:
        """Do as :meth:`start` does, for a caller that holds the lock of the sandbox."""
        running = self._processes.find(self.folder)
        self._processes.signal([running[f] for f in map(self._folder, nodes) if f in running], signal.SIGCONT)
        absent = [node for node in nodes if self._folder(node) not in running]
        if absent:
            on_step(f"starting {_titles(absent)}")
        try:
            for node in absent:
                if self.record.spec.zookeeper and node.role.serves_clients:
                    self._wait_until_unregistered(node)
                self._spawn(node)
            self._wait_until_ready(nodes)
        except BaseException:
            self._end(absent, signal.SIGKILL, patience_s=0)
            raise

    def kill(self, *node_ids: int) -> None:
        """Kill nodes (SIGKILL), as a crash would; without ids all.

        Raises
        ------
        UsageError
            If there is no such node.
        """
        self._end_as(NodeState.KILLED, self._chosen(node_ids), signal.SIGKILL, patience_s=0)

    def stop(self, *node_ids: int, patience_s: float = 30.0) -> None:
        """Stop nodes in good order (SIGTERM); without ids all. What is still there after ``patience_s`` is killed.

        Raises
        ------
        UsageError
            If there is no such node.
        """
        nodes = self._chosen(node_ids)
        # those first that need the others to leave in good order
        for group in ([n for n in nodes if n.role is Role.BROKER], [n for n in nodes if n.role is not Role.BROKER]):
            self._end_as(NodeState.STOPPED, group, signal.SIGTERM, patience_s=patience_s)

    def pause(self, *node_ids: int) -> None:
        """Pause nodes (SIGSTOP), as a machine that hangs would; without ids all. :meth:`start` lets them go on.

        Raises
        ------
        UsageError
            If there is no such node.
        OperationError
            If one of them is not running.
        """
        running = self._processes.find(self.folder)
        nodes = self._chosen(node_ids)
        if absent := [node for node in nodes if self._folder(node) not in running]:
            raise OperationError(f"not running, so it cannot be paused: {_titles(absent)}")
        self._processes.signal([running[self._folder(node)] for node in nodes], signal.SIGSTOP)

    def down(self) -> None:
        """Kill every process of the sandbox and remove every file of it; harmless if that has been done.

        Raises
        ------
        OutputError
            If a file cannot be removed.
        """
        remove_sandbox(self.folder)

    def prepare(self, *, on_step: Callable[[str], None] = lambda _step: None) -> Distribution:
        """Return its version of Kafka, ready to be started; fetched first where it is not in the cache.

        Raises
        ------
        UsageError
            If the extra ``sandbox`` is not installed.
        OperationError
            If a jar cannot be fetched or is not the locked one.
        """
        if self._distribution is None:
            self._distribution = prepare(self.record.spec.version, self._cache_folder, on_step=on_step)
        return self._distribution

    def write_shared_files(self) -> None:
        """Write what all nodes share, and the profile."""
        make_folder(self._scratch)
        settings = resources.files("kafkabal.sandbox") / _LOG_SETTINGS_FILE
        (self.folder / _LOG_SETTINGS_FILE).write_bytes(settings.read_bytes())
        write_profile(self.record, self.folder, self.profile_path)

    def kafka_tool(self, tool: str, *arguments: str, timeout_s: float = 60.0) -> ProgramResult:
        """Run one of Kafka's own tools against this sandbox.

        Parameters
        ----------
        tool
            ``LogDirsCommand``, ``ReassignPartitionsCommand`` or ``TopicCommand``.
        arguments
            Those of the tool; ``--bootstrap-server`` is put before them.
        timeout_s
            When to give up.

        Raises
        ------
        OperationError
            If it does not end in time.
        """
        servers = ("--bootstrap-server", self.bootstrap_servers)
        return self.run_main(_TOOLS[tool], *servers, *arguments, timeout_s=timeout_s)

    def run_main(self, main_class: str, *arguments: str, timeout_s: float = 60.0) -> ProgramResult:
        """Run any main class on the class path of the sandbox.

        Raises
        ------
        OperationError
            If it does not end in time.
        """
        return run_java(self.main_command(main_class, *arguments), timeout_s=timeout_s)

    def main_command(self, main_class: str, *arguments: str, with_class_cache: bool = True) -> list[str]:
        """Return the command line that runs any main class on the class path of the sandbox.

        ``with_class_cache`` halves the time of the start; a measurement of the program as others run it goes without.
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

    def _folder(self, node: Node) -> Path:
        return self.folder / node.folder_name

    def _files(self, node: Node) -> NodeFiles:
        return NodeFiles(self._folder(node))

    def _chosen(self, node_ids: Collection[int]) -> list[Node]:
        return [self.record.node(node_id) for node_id in node_ids] if node_ids else list(self.record.nodes)

    def _spawn(self, node: Node) -> None:
        files = self._files(node)
        try:
            if not files.settings.exists():
                self._create(node, files)
            files.last_signal.unlink(missing_ok=True)
            diagnosis.mark_start(files.log)
        except OSError as error:
            raise OutputError(f"cannot write the files of {node.title} to {files.folder}: {error.strerror}") from error
        self._processes.spawn(self._command(node, files), java_environment(), files.log)

    def _create(self, node: Node, files: NodeFiles) -> None:
        """Write the files of a node, its settings last: a node that has them is complete."""
        shutil.rmtree(files.folder, ignore_errors=True)
        make_folder(files.scratch)
        if not self.record.spec.zookeeper:
            dirs = [files.metadata, *(self.log_dirs(node.id))]
            format_dirs(dirs, self.record.cluster_id, node.id, self.prepare().bootstrap_checkpoint)
        files.settings.write_bytes(as_properties_file(node_properties(self.record, node, files)))

    def _command(self, node: Node, files: NodeFiles) -> list[str]:
        spec = self.record.spec
        distribution = self.prepare()
        return java_command(
            _ZOOKEEPER_MAIN if node.role is Role.ZOOKEEPER else _BROKER_MAIN,
            [str(files.settings)],
            (*distribution.class_path, *spec.class_path, *spec.broker_class_path.get(node.id, ())),
            heap_bytes=self._heap_bytes(node),
            scratch=files.scratch,
            class_cache=distribution.usable_class_cache,
            options=(
                mark_of(files.folder),
                "-XX:+ExitOnOutOfMemoryError",
                f"-Dlog4j2.configurationFile={self.folder / _LOG_SETTINGS_FILE}",
                *spec.jvm_options,
            ),
        )

    def _heap_bytes(self, node: Node) -> int:
        if node.role is Role.ZOOKEEPER:
            return _ZOOKEEPER_HEAP_BYTES
        return self.record.spec.broker_heap_bytes if node.role.serves_clients else _CONTROLLER_HEAP_BYTES

    def _wait_until_unregistered(self, broker: Node) -> None:
        """Wait until ZooKeeper has forgotten the session that a killed broker had."""
        server = self.record.node(ZOOKEEPER_ID)
        process = self._processes.find(self.folder).get(self._folder(server))
        if process is None:
            raise OperationError(f"the zookeeper of sandbox {self.name} is not running", hint="start it first")

        def is_forgotten() -> bool:
            if self._processes.has_ended(process):
                raise self._did_not_start(server)
            registered = registered_brokers(server.main_port)
            return registered is not None and broker.id not in registered

        if not self._patience.until(is_forgotten):
            raise self._late(server)

    def _wait_until_ready(self, nodes: Sequence[Node]) -> None:
        running = self._processes.find(self.folder)
        readiness = Readiness(nodes, [node.id for node in nodes if node.role.serves_clients])

        def ready() -> bool:
            for node in nodes:
                process = running.get(self._folder(node))
                if process is None or self._processes.has_ended(process):
                    raise self._did_not_start(node)
            return readiness.look()

        if not self._patience.until(ready):
            raise self._late(readiness.waited_for[0])

    def _did_not_start(self, node: Node) -> OperationError:
        log = self._files(node).log
        return OperationError(
            f"{node.title} of sandbox {self.name} did not start: {diagnosis.cause_of_end(log)}",
            hint=f"its log is {log}",
        )

    def _late(self, node: Node) -> OperationError:
        return OperationError(
            f"{node.title} of sandbox {self.name} does not answer after {self._patience.deadline_s:g} s",
            hint=f"its log is {self._files(node).log}",
        )

    def _end_as(self, state: NodeState, nodes: Sequence[Node], which: signal.Signals, *, patience_s: float) -> None:
        for node in self._end(nodes, which, patience_s=patience_s):
            self._files(node).last_signal.write_text(state.value, encoding="ascii")

    def _end(self, nodes: Sequence[Node], which: signal.Signals, *, patience_s: float) -> list[Node]:
        """End those of the nodes that have a process, and return them."""
        running: dict[Path, Any] = self._processes.find(self.folder)
        present = [node for node in nodes if self._folder(node) in running]
        self._processes.end([running[self._folder(node)] for node in present], which, patience_s=patience_s)
        return present


def lock_of(folder: Path) -> Path:
    """Return the lock file that is held by who starts or removes the sandbox in ``folder``."""
    return folder.parent / f".{folder.name}.lock"


def remove_sandbox(folder: Path) -> None:
    """Kill every process of the sandbox in ``folder`` and remove every file of it, even if its record is damaged.

    Raises
    ------
    OutputError
        If a file cannot be removed.
    """
    table = ProcessTable()
    with exclusive(lock_of(folder)):
        table.end(table.find(folder).values(), signal.SIGKILL, patience_s=0)
        try:
            _remove_folder(folder)
        except OSError as error:
            raise OutputError(f"cannot remove {error.filename}: {error.strerror}") from error


def _remove_folder(folder: Path) -> None:
    """Remove the record last: as long as anything is left, the sandbox is found."""
    if not folder.is_dir():
        return
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry.name != RECORD_FILE:
            entry.unlink()
    shutil.rmtree(folder)


def _titles(nodes: Sequence[Node]) -> str:
    return ", ".join(node.title for node in nodes)
