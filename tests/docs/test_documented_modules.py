"""Benchmarks, experiments and tools are run as the documentation says: as modules, from a checkout."""

from __future__ import annotations

import importlib
import importlib.util
import re
from pathlib import Path

import pytest

_HERE = Path(__file__).parents[2]
_PAGES = [*_HERE.glob("*.md"), *(_HERE / "docs").rglob("*.md"), *(_HERE / "experiments").glob("*.md")]
_SOURCES = [*(_HERE / "benchmarks").glob("*.py"), *(_HERE / "tools").rglob("*.py"), *(_HERE / "kafkabal").rglob("*.py")]
_RUN = re.compile(r"python -m ((?:benchmarks|experiments|tools)\b[\w.]*)")
_TEXTS = {path: path.read_text(encoding="utf-8") for path in (*_PAGES, *_SOURCES)}


def test_every_documented_module_exists() -> None:
    """A reader who copies the command finds the module."""
    named = {name.rstrip(".") for text in _TEXTS.values() for name in _RUN.findall(text)}
    assert len(named) > 20
    assert [name for name in sorted(named) if importlib.util.find_spec(name) is None] == []


def test_no_benchmark_is_documented_as_a_script() -> None:
    """As a script it does not find the other benchmarks that it imports."""
    assert [str(path) for path, text in _TEXTS.items() if re.search(r"python (?:benchmarks|tools)/", text)] == []


@pytest.mark.parametrize("name", sorted(path.stem for path in (_HERE / "benchmarks").glob("[a-z]*.py")))
def test_a_benchmark_can_be_imported_from_a_checkout(name: str) -> None:
    """Its imports of other benchmarks name their package."""
    try:
        importlib.import_module(f"benchmarks.{name}")
    except ModuleNotFoundError as error:
        if error.name is None or (_HERE / "benchmarks" / f"{error.name}.py").exists():
            raise
        pytest.skip(f"needs {error.name}")


def test_the_routing_benchmark_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """It calls the simulator itself, whose functions it has to follow."""
    monkeypatch.setattr("sys.argv", ["routing", "--records", "1000", "--policy", "default"])
    importlib.import_module("benchmarks.routing").main()
    assert "default" in capsys.readouterr().out
