"""Errors of the command line that say what to do next."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["produce", "t", ".", "--format", "csv"], "name a file of rows, or leave these options out"),
        (["produce", "t", "rows.csv", "--chunk", "1MB"], "name a folder, or leave out --chunk"),
        (["produce", "t", ".", "--resend", "--no-manifest"], "leave out --resend"),
        (["read", "t", "--to", "out", "--for", "1s"], "leave out --for"),
        (["read", "t", "--follow", "-o", "csv"], "redirect the output"),
        (["inspect", "--prometheus", "http://p:9090"], "--prometheus-query"),
        (["create", "t", "-p", "1", "-r", "1", "--save", "s.jsonl"], "kafkabal inspect --save FILE"),
    ],
)
def test_options_that_do_not_fit_have_a_hint(words: list[str], hint: str, tmp_path: Path) -> None:
    """The hint names what to type instead, and the exit code is that of bad usage."""
    (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
    cluster = ["-b", "127.0.0.1:1"]

    done = subprocess.run(
        [sys.executable, "-m", "kafkabal.cli.main", *words, *cluster],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2, done.stderr
    assert hint in done.stderr.partition("hint: ")[2]
