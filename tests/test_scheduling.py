"""How tests are spread over workers."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import LONGEST_FIRST, live_group

ROOT = Path(__file__).parents[1]


def test_groups_that_begin_first_have_tests() -> None:
    """A file that was renamed would begin last."""
    files = [file for folder in ("live", "contract") for file in (ROOT / "tests" / folder).rglob("test_*.py")]
    assert {live_group(str(file.relative_to(ROOT))) for file in files} >= set(LONGEST_FIRST)
