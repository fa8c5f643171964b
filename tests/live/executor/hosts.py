"""Hosts that work on the runs of a cluster: their processes, commands and journals."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import IO, TypeVar

import msgspec

import kafkabal
from kafkabal.errors import BusyError, UnreachableError
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.state.find_run import latest_journal
from kafkabal.executor.state.journal_records import Record
from kafkabal.executor.state.read_journal import JournalContent, read_journal
from kafkabal.plan.plan import Plan
from kafkabal.plan.plan_file import write_plan
from kafkabal.sandbox import Sandbox
from kafkabal.sandbox.sandbox_spec import CONTROLLER_LISTENER
from tests.live.executor.own_clock import OwnClock
from tests.live.executor.scenery import LONGEST_S, until

_T = TypeVar("_T")
SESSION_S = 3.0
_DRIVER = Path(__file__).with_name("work_on_run.py")
_numbers = count(1)


class Reader:
    """Reads a process's output into a file, until it is closed."""

    def __init__(self, source: IO[bytes], said: Path) -> None:
        self._source = source
        self._is_gone = threading.Event()
        self.thread = threading.Thread(target=self._read, args=(said,), daemon=True)
        self.thread.start()

    def go_away(self) -> None:
        """Close the pipe: from then on every write of the process fails."""
        self._is_gone.set()
        self.thread.join()

    def _read(self, said: Path) -> None:
        with self._source as source, said.open("wb", buffering=0) as file:
            while not self._is_gone.is_set():
                if select.select([source], [], [], 0.1)[0]:
                    if not (some := os.read(source.fileno(), 1 << 16)):
                        return
                    file.write(some)


