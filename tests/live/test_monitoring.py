"""The files of ``kafkabal monitoring`` in a real Prometheus, Alertmanager and node exporter, over real brokers.

``pytest -n0 -m sweep tests/live/test_monitoring.py`` takes five minutes: nothing in the files is shortened. It needs
the programs of the packages prometheus, prometheus-alertmanager and prometheus-node-exporter."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import urlopen

import pytest

from kafkabal.sandbox import Sandbox, SandboxSpec
from tests.live.conftest import MakeSandbox

VICTIM = 3
PROFILE = "prod-a"
PROGRAMS = {
    "prometheus": ("prometheus",),
    "alertmanager": ("prometheus-alertmanager", "alertmanager"),
    "exporter": ("prometheus-node-exporter", "node_exporter"),
}


class Webhook(ThreadingHTTPServer):
    """Receives what Alertmanager posts."""

    def __init__(self) -> None:
        self.alerts: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


class _Handler(BaseHTTPRequestHandler):
    server: Webhook

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        self.server.alerts += json.loads(self.rfile.read(length))["alerts"]
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


@pytest.fixture(scope="module")
def programs() -> dict[str, str]:
    """Paths of the three programs."""
    found = {name: next(filter(None, map(shutil.which, names)), None) for name, names in PROGRAMS.items()}
    missing = sorted(name for name, path in found.items() if path is None)
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    return {name: str(path) for name, path in found.items()}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., None]]:
    """Start programs that end with the test; their output is kept in files."""
    with ExitStack() as at_end:

        def begin(name: str, *words: str) -> None:
            log = at_end.enter_context((tmp_path / f"{name}.log").open("w"))
            process = subprocess.Popen(words, stdout=log, stderr=subprocess.STDOUT, cwd=tmp_path)
            at_end.callback(process.wait, 30)
            at_end.callback(process.terminate)

        yield begin


@pytest.mark.sweep
@pytest.mark.timeout(900)
def test_the_alert_of_a_killed_broker_reaches_a_webhook(
    make_sandbox: MakeSandbox,
    programs: dict[str, str],
    start: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """While all is well no alert fires; a killed broker causes one alert with the name of its cluster, and no other."""
    sandbox = make_sandbox(SandboxSpec(brokers=3, racks=3), "alerts")
    hook, home, files, textfiles = Webhook(), tmp_path / "home", tmp_path / "monitoring", tmp_path / "textfiles"
    textfiles.mkdir()
    _write_profile(home, sandbox)
    exporter, alertmanager, prometheus = (f"127.0.0.1:{_free_port()}" for _ in range(3))
    _run(
        home,
        *("monitoring", "--out", str(files), "--textfiles", str(textfiles), "--exporter", exporter),
        *("--alertmanager", alertmanager, "--webhook", f"http://127.0.0.1:{hook.server_port}/alerts"),
    )
    _run(home, "create", "img", "-p", "6", "-r", "2", "--profile", PROFILE, "-q")
    timer = _timer((files / "kafkabal-metrics@.service").read_text())
    _run(home, *timer)
    start(
        "exporter",
        programs["exporter"],
        *("--collector.disable-defaults", "--collector.textfile"),
        *(f"--collector.textfile.directory={textfiles}", f"--web.listen-address={exporter}"),
    )
    start(
        "alertmanager",
        programs["alertmanager"],
        *(f"--config.file={files / 'alertmanager.yml'}", f"--storage.path={tmp_path / 'am'}"),
        *(f"--web.listen-address={alertmanager}", "--cluster.listen-address="),
    )
    start(
        "prometheus",
        programs["prometheus"],
        *(f"--config.file={files / 'prometheus.yml'}", f"--storage.tsdb.path={tmp_path / 'tsdb'}"),
        f"--web.listen-address={prometheus}",
    )
    _until(lambda: _value(prometheus, "kafkabal_brokers") == 3, 120, lambda: _run(home, *timer))
    assert hook.alerts == []

    sandbox.kill(VICTIM)
    killed_s = monotonic()
    _until(lambda: bool(hook.alerts), 420, lambda: _run(home, *timer))

    with capsys.disabled():
        sys.stdout.write(f"\nalert received {monotonic() - killed_s:.0f} s after the broker was killed\n")
    assert {(a["labels"]["alertname"], a["labels"]["cluster"], a["status"]) for a in hook.alerts} == {
        ("KafkaBrokerDead", PROFILE, "firing")
    }
    assert "Dead brokers in cluster prod-a: 1" in hook.alerts[0]["annotations"]["summary"]


def _write_profile(home: Path, sandbox: Sandbox) -> None:
    path = home / "kafkabal" / "profiles.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(f"profiles:\n  {PROFILE}: {{bootstrap_servers: '{sandbox.bootstrap_servers}'}}\n")


def _timer(unit: str) -> list[str]:
    """The arguments that the unit passes, after the program's name."""
    (line,) = [line for line in unit.splitlines() if line.startswith("ExecStart=")]
    words = line.removeprefix("ExecStart=").replace("%i", PROFILE).split()
    assert words[:2] == ["/usr/bin/env", "kafkabal"]
    return words[2:]


def _run(home: Path, *words: str) -> None:
    environment = {**os.environ, "XDG_CONFIG_HOME": str(home), "XDG_STATE_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-m", "kafkabal", *words], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def _value(prometheus: str, query: str) -> float | None:
    """The value of a metric of the cluster; None while there is none."""
    try:
        with urlopen(f"http://{prometheus}/api/v1/query?query={query}", timeout=10) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return float(found[0]["value"][1]) if found else None


def _until(is_so: Callable[[], bool], within_s: float, meanwhile: Callable[[], None]) -> None:
    """Wait, doing every ten seconds what the timer does once a minute."""
    end_s = monotonic() + within_s
    while not is_so():
        assert monotonic() < end_s
        meanwhile()
        sleep(1)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
