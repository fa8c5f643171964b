"""Packages: names in a stub can be imported, no module hides a name, and engines have no effects of their own."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

import kafkabal

ROOT = Path(next(iter(kafkabal.__path__)))
INTERFACES = sorted(ROOT.rglob("__init__.pyi"))


@pytest.mark.parametrize("stub", INTERFACES, ids=lambda path: str(path.parent.relative_to(ROOT)) or ".")
def test_every_name_of_an_interface_can_be_imported(stub: Path) -> None:
    """The stub lists the names of the package, each with the module that defines it."""
    package = ".".join(["kafkabal", *stub.parent.relative_to(ROOT).parts])
    imported = import_module(package)
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            module = import_module("." * node.level + (node.module or ""), package)
            for alias in node.names:
                assert getattr(imported, alias.name) is getattr(module, alias.name)


def test_no_module_has_the_name_of_an_export_of_its_package() -> None:
    """No module has the name of an exported object, which it would replace once imported."""
    for stub in INTERFACES:
        names = {
            alias.name for n in ast.parse(stub.read_text()).body if isinstance(n, ast.ImportFrom) for alias in n.names
        }
        folders = {path.parent.name for path in stub.parent.glob("*/__init__.py")}
        modules = folders | {path.stem for path in stub.parent.glob("*.py")}
        assert not names & modules


_ENGINES = (
    *("model", "plan", "scoring", "telemetry", "advice", "doctor", "executor", "history", "inspection", "placement"),
    *("planner", "producer", "routing", "simulator", "watch"),
)
_EFFECTS = {
    *("print", "input", "time.time", "time.monotonic", "time.perf_counter", "time.sleep"),
    *("datetime.now", "datetime.utcnow", "datetime.today"),
}


@pytest.mark.parametrize("engine", _ENGINES)
def test_an_engine_prints_nothing_and_has_no_clock_of_its_own(engine: str) -> None:
    """The clock and sleeping are passed in; a generator of random numbers is, or has a seed."""
    calls = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", ast.unparse(node))
        for path in (ROOT / engine).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
    ]
    assert [call for call in calls if call[1].partition("(")[0] in _EFFECTS] == []
    assert [call for call in calls if call[1].endswith("default_rng()")] == []
