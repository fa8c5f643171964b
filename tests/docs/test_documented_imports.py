"""Everything that the documentation and the examples import exists, in a place that stays."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

_HERE = Path(__file__).parents[2]
_IMPORT = re.compile(r"^ *(from kafkabal[\w.]* import [\w, ]+?) *(?:#.*)?$", re.MULTILINE)
_INTERFACE = re.compile(r"from kafkabal(\.\w+)?(\.ray)? import ")


def _documented() -> list[str]:
    pages = [*(_HERE / "docs").rglob("*.md"), _HERE / "README.md", *(_HERE / "examples").rglob("*.py")]
    return sorted({line for page in pages for line in _IMPORT.findall(page.read_text())})


@pytest.mark.parametrize("line", _documented())
def test_a_documented_import_works(line: str) -> None:
    """In a separate process, as a reader would try it; Ray and torch need not be installed."""
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("line", _documented())
def test_a_documented_import_names_no_file(line: str) -> None:
    """Only packages, whose interfaces stay: a plug-in must not break when one of their files is renamed."""
    assert _INTERFACE.match(line)
