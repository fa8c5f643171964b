"""Package interfaces: names in a stub can be imported, and no module hides a name."""

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