@dataclass
class Process:
    """Another process that works on a run, like another host."""

    popen: subprocess.Popen[bytes]
    said: Path
    clock: OwnClock | None = None
    """The clock that it sees, where that is not the one of its host."""
    reader: Reader | None = None
    """Who reads what it writes, where that is not a file."""

    def send(self, which: signal.Signals) -> None:
        """Send it a signal."""
        self.popen.send_signal(which)

    def end(self, timeout_s: float = LONGEST_S) -> tuple[int, str]:
        """Wait for its end; returns its exit code and output."""
        code = self.popen.wait(timeout_s)
        if self.reader is not None:
            self.reader.thread.join(timeout_s)
        return code, self.said.read_text()

    def kill(self) -> None:
        """Kill it (SIGKILL), unless it has ended."""
        self.popen.kill()
        self.popen.wait()

    def await_suspension(self) -> None:
        """Wait until it has suspended itself."""
        until(lambda: Path(f"/proc/{self.popen.pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.popen.poll() is not None


@dataclass
class Hosts:
    """Hosts with separate state, all working on one cluster."""

    sandbox: Sandbox
    folder: Path
    processes: list[Process] = field(default_factory=list, kw_only=True)

    @property
    def servers(self) -> tuple[str, ...]:
        """Addresses of the brokers."""
        return tuple(self.sandbox.bootstrap_servers.split(","))

    @property
    def controllers(self) -> tuple[str, ...]:
        """Addresses of the controllers."""
        nodes = (n for n in self.sandbox.record.nodes if CONTROLLER_LISTENER in n.ports)
        return tuple(f"127.0.0.1:{n.ports[CONTROLLER_LISTENER]}" for n in nodes)

    def state_dir(self, host: str) -> Path:
        """The folder of a host's journals, for commands and others."""
        return self.folder / host / "kafkabal" / "runs"

    def journals(self, host: str = "one") -> set[Path]:
        """Journals of all runs of a host."""
        return set(self.state_dir(host).glob("*/*.jsonl"))

    def journal(self, host: str = "one") -> JournalContent:
        """The journal of the latest run of a host."""
        return read_journal(max(self.journals(host)))

    def begun(self, host: str = "one") -> JournalContent | None:
        """The journal of a host's latest run that started; None if each was refused before that."""
        folders = {path.parent for path in self.journals(host)}
        return latest_journal(folders.pop()) if folders else None

    def records(self, host: str = "one") -> list[Record]:
        """The content of the journal of a host's latest run, line by line."""
        whole = max(self.journals(host)).read_bytes().rpartition(b"\n")[0]  # the last line may be on its way
        return [msgspec.json.decode(line, type=Record) for line in whole.splitlines()]

    def command(self, *words: str, host: str = "one", given: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run ``kafkabal rebalance`` on a host, with a given standard input."""
        return subprocess.run(
            self.command_line(*words),
            input=given,
            env=self.environment_variables(host),
            capture_output=True,
            text=True,
            timeout=LONGEST_S,
            check=False,
        )

    @contextmanager
    def running(self, *words: str, host: str = "one") -> Iterator[subprocess.Popen[str]]:
        """Run ``kafkabal rebalance`` on a host during a block, at whose end it is killed."""
        with subprocess.Popen(
            self.command_line(*words),
            env=self.environment_variables(host),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def command_line(self, *words: str) -> list[str]:
        """Words of a command on this cluster."""
        return [sys.executable, "-m", "kafkabal", "rebalance", *words, *self._address]

    @property
    def _address(self) -> tuple[str, str]:
        if self.sandbox.zookeeper:
            return "--zookeeper", self.sandbox.zookeeper
        return "--bootstrap-server", self.sandbox.bootstrap_servers

    def environment_variables(self, host: str) -> dict[str, str]:
        """The environment of a host: its own state, and the package under test, installed or not."""
        folders = (Path(kafkabal.__file__).parents[1], Path(__file__).parents[3])
        path = os.pathsep.join(map(str, folders))
        return {**os.environ, "XDG_STATE_HOME": str(self.folder / host), "PYTHONPATH": path}

    def start_process(
        self,
        plan: Plan,
        options: RunOptions,
        action: str,
        *,
        host: str,
        controllers: tuple[str, ...],
        is_watched: bool = False,
        stops_before: tuple[str, int] | None = None,
    ) -> Process:
        """Start another process that applies the plan, or continues a run.

        Parameters
        ----------
        is_watched
            It reports every event to a reader that may go away, and its clock can be stepped.
        stops_before
            Call before which it suspends itself: a method, and which of its calls."""
        number = next(_numbers)
        path, order, said = (self.folder / f"{number}.{kind}" for kind in ("plan.json", "order.json", "said"))
        write_plan(plan, path)
        steps = self.folder / f"{number}.clock"
        steps.write_text("0")
        fields = {
            "clock": str(steps),
            "servers": self.servers,
            "controllers": controllers,
            "zookeeper": self.sandbox.zookeeper,
            "state_dir": str(self.state_dir(host)),
            "host": host,
            "action": action,
            "plan": str(path),
            "options": options,
            "is_reporting": is_watched,
            "stops_before": stops_before,
        }
        order.write_bytes(msgspec.json.encode(fields))
        words = [sys.executable, str(_DRIVER), str(order)]
        variables = self.environment_variables(host)
        if is_watched:
            popen = subprocess.Popen(words, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0)
            assert popen.stdout is not None
            self.processes.append(Process(popen, said, OwnClock(steps), Reader(popen.stdout, said)))
        else:
            with said.open("wb") as file:
                popen = subprocess.Popen(words, env=variables, stdout=file, stderr=file)
            self.processes.append(Process(popen, said))
        return self.processes[-1]

    @staticmethod
    def when_free(action: Callable[[], _T]) -> _T:
        """Run this once the lock of a dead process has expired, and the lock has a coordinator."""
        give_up_at = time.monotonic() + LONGEST_S
        while True:
            try:
                return action()
            except (BusyError, UnreachableError):
                if time.monotonic() >= give_up_at:
                    raise
            time.sleep(0.25)
