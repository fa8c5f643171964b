"""An output option replaces what kafkabal has written before, and nothing else."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkabal.cli.framework.replaced_files import FileKind, expect_own
from kafkabal.errors import UsageError

SNAPSHOT = Path(__file__).parent / "snapshots" / "lopsided.jsonl"
PLAN = Path(__file__).parent / "snapshots" / "lopsided-plan.json"
ON = ("--snapshot", str(SNAPSHOT))
PLANNED = ("rebalance", "apply", str(PLAN), *ON, "--save", "result.jsonl", "--yes", "-q")
WRITING = [
    (("rebalance", "plan", *ON, "-q"), "--out", "a plan"),
    (("inspect", *ON, "-q"), "--save", "a snapshot"),
    (PLANNED, "--rollback-file", "a plan"),
    (PLANNED, "--textfile", "a textfile"),
    *((("inspect", *ON, "-o", form), "--output-file", "a report") for form in ("json", "jsonl", "yaml", "html")),
    *((("inspect", *ON, "-o", form), "--output-file", "a report") for form in ("table", "markdown", "csv")),
    (("inspect", *ON, "-o", "prometheus"), "--output-file", "a report"),
]
"""Words of a command, an option that names a file, and what is in it."""


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(("words", "option", "kind"), WRITING)
def test_only_our_own_files_are_replaced(
    run_cli: Callable[..., Any], words: tuple[str, ...], option: str, kind: str
) -> None:
    """A cron job writes the same file again; a key, a script, or another kind of file of ours is not lost to it."""
    assert run_cli(*words, option, "out").code == 0
    assert run_cli(*words, option, "out").code == 0
    Path("out").write_text("bootstrap.servers=b:1\n")
    refused = run_cli(*words, option, "out")
    assert (refused.code, f"out: exists, and is not {kind} by kafkabal" in refused.err) == (2, True)
    assert Path("out").read_text() == "bootstrap.servers=b:1\n"


@pytest.mark.parametrize("kind", FileKind)
def test_what_is_recognised(kind: FileKind, tmp_path: Path) -> None:
    """Nothing that another program, a user, or another option has written; an empty file is nobody's."""
    path = tmp_path / "out"
    path.touch()
    expect_own(path, kind)
    others = [b"#!/bin/sh\nrm x\n", b"# Notes\n", b'{"a": 1}', b"\x7fELF\0", b"<a/>", b"PK\3\4\0"]
    others += [PLAN.read_bytes()] if kind is not FileKind.PLAN else []
    others += [SNAPSHOT.read_bytes()] if kind is not FileKind.SNAPSHOT else []
    for content in others:
        path.write_bytes(content)
        with pytest.raises(UsageError, match="by kafkabal"):
            expect_own(path, kind)


def test_compressed_files_are_looked_into(run_cli: Callable[..., Any]) -> None:
    """A snapshot replaces a compressed snapshot, but no compressed plan."""
    Path("out.gz").write_bytes(gzip.compress(SNAPSHOT.read_bytes()))
    assert run_cli("inspect", *ON, "-q", "--save", "out.gz").code == 0
    Path("out.gz").write_bytes(gzip.compress(PLAN.read_bytes()))
    assert run_cli("inspect", *ON, "-q", "--save", "out.gz").code == 2


def test_a_replaced_plan_is_mentioned(run_cli: Callable[..., Any]) -> None:
    """Whoever meant to keep the earlier plan learns of it at once."""
    Path("plan.json").write_bytes(PLAN.read_bytes())
    assert "in place of an earlier plan" in run_cli("rebalance", "plan", *ON, "--out", "plan.json").err
