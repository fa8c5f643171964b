"""What a command imports before it contacts the first broker: operators and cron jobs wait for it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkabal.cli.framework.command_table import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkabal.cli.framework.command_table import Row

_HEAVY = ["numpy", "rich", "confluent_kafka", "httpx", "jinja2", "prometheus_client", "matplotlib"]
"""Libraries that take long to import."""
_WORK = ["kafkabal.executor.execute_run", "kafkabal.planner.problem", "kafkabal.scoring.evaluation", "kafkabal.routing"]
"""Modules that work on what was read from the cluster; each brings dozens of others."""
_MOST_MODULES = 530
"""With these, a command asks within 0.35 s of processor time where 'import numpy' takes 0.10 s: it needs up to 490."""
_SCRIPT = """
import json, os, sys
from pathlib import Path
def note(event, args):
    if event == "socket.connect":
        found = [name for name in json.loads(sys.argv[2]) if name in sys.modules]
        Path(sys.argv[3]).write_text(json.dumps([found, len(sys.modules)]))
        os._exit(0)
sys.addaudithook(note)
from kafkabal.cli.main import main
main(json.loads(sys.argv[1]))
"""
_ASKING = [
    "inspect",
    "inspect --by topic --sample 10s",
    "inspect --growth",
    "create images -p 3 -r 2",
    "produce images {folder}",
    "read images",
    "read images --follow",
    "read images --to {folder}/restored",
    "rebalance",
    "rebalance --yes",
    "rebalance --dry-run",
    "rebalance --drain 1 --check",
    "rebalance plan",
    "rebalance apply {plan} --yes",
    "rebalance status",
    "rebalance pause",
    "rebalance resume",
    "rebalance cancel",
    "rebalance rollback",
    "rebalance repair",
    "rebalance adopt",
    "rebalance history",
    "rebalance simulate --case {case}",
    "rebalance throttle 10MB",
    "advise",
    "top",
    "watch",
    "watch --once",
    "route images",
    "route images --publish",
    "route-simulate --topic images",
    "scores",
    "telemetry subscribe",
    "telemetry list",
    "telemetry remove loud",
    "telemetry show",
    "telemetry errors",
    "telemetry latency",
    "doctor",
]
"""Commands that ask a cluster."""
_ASKING_NO_BROKER = {
    "completion",
    "config",
    "demo",
    "help",
    "inspect diff",
    "monitoring",
    "policies",
    "profiles",
    "rebalance diff",
    "rebalance explain",
    "rebalance show",
    "routing",
    "sandbox",
    "snapshot",
    "telemetry plugin",
}
"""Commands, or groups of them, that ask no cluster, one that they start themselves, or those of all profiles."""


@pytest.fixture
def inputs(tmp_path: Path) -> dict[str, str]:
    """Input files for commands."""
    (tmp_path / "case.yaml").write_text("kafkabal_case: 1\n")
    (tmp_path / "a.jpg").write_text("a")
    (tmp_path / "plan.json").write_text('{"version":1,"partitions":[]}')
    return {"folder": str(tmp_path), "case": str(tmp_path / "case.yaml"), "plan": str(tmp_path / "plan.json")}


@pytest.mark.parametrize("command", _ASKING)
def test_nothing_heavy_before_the_first_broker(command: str, inputs: dict[str, str], tmp_path: Path) -> None:
    """At its first connection, only the modules needed to send requests have been imported."""
    environ = os.environ | {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("STATE", "CACHE", "CONFIG")}
    words = [*command.format(**inputs).split(), "-b", "127.0.0.1:1"]
    result = tmp_path / "result.json"
    argv = [sys.executable, "-c", _SCRIPT, json.dumps(words), json.dumps([*_HEAVY, *_WORK]), str(result)]
    _run_in_terminal(argv, environ | {"TERM": "xterm"})
    found, modules = json.loads(result.read_text())
    assert found == []
    assert modules <= _MOST_MODULES


@pytest.mark.parametrize("command", ["policies", "scores"])
def test_a_list_imports_nothing_that_works_on_clusters(command: str, tmp_path: Path) -> None:
    """A list needs numpy, but neither clients nor modules that evaluate scores, route or start brokers."""
    script = (
        "import json, sys\n"
        "from kafkabal.cli.main import main\n"
        "main(sys.argv[1:])\n"
        "print(json.dumps(list(sys.modules)), file=sys.stderr)"
    )
    environ = os.environ | {f"XDG_{kind}_HOME": str(tmp_path) for kind in ("STATE", "CACHE", "CONFIG")}
    done = subprocess.run([sys.executable, "-c", script, command], env=environ, capture_output=True, check=True)
    modules = set(json.loads(done.stderr.splitlines()[-1]))
    working = {"kafkabal.scoring.evaluation", "kafkabal.routing.marginal_load", "kafkabal.sandbox.sandbox"}
    assert modules & {"confluent_kafka", "httpx", "jinja2", "prometheus_client", "matplotlib", *working} == set()
    assert len(modules) <= _MOST_MODULES


def test_every_command_that_asks_is_measured() -> None:
    """A new command is either measured, or listed as one that contacts no cluster."""
    asking = {name for name in _names(COMMANDS) if not _is_asking_no_broker(name)}
    assert asking == {command for command in asking if any(_is_of(line, command) for line in _ASKING)}


def _run_in_terminal(argv: list[str], environ: Mapping[str, str]) -> None:
    """Wait for a program that writes to a terminal, since a live view needs one."""
    ours, theirs = pty.openpty()
    try:
        subprocess.run(argv, stdin=theirs, stdout=theirs, stderr=theirs, check=True, env=environ)
    finally:
        os.close(theirs)
        os.close(ours)


def _names(rows: Mapping[str, Row], group: str = "") -> Iterator[str]:
    for name, row in rows.items():
        if row.function:
            yield f"{group}{name}"
        yield from _names(row.commands or {}, f"{group}{name} ")


def _is_asking_no_broker(name: str) -> bool:
    return name in _ASKING_NO_BROKER or name.split()[0] in _ASKING_NO_BROKER


def _is_of(line: str, command: str) -> bool:
    words = command.split()
    return line.split()[: len(words)] == words


_THREADS = """
import os, sys
from kafkabal.cli.entry_point import main
sys.argv[1:] = ["policies", "-q", "--output-file", os.devnull]
assert main() == 0 and "numpy" in sys.modules
print(len(os.listdir("/proc/self/task")))
"""


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="OpenBLAS starts no thread on a single core")
@pytest.mark.parametrize(("given", "threads"), [({}, 1), ({"OMP_NUM_THREADS": "2"}, 2)], ids=["none", "given"])
def test_commands_start_no_threads_for_matrices(given: dict[str, str], threads: int, tmp_path: Path) -> None:
    """numpy's library starts a thread for each core, which spin at first; a number that the user sets is kept."""
    names = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")
    environ = {name: value for name, value in os.environ.items() if name not in names} | given
    done = subprocess.run(
        [sys.executable, "-c", _THREADS], env=environ, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == threads
