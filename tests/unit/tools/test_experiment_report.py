"""Results of an experiment in its report and in the page that quotes it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from experiments.report import Finding, write_into_page

FINDING = Finding(
    key="k", title="T", setting="Four brokers.", columns=["a", "b"], rows=[["1", "2"]], verdicts=[("so it is", True)]
)


def test_a_section_of_a_page_is_written_again(tmp_path: Path) -> None:
    """Only the text between the marks is replaced, and a second run writes the same."""
    page = tmp_path / "page.md"
    page.write_text("before\n\n<!-- k: written by the run -->\nold\n<!-- end of k -->\n\nafter\n")
    for _ in range(2):
        write_into_page([FINDING], page)
        assert page.read_text() == (
            "before\n\n<!-- k: written by the run -->\n\nFour brokers.\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
            "* reached: so it is\n\n<!-- end of k -->\n\nafter\n"
        )


def test_a_page_without_the_section_is_not_written(tmp_path: Path) -> None:
    """If the marks are missing the page stays unchanged, and the run names them."""
    page = tmp_path / "page.md"
    page.write_text("before\n")
    with pytest.raises(AssertionError, match="no marks for k"):
        write_into_page([FINDING], page)
    assert page.read_text() == "before\n"


def test_every_figure_and_verdict_of_the_page_is_written_by_a_run() -> None:
    """None stands outside the marks of an experiment, where the next run would leave it as it is."""
    page = (Path(__file__).parents[3] / "docs" / "experiments.md").read_text()
    by_hand = re.sub(r"<!-- (\S+): written by the run -->\n.*?\n<!-- end of \1 -->", "", page, flags=re.DOTALL)
    assert re.findall(r"^(?:!\[.*|\* (?:\*\*not )?reached.*)$", by_hand, flags=re.MULTILINE) == []
