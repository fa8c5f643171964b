"""Metrics are named as Prometheus expects, and described."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import kafkabal

ROOT = Path(next(iter(kafkabal.__path__)))


def _metrics() -> list[tuple[str, str, str]]:
    """Place, name and description of every metric of a column that is written out."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "Metric":
                texts = [each.value for each in node.args if isinstance(each, ast.Constant)]
                if len(texts) == len(node.args) == 2:
                    found.append((f"{path.relative_to(ROOT)}:{node.lineno}", texts[0], texts[1]))
    return found


@pytest.mark.parametrize(("place", "name", "meaning"), _metrics(), ids=lambda value: str(value).partition(" ")[0])
def test_a_metric_has_a_valid_name_and_a_sentence(place: str, name: str, meaning: str) -> None:
    """Prometheus refuses the whole file for one invalid name."""
    assert re.fullmatch(r"kafkabal(_[a-z0-9]+)+", name), place
    assert re.fullmatch(r"[A-Z].* .*\.", meaning), place


def test_a_metric_means_the_same_wherever_it_is_written() -> None:
    """A name has one description, since Prometheus keeps one."""
    meanings: dict[str, set[str]] = {}
    for _, name, meaning in _metrics():
        meanings.setdefault(name, set()).add(meaning)
    assert {name: texts for name, texts in meanings.items() if len(texts) > 1} == {}
