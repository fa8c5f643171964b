"""Completion as users see it: real bash, zsh and fish in a pseudo-terminal, and the code behind it."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pexpect
import pyte
import pytest

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.completion.quick_candidates import quick_candidates
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.sandbox import Node, Role, SandboxSpec
from kafkabal.sandbox.sandbox_record import SandboxRecord, write_record

ROOT = Path(__file__).parents[2]
SNAPSHOTS = Path(__file__).parent / "snapshots"
SIZE = (40, 200)
# candidates come from a program that has to start first, on a machine that may be busy
LONGEST_S = 60.0
# if no candidate is expected, the screen must not change for this long
QUIET_S = 3.0
START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "-i"],
}
PREPARE = {
    "bash": (
        "bind 'set show-all-if-ambiguous on'; bind 'set bell-style none'; bind 'set page-completions off'; "
        f"bind 'set completion-query-items 0'; source {ROOT}/completions/kafkabal.bash; PS1='> '"
    ),
    "zsh": (
        f"PS1='> '; fpath=({ROOT}/completions $fpath); autoload -U compinit; compinit -u -D; "
        "zstyle ':completion:*' list-prompt ''; LISTMAX=1000"
    ),
    "fish": (
        f"source {ROOT}/completions/kafkabal.fish; function fish_prompt; echo '> '; end; "
        "function fish_title; end"  # fish's own titles would replace those that show when a shell is ready
    ),
}


class Shell:
    """A shell in a terminal of 200 columns, and the content of its screen."""

    def __init__(self, name: str, env: dict[str, str], folder: Path) -> None:
        self.name = name
        self.screen = pyte.Screen(SIZE[1], SIZE[0])
        self._stream = pyte.Stream(self.screen)
        command, *words = START[name]
        self.child = pexpect.spawn(command, words, env=env, cwd=str(folder), dimensions=SIZE, encoding="utf-8")
        self._prompts = 0
        self._await_prompt(PREPARE[name])

    def _await_prompt(self, command: str) -> None:
        """Run a command on an empty line, and wait for an empty screen with a prompt."""
        self._prompts += 1
        title = f"prompt {self._prompts}"
        self.child.send(f"\x15{command}; clear; printf '\\033]2;{title}\\007'\r")
        self._read(lambda: self.screen.title == title and self.shown() == ">")

    def _read(self, until: Callable[[], bool], quiet_s: float = LONGEST_S) -> None:
        """Read output until the screen shows the expected text or no output comes for a while."""
        end_s = time.monotonic() + LONGEST_S
        while not until() and time.monotonic() < end_s:
            try:
                self._stream.feed(self.child.read_nonblocking(65536, timeout=quiet_s))
            except pexpect.TIMEOUT:
                break

    def shown(self) -> str:
        """The screen without surrounding blanks."""
        return "\n".join(line.rstrip() for line in self.screen.display).strip()

    def complete(self, line: str, until: Callable[[str], bool] | None = None) -> str:
        """Type a text and press Tab on an empty screen; returns the screen.

        Parameters
        ----------
        until
            The text to wait for; None expects nothing."""
        self._await_prompt("true")
        self.child.send(f"{line}\t")
        if until is None:
            self._read(lambda: False, QUIET_S)
        else:
            self._read(lambda: until(self.shown()))
        return self.shown().removeprefix("> ")


@pytest.fixture
def world(tmp_path: Path, run_cli: Callable[..., Any]) -> dict[str, str]:
    """An environment with a profile, a sandbox, a plan, and two clusters that were read before."""
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    program = bin_dir / "kafkabal"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m kafkabal "$@"\n')
    program.chmod(0o755)
    (tmp_path / "config").mkdir()
    profiles = f"profiles:\n  prod:\n    snapshot: {SNAPSHOTS}/lopsided.jsonl\n  staging: {{}}\n"
    (tmp_path / "config" / "profiles.yaml").write_text(profiles)
    for name in ("lab", "test9"):
        nodes = tuple(Node(i, Role.BROKER, None, {"PLAINTEXT": 9000 + i}) for i in (4, 17))
        folder = tmp_path / "state" / "sandboxes" / name
        folder.mkdir(parents=True)
        write_record(SandboxRecord(name, SandboxSpec(brokers=2), "id", 0.0, nodes), folder)
    for name in ("plan.json", "my plan.json"):
        (tmp_path / name).write_bytes((SNAPSHOTS / "lopsided-plan.json").read_bytes())
    (tmp_path / "broken.jsonl").write_text((SNAPSHOTS / "broken.jsonl").read_text())
    kept = {key: os.environ[key] for key in ("LD_LIBRARY_PATH", "VIRTUAL_ENV") if key in os.environ}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "XDG_CONFIG_HOME": str(tmp_path / "xdg-config"),
        "XDG_CACHE_HOME": str(tmp_path / "xdg-cache"),
        "XDG_STATE_HOME": str(tmp_path / "xdg-state"),
        "KAFKABAL_SANDBOX_HOME": str(tmp_path / "state" / "sandboxes"),
    }


@pytest.fixture(params=["bash", "zsh", "fish"])
def shell(request: pytest.FixtureRequest, world: dict[str, str], tmp_path: Path) -> Iterator[Shell]:
    """One of the shells, in the folder with the test files."""
    if shutil.which(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    (tmp_path / "xdg-config").mkdir()
    (tmp_path / "config").rename(tmp_path / "xdg-config" / "kafkabal")
    for words in (["--profile", "prod"], ["--snapshot", "broken.jsonl"]):
        command = [f"{tmp_path}/bin/kafkabal", "inspect", "-q", *words]
        done = subprocess.run(command, env=world, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    cluster_id = read_snapshot(SNAPSHOTS / "lopsided.jsonl").cluster_id
    runs = tmp_path / "xdg-state" / "kafkabal" / "snapshot-runs" / cluster_id
    runs.mkdir(parents=True)
    (runs / "20260102T030405-abcdef.jsonl").touch()
    found = Shell(request.param, world, tmp_path)
    yield found
    found.child.close(force=True)


ONE = [
    ("kafkabal insp", "kafkabal inspect"),
    ("kafkabal inspect --by to", "--by topic"),
    ("kafkabal inspect --by=to", "--by=topic"),
    ("kafkabal inspect --tol", "--tolerance"),
    ("kafkabal inspect --profile pr", "--profile prod"),
    ("kafkabal inspect --snapshot brok", "--snapshot broken.jsonl"),
    ("kafkabal inspect --score topic", "--score topic-spread"),
    ("kafkabal rebalance --profile prod --topics im", "--topics images"),
    ("kafkabal rebalance --profile=prod --topics im", "--topics images"),
    ("kafkabal rebalance --profile prod --topics images,la", "--topics images,labels"),
    ("kafkabal rebalance --snapshot broken.jsonl --topics arch", "--topics archive"),
    ("kafkabal create new --preset tr", "--preset training"),
    ("kafkabal route-simulate --workload ima", "--workload images"),
    ("kafkabal route-simulate --storage lus", "--storage lustre"),
    ("kafkabal policies smooth", "policies smooth-weighted"),
    ("kafkabal scores leader-", "scores leader-bytes-in"),
    ("kafkabal sandbox status --name la", "--name lab"),
    ("kafkabal sandbox kill --name lab 1", "--name lab 17"),
    ("kafkabal rebalance explain pl", "explain plan.json"),
    ("kafkabal rebalance explain my\\ pl", "explain my\\ plan.json"),
    ("kafkabal rebalance show 'my pl", "show 'my plan.json'"),
    ("kafkabal create x --placement bin", "--placement binomial:0.5"),
    ("kafkabal rebalance throttle au", "throttle auto"),
    ("kafkabal sandbox up --kafka-version 3", "--kafka-version 3.9.2"),
    ("kafkabal completion inst", "completion install"),
    ("kafkabal help own-s", "help own-score"),
    ("kafkabal inspect diff brok", "diff broken.jsonl"),
    ("kafkabal produce images plan.json --format tf", "--format tfrecord"),
    ("kafkabal read --profile prod im", "read --profile prod images"),
    ("kafkabal top --by ra", "--by rack"),
    ("kafkabal watch --heal le", "--heal leaders"),
    ("kafkabal profiles use pr", "profiles use prod"),
    ("kafkabal rebalance rollback --profile prod 2026", "prod 20260102T030405-abcdef"),
]
MANY = [
    ("kafkabal sandbox st", {"status", "start", "stop"}),
    ("kafkabal inspect --by ", {"broker", "log-dir", "rack", "topic", "partition"}),
    ("kafkabal rebalance --profile prod --drain ", {"1", "2", "3", "4", "5", "6"}),
    ("kafkabal rebalance --profile prod --drain 1,", {"2", "3", "4", "5", "6"}),
    ("kafkabal rebalance explain plan.json ", {"images-0", "labels-0"}),
    ("kafkabal rebalance explain my\\ plan.json ", {"images-0", "labels-0"}),
]


def words_of(screen: str) -> set[str]:
    """The screen content below the typed line; of listed paths, the last part."""
    return {word.rpartition(",")[2] for line in screen.splitlines()[1:] for word in line.split()}


def test_completes_options_commands_and_values(shell: Shell) -> None:
    """Commands, options, choices, files and names of all kinds: a single match is inserted, several are listed.

    The candidates come from the same program in each shell: one completes all of them, the others every third."""
    wrong = []
    for typed, completed in ONE if shell.name == "bash" else ONE[::3]:
        shown = shell.complete(typed, until=lambda screen, completed=completed: completed in screen)
        if completed not in shown:
            wrong.append((typed, shown))
    for typed, offered in MANY:
        shown = shell.complete(typed, until=lambda screen, offered=offered: offered <= words_of(screen))
        if not offered <= words_of(shown):
            wrong.append((typed, shown))
    assert not wrong


def test_offers_nothing_where_nothing_fits(shell: Shell) -> None:
    """No options appear without a dash, no topics of another cluster, and no names in place of a number."""
    assert "--" not in shell.complete("kafkabal produce ")
    others = shell.complete("kafkabal rebalance --profile prod --drain 1,", until=lambda shown: "6" in words_of(shown))
    assert "1,1" not in others
    assert "archive" not in shell.complete("kafkabal rebalance --profile prod --topics ")
    assert shell.complete("kafkabal inspect --tolerance ").count("\n") == 0


def test_candidates_are_those_of_the_cluster_that_is_named(run_cli: Callable[..., Any]) -> None:
    """Each cluster has its own names, without internal topics; one that was never read has none."""
    broken, even = ["--snapshot", str(SNAPSHOTS / "broken.jsonl")], ["--snapshot", str(SNAPSHOTS / "even.jsonl")]

    assert run_cli("completion", "candidates", "topics", *broken).out == ""
    run_cli("inspect", *broken)
    assert run_cli("completion", "candidates", "topics", *broken).out == "archive\nclicks\nimages\n"
    assert run_cli("completion", "candidates", "brokers", *broken).out == "1\n2\n3\n4\n5\n"
    assert run_cli("completion", "candidates", "topics", *even).out == ""


def test_names_that_mean_something_to_a_shell_are_not_offered(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A snapshot may contain any name; one with a command in it never reaches the shell's completion."""
    text = (SNAPSHOTS / "even.jsonl").read_text()
    (tmp_path / "evil.jsonl").write_text(text.replace('"images"', '"$(touch owned)"'))
    words = ["--snapshot", str(tmp_path / "evil.jsonl")]
    run_cli("inspect", *words)

    assert "$" not in run_cli("completion", "candidates", "topics", *words).out


