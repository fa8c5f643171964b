"""``rebalance apply`` whose output fails or closes: the plan is still applied."""

from __future__ import annotations

import errno
import io
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import kafkabal
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from tests.full_pipe import full_pipe


class _Gone(io.StringIO):
    """A stream that fails from its n-th write on."""

    encoding = "utf-8"

    def __init__(self, first: int, code: int) -> None:
        super().__init__()
        self.first, self.code, self.writes = first, code, 0

    def write(self, text: str) -> int:
        self.writes += 1
        if self.writes >= self.first:
            raise OSError(self.code, os.strerror(self.code))
        return super().write(text)


def _apply(tmp_path: Path, snapshot: Path, plan_file: Path, *more: str, **streams: Any) -> int:
    context = CommandContext(
        stdin=io.StringIO(),
        environ={},
        folders={kind: tmp_path / kind for kind in ("config", "cache", "state")},
        **({"stdout": io.StringIO(), "stderr": io.StringIO()} | streams),
    )
    return main(
        ("rebalance", "apply", str(plan_file), "--snapshot", str(snapshot), "--save", str(snapshot), "--yes", *more),
        context,
    )


def _is_applied(snapshot: Path) -> bool:
    state = read_snapshot(snapshot)
    return state.brokers.id[state.replicas.broker[:4]].tolist() == [3, 2, 3, 1]


@pytest.mark.parametrize("code", [errno.EIO, errno.EPIPE, errno.ENOSPC])
def test_standard_error_fails_at_any_write(tmp_path: Path, snapshot: Path, plan_file: Path, code: int) -> None:
    """Whichever write to standard error fails first, the plan is applied and the exit code says so."""
    before = snapshot.read_bytes()
    healthy = _Gone(10**9, code)
    assert _apply(tmp_path, snapshot, plan_file, stderr=healthy) == 0
    assert healthy.writes > 0
    for first in range(1, healthy.writes + 1):
        snapshot.write_bytes(before)
        for path in (tmp_path / "state").rglob("*.jsonl"):
            path.unlink()
        assert _apply(tmp_path, snapshot, plan_file, stderr=_Gone(first, code)) == 0, first
        assert _is_applied(snapshot), first


@pytest.mark.parametrize("form", ["table", "json", "jsonl"])
@pytest.mark.parametrize("code", [errno.EIO, errno.EPIPE, errno.ENOSPC])
def test_standard_output_fails(tmp_path: Path, snapshot: Path, plan_file: Path, code: int, form: str) -> None:
    """A complete run is not reported as failed because its report is not read."""
    said = io.StringIO()
    assert (_apply(tmp_path, snapshot, plan_file, "-o", form, stdout=_Gone(1, code), stderr=said), said.getvalue())[
        0
    ] == 0, said.getvalue()
    assert _is_applied(snapshot)


