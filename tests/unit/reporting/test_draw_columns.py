"""Tables as lines of text: prose is whole however narrow the terminal is, and long tables take little work."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.render_table import render, table_lines
from kafkabal.reporting.report import Column, Report, Table, Tone, ValueKind

PROSE = st.lists(st.text("ab/日é", min_size=1, max_size=30), min_size=1, max_size=8).map(" ".join)


@given(st.lists(st.tuples(PROSE, PROSE), min_size=1, max_size=3), st.integers(34, 120))
def test_no_letter_of_prose_is_lost(rows: list[tuple[str, str]], width: int) -> None:
    """Of two columns of prose every letter is drawn, however narrow the terminal, and no line is wider than it."""
    columns = [
        Column(key="first", title="1", values=[row[0] for row in rows], wraps=True),
        Column(key="second", title="2", values=[row[1] for row in rows], wraps=True),
    ]

    lines = list(table_lines(Table(key="t", columns=columns), OutputCapabilities(width=width))[0])

    assert max(map(cell_len, lines)) <= width
    assert sorted("".join(lines).replace(" ", "")) == sorted(
        "12" + "".join("".join(row) for row in rows).replace(" ", "")
    )


def test_text_is_aligned_left_and_numbers_right() -> None:
    """Titles and cells are aligned alike, wide letters count twice, and no line ends in blanks."""
    table = Table(
        key="t",
        columns=[
            Column(key="name", title="name", values=["日本", "a"]),
            Column(key="n", title="n", kind=ValueKind.NUMBER, values=[1000, 1]),
            Column(key="why", title="why", values=["x", None]),
        ],
    )

    assert list(table_lines(table, OutputCapabilities())[0]) == [
        "name      n  why",
        "日本  1,000  x",
        "a         1  -",
    ]


def test_a_title_of_several_lines_ends_above_its_column() -> None:
    """The other titles stand on its last line."""
    table = Table(
        key="t",
        columns=[
            Column(key="id", title="id", values=["1"]),
            Column(key="what", title="what it sends records by", values=["a " * 20], wraps=True),
        ],
    )

    assert list(table_lines(table, OutputCapabilities(width=20))[0]) == [
        "    what it sends",
        "id  records by",
        "1   a a a a a a a a",
        "    a a a a a a a a",
        "    a a a a",
    ]


def test_a_single_column_is_cut_at_a_narrow_terminal() -> None:
    """Nothing else would keep a row on its line."""
    table = Table(key="t", columns=[Column(key="id", title="identity", values=["abcdefgh"], whole=True)])

    assert list(table_lines(table, OutputCapabilities(width=5))[0]) == ["ident", "abcde"]


def test_a_tone_colours_its_cell_only() -> None:
    """The blanks beside it stay plain; without colour nothing is left of it."""
    column = Column(key="a", title="a", values=["x", "yyy"], tones=[Tone.BAD, Tone.PLAIN])
    table = Table(key="t", columns=[column, Column(key="b", title="b", values=["1", "2"])])

    lines = list(table_lines(table, OutputCapabilities(colour=True))[0])

    assert lines == ["\x1b[1ma\x1b[0m    \x1b[1mb\x1b[0m", "\x1b[1;31mx\x1b[0m    1", "yyy  2"]
    assert list(table_lines(table, OutputCapabilities())[0]) == ["a    b", "x    1", "yyy  2"]


@pytest.mark.parametrize("width", [None, 100])
def test_a_long_table_takes_few_calls_a_cell(width: int | None) -> None:
    """All partitions of a large cluster are a million cells: each is drawn by a few calls, not laid out by itself."""
    rows = 500
    columns = [
        Column(key=f"k{i}", title=f"title {i}", kind=ValueKind.NUMBER, values=list(range(rows))) for i in range(6)
    ]
    report = Report(command="p", tables=(Table(key="t", columns=columns),))

    calls = _calls(lambda: render(report, OutputCapabilities(width=width)))

    assert calls / (rows * len(columns)) < 30


def _calls(function: Callable[[], object]) -> int:
    calls = 0

    def count(frame: FrameType, event: str, arg: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls
