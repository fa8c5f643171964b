"""Commands in the pages can be copied: a prompt is only shown where output follows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]


def _commands_only(block: str) -> bool:
    """Whether all lines are commands after a prompt, or their continuations."""
    lines = block.rstrip("\n").split("\n")
    continued = [False, *(line.endswith("\\") for line in lines)]
    return all(line.startswith("$ ") or goes_on for line, goes_on in zip(lines, continued, strict=False))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_commands_without_output_have_no_prompt(page: Path) -> None:
    """A block of several lines can be pasted into a shell."""
    blocks = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)

    assert [block for block in blocks if _commands_only(block)] == []