def test_names_that_would_be_options_are_not_offered(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """Kafka allows topics that begin with a dash; typed as it is, such a name is an unknown option."""
    text = (SNAPSHOTS / "even.jsonl").read_text()
    (tmp_path / "dash.jsonl").write_text(text.replace('"images"', '"-images"'))
    words = ["--snapshot", str(tmp_path / "dash.jsonl")]
    run_cli("inspect", *words)

    assert "-images" not in run_cli("completion", "candidates", "topics", *words).out


@pytest.mark.parametrize(
    ("shell", "path"),
    [
        ("bash", ".local/share/bash-completion/completions/kafkabal"),
        ("zsh", ".local/share/zsh/site-functions/_kafkabal"),
        ("fish", ".config/fish/completions/kafkabal.fish"),
    ],
)
def test_install_writes_to_the_folder_of_the_shell(
    run_cli: Callable[..., Any], tmp_path: Path, shell: str, path: str
) -> None:
    """The script is written for the user's own shell, and the remaining steps are shown."""
    environ = {"HOME": str(tmp_path), "SHELL": f"/usr/bin/{shell}"}
    outcome = run_cli("completion", "install", environ=environ)

    assert outcome.code == 0
    assert (tmp_path / path).read_text() == run_cli("completion", shell).out
    assert str(tmp_path / path) in outcome.err
    assert run_cli("completion", "install", environ={**environ, "SHELL": "/bin/dash"}).code == 2


def test_a_home_that_cannot_be_written_is_named(run_cli: Callable[..., Any], tmp_path: Path) -> None:
    """A folder that cannot be made is one line."""
    (tmp_path / "file").touch()
    outcome = run_cli("completion", "install", "fish", environ={"HOME": str(tmp_path / "file")})
    assert (outcome.code, outcome.err.count("\n")) == (1, 1), outcome.err
    assert "kafkabal.fish: cannot write: a folder on its path is a file" in outcome.err


@pytest.mark.parametrize("home", ["", "relative"])
def test_an_empty_or_relative_home_is_that_of_the_user(
    run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, home: str
) -> None:
    """Shells read nothing below / or below the current folder: the script goes where the user's other files are."""
    monkeypatch.setattr(pwd, "getpwuid", lambda _uid: SimpleNamespace(pw_dir=str(tmp_path)))
    assert run_cli("completion", "install", "fish", environ={"HOME": home}).code == 0
    assert (tmp_path / ".config/fish/completions/kafkabal.fish").is_file()


_ASKED = (
    ("topics",),
    ("topics", "--snapshot", "s.jsonl"),
    ("brokers", "-b", "broker1:9092"),
    ("profiles",),
    ("sandboxes",),
    ("nodes", "--name", "default"),
    ("partitions", "--plan", str(Path(__file__).parent / "snapshots" / "lopsided-plan.json")),
    ("topics", "--profile", "prod"),
)


@pytest.mark.parametrize("words", _ASKED, ids=" ".join)
def test_the_quick_answer_is_that_of_the_command(
    run_cli: Callable[..., Any], tmp_path: Path, words: tuple[str, ...]
) -> None:
    """The fast path without typer gives a shell the same names as the command."""
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "profiles.yaml").write_text("profiles: {prod: {bootstrap_servers: 'b:1'}, x: {}}")
    context = CommandContext(environ={}, folders={kind: tmp_path / kind for kind in ("config", "cache", "state")})
    outcome = run_cli("completion", "candidates", *words)
    assert outcome.code == 0
    assert quick_candidates(words, context) == outcome.out


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("nonsense",),
        ("topics", "--help"),
        ("topics", "-b", ""),
        ("topics", "--plan"),
        ("topics", "--profile", "no"),
    ],
    ids=" ".join,
)
def test_complicated_lines_are_left_to_the_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Help, errors and whatever a person types are handled by the full command."""
    context = CommandContext(environ={}, folders={kind: tmp_path / kind for kind in ("config", "cache", "state")})
    assert quick_candidates(words, context) is None


def test_a_shell_does_not_wait_for_typer() -> None:
    """Completing names prints them without importing typer."""
    plan = Path(__file__).parent / "snapshots" / "lopsided-plan.json"
    script = (
        f"import sys; sys.argv = ['kafkabal', 'completion', 'candidates', 'partitions', '--plan', {str(plan)!r}]\n"
        "from kafkabal.cli.entry_point import main\n"
        "code = main()\n"
        "sys.exit(code or ' '.join({'typer', 'rich', 'numpy', 'kafka', 'pydantic'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    changes = json.loads(plan.read_text())["partitions"]
    assert set(done.stdout.split()) == {f"{change['topic']}-{change['partition']}" for change in changes}