_RUN = """
import sys, time
from pathlib import Path
from kafkabal.cli.commands.rebalance.open_run_session import _reporters
from kafkabal.cli.commands.rebalance.run_session import RunSession
from kafkabal.cli.commands.rebalance.run_command_options import RunOutput
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.main import main
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.config.settings import Settings
from kafkabal.executor.safety.lock_across_runs import LockAcrossRuns
from kafkabal.executor.execute_run import apply
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions, Throttle
from kafkabal.isolated_listeners import Reporters
from kafkabal.plan.plan_file import read_plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic

class Slow(FakeClock):
    def sleep(self, seconds):
        time.sleep(0.02)
        super().sleep(seconds)

folder, plan = Path(sys.argv[1]), read_plan(sys.argv[2])
memory = InMemoryCluster.of(cluster(brokers(3, dirs=2), [topic("t", [1, 2], [2, 1], [1, 2])]), Slow())
for partition in memory.kafka.parts.topics["t"].partitions.values():
    for log in partition.logs.values():
        log.copied_bytes = 10**9
context = CommandContext()
with Reporters(list(_reporters(RunOutput(), context, "rebalance apply"))) as reporters:
    environment = RunEnvironment(cluster=memory, state_dir=folder, clock=memory.kafka.clock, listener=reporters)
    command = RunSession(
        "rebalance apply", Settings(), context, RunOutput(), environment, reporters, LockAcrossRuns(environment)
    )
    options = RunOptions(throttle=Throttle(bytes_per_s=1_000_000))
    (folder / "began").touch()
    with command.stopping_on_signals():
        result = apply(environment, plan, options)
left = [(b.id, dict(b.own_configs)) for b in memory.kafka.parts.brokers.values() if b.own_configs]
(folder / "found").write_text(f"{result.outcome} {len(memory.kafka.catch_up().moving)} {left}")
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    """A program that works on a simulated cluster for half a minute, like the command."""
    path = tmp_path / "run.py"
    path.write_text(_RUN)
    return path


def _until(holds: Callable[[], bool]) -> None:
    give_up_at = time.monotonic() + 60.0
    while not holds():
        assert time.monotonic() < give_up_at
        time.sleep(0.02)


@pytest.fixture
def environ() -> dict[str, str]:
    """The environment of a program that uses the package under test."""
    return {**os.environ, "PYTHONPATH": str(Path(kafkabal.__file__).parents[1])}


def test_terminal_that_closes(tmp_path: Path, plan_file: Path, script: Path, environ: dict[str, str]) -> None:
    """If its terminal closes, a run cancels what is in flight, restores every throttle and closes its journal."""
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored where the tests themselves run under nohup
        os.execve(sys.executable, [sys.executable, str(script), str(tmp_path), str(plan_file)], environ)
    _until((tmp_path / "began").exists)
    _until(lambda: any(b'"kind":"reassign"' in p.read_bytes() for p in tmp_path.rglob("*.jsonl")))
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert (tmp_path / "found").read_text() == "stopped 0 []"


def test_reader_of_the_output_goes_away(tmp_path: Path, plan_file: Path, script: Path, environ: dict[str, str]) -> None:
    """Without a reader (``2>&1 | head -1``, a tee ended by Ctrl-C) a run still stops on request."""
    words = [sys.executable, str(script), str(tmp_path), str(plan_file)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environ) as run:
        assert run.stdout is not None
        run.stdout.close()
        _until(lambda: any(b'"kind":"reassign"' in p.read_bytes() for p in tmp_path.rglob("*.jsonl")))
        run.send_signal(signal.SIGINT)
        assert run.wait(60.0) == 0
    assert (tmp_path / "found").read_text() == "stopped 0 []"


def test_reader_of_the_output_stops_reading(
    tmp_path: Path, plan_file: Path, script: Path, environ: dict[str, str]
) -> None:
    """With a full pipe (a stopped pager) a run continues, and still stops on request."""
    words = [sys.executable, str(script), str(tmp_path), str(plan_file)]
    with full_pipe() as (reader, writer), subprocess.Popen(words, stdout=writer, stderr=writer, env=environ) as run:
        writer.close()
        _until(lambda: any(b'"kind":"reassign"' in p.read_bytes() for p in tmp_path.rglob("*.jsonl")))
        run.send_signal(signal.SIGTERM)
        _until((tmp_path / "found").exists)
        reader.close()
        run.wait(60.0)
    assert (tmp_path / "found").read_text() == "stopped 0 []"


@pytest.mark.parametrize(("profile", "name"), [(("--profile", "prod"), "prod"), ((), "simulated")])
def test_notifications_name_the_cluster_as_metrics_do(
    tmp_path: Path, snapshot: Path, plan_file: Path, profile: tuple[str, ...], name: str
) -> None:
    """Notifications name the cluster by its profile or its id, so that they can be joined with Prometheus alerts."""
    posted: list[dict[str, Any]] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

        def log_message(self, *words: Any) -> None:
            pass

    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "profiles.yaml").write_text("profiles:\n  prod: {}\n")
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/hook"
        assert _apply(tmp_path, snapshot, plan_file, *profile, "--notify", url) == 0
        server.shutdown()

    assert [(body["cluster"], body["event"]) for body in posted] == [(name, "run-started"), (name, "run-completed")]
