"""Finds the processes of a sandbox by their command lines, not by stored ids.

Every process of a sandbox has its node's folder on its command line. So no file of process ids exists that could be
missing after a crash, or contain an id that another user's process now has.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kafkabal.errors import OperationError
from kafkabal.sandbox.extra_packages import extra_module

_MARK: Final = "-Dkafkabal.sandbox.node="
_STANDARD_ERROR: Final = 2


@dataclass(frozen=True, slots=True)
class ProcessStats:
    """A process at one moment: its id, its memory, and whether a signal has stopped it."""

    pid: int
    rss_bytes: int
    is_paused: bool


def mark_of(node_folder: Path) -> str:
    """The option that marks a Java process as the node in ``node_folder``."""
    return f"{_MARK}{node_folder}"


class ProcessTable:
    """The sandbox processes on this machine; children of this process are reaped once they exit."""

    def __init__(self) -> None:
        self._psutil: Any = extra_module("psutil")
        self._children: set[int] = set()

    def spawn(self, command: list[str], environment: Mapping[str, str], log: Path) -> Any:
        """Start a process in a session of its own, out of reach of a terminal's Ctrl-C; its output goes to ``log``.

        Returns
        -------
        psutil.Process
            Created from its id: for a moment a new process cannot be found by its command line.

        Raises
        ------
        OperationError
            If it cannot be started.
        """
        to_log = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        no_input = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
        errors_too = (os.POSIX_SPAWN_DUP2, 1, 2)
        others = ((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inherited())
        actions = [no_input, to_log, errors_too, *others]
        try:
            pid = os.posix_spawn(command[0], command, environment, file_actions=actions, setsid=True)
        except OSError as error:
            raise OperationError(f"cannot start {command[0]}: {error.strerror}") from error
        self._children.add(pid)
        return self._psutil.Process(pid)

    def find(self, sandbox_folder: Path) -> dict[Path, Any]:
        """The running processes of a sandbox as ``psutil.Process``, by the folder of their node."""
        self._reap()
        mark = mark_of(sandbox_folder) + os.sep
        return {
            Path(argument.removeprefix(_MARK)): process
            for process in self._psutil.process_iter(["cmdline"])
            for argument in process.info["cmdline"] or ()
            if argument.startswith(mark)
        }

    def has_ended(self, process: Any) -> bool:
        """Whether a process found earlier has exited."""
        self._reap()
        try:
            return not process.is_running() or process.status() == self._psutil.STATUS_ZOMBIE
        except self._psutil.NoSuchProcess:
            return True

    def end(self, processes: Collection[Any], with_signal: signal.Signals, *, grace_s: float) -> None:
        """Signal these processes, kill those that remain after ``grace_s``, and wait until they are gone.

        Raises
        ------
        OperationError
            If one still exists 10 s after it was killed.
        """
        self.signal(processes, with_signal)
        # a paused process handles no signal but SIGKILL until it continues
        self.signal(processes, signal.SIGCONT)
        _gone, alive = self._psutil.wait_procs(processes, timeout=grace_s)
        self.signal(alive, signal.SIGKILL)
        _gone, alive = self._psutil.wait_procs(alive, timeout=10)
        if alive:
            raise OperationError(f"process {alive[0].pid} of a sandbox did not exit after SIGKILL")

    def signal(self, processes: Collection[Any], which: signal.Signals) -> None:
        """Signal these processes; skips one that has exited, because its id may have been reused."""
        for process in processes:
            try:
                process.send_signal(which)
            except self._psutil.NoSuchProcess:
                continue

    def stats_of(self, process: Any) -> ProcessStats | None:
        """Statistics of a process found earlier; None if it has exited since."""
        try:
            is_paused = process.status() == self._psutil.STATUS_STOPPED
            return ProcessStats(process.pid, process.memory_info().rss, is_paused)
        except self._psutil.NoSuchProcess:
            return None

    def _reap(self) -> None:
        self._children -= {pid for pid in self._children if _has_been_reaped(pid)}


def _inherited() -> list[int]:
    """Descriptors, beside the standard ones, that a child of this process would inherit.

    They come from the program that started this command, such as ``flock`` or a shell. A broker that kept them would
    hold their locks and pipes for as long as it runs, long after the command has ended.
    """
    found = []
    for descriptor in [int(entry.name) for entry in Path("/dev/fd").iterdir()]:
        with suppress(OSError):  # the descriptor used for the listing itself is already closed
            if descriptor > _STANDARD_ERROR and os.get_inheritable(descriptor):
                found.append(descriptor)
    return found


def _has_been_reaped(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        return True
