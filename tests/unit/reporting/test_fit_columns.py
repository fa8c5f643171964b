"""Tables at every width: nothing is silently cut."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from kafkabal.reporting.fit_columns import elide
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Column, Report, Table, ValueKind

NAMES = st.text("abcdefgh/-", min_size=1, max_size=60)
WIDE_NAMES = st.text("ab/日本語é", min_size=1, max_size=40)
KINDS = (
    ValueKind.TEXT,
    ValueKind.NUMBER,
    ValueKind.BYTES,
    ValueKind.RATE,
    ValueKind.FAIR,
    ValueKind.DURATION,
    ValueKind.FAIR_BAR,
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Some columns of names, numbers, bytes, bars and prose, with one to four rows."""
    n_rows = draw(st.integers(1, 4))
    columns = [Column(key="id", title="id", values=list(range(n_rows)))]
    for i, kind in enumerate(draw(st.lists(st.sampled_from(KINDS), max_size=9))):
        if kind is ValueKind.TEXT:
            values = draw(st.lists(NAMES, min_size=n_rows, max_size=n_rows))
        else:
            values = draw(st.lists(st.integers(0, 10**12), min_size=n_rows, max_size=n_rows))
        wraps = kind is ValueKind.TEXT and draw(st.booleans())
        title = " " if kind is ValueKind.FAIR_BAR else f"title{i}"
        dispensable = draw(st.integers(-1, 3))
        columns.append(Column(key=f"k{i}", title=title, kind=kind, values=values, wraps=wraps, dispensable=dispensable))
    return Table(key="t", columns=columns)


@given(tables(), st.integers(40, 200))
def test_every_column_is_whole_elided_with_a_mark_or_named_as_hidden(table: Table, width: int) -> None:
    """Lines fit, numbers are whole or their column is named as hidden, and an elided name has the mark in it."""
    wide = render(Report(command="p", tables=(table,)), "table", OutputCapabilities())
    text = render(Report(command="p", tables=(table,)), "table", OutputCapabilities(width=width))
    body, _, note = text.partition("columns hidden (terminal too narrow):")
    hidden = {name.strip() for name in note.replace("\n", " ").split(",")}

    assert max(map(len, text.splitlines())) <= width
    for column in table.columns:
        if column.title.strip() and column.title not in hidden:
            assert column.title in body.splitlines()[0]
            if column.kind is not ValueKind.TEXT:
                cells = render(
                    Report(command="p", tables=(Table(key="t", columns=[column]),)), "table", OutputCapabilities()
                )
                assert all(cell in body for cell in cells.split())
    if body == wide:
        assert not note


@given(st.lists(NAMES | WIDE_NAMES, min_size=1, max_size=8), st.integers(4, 40))
def test_elided_names_fit_and_are_as_long_as_possible(names: list[str], width: int) -> None:
    """None exceeds the width, in which some characters count double; texts that fit stay whole; others have the mark,
    with parts of their own."""
    short = elide(names, width)

    assert all(cell_len(text) <= width for text in short)
    for name, text in zip(names, short, strict=True):
        if cell_len(name) <= width:
            assert text == name
        else:
            head, _, tail = text.partition("…")
            assert name.startswith(head)
            assert name.endswith(tail)


def test_paths_that_differ_in_one_place_still_differ() -> None:
    """Log dirs that differ at the end, start or middle still differ when elided."""
    ends = [f"/var/lib/kafka/data/broker-1/d{i}" for i in range(4)]
    starts = [f"/mnt/disk{i}/var/lib/kafka/data/logs" for i in range(4)]

    for paths in (ends, starts):
        short = elide(paths, 16)
        assert len(set(short)) == 4
        assert all("…" in path for path in short)


def test_hidden_columns_are_named_in_the_order_of_the_table() -> None:
    """Whichever of them is hidden first: a reader looks for them from left to right."""
    columns = [
        Column(key=name, title=name, kind=ValueKind.NUMBER, values=[10**9], dispensable=dispensable)
        for dispensable, name in enumerate(("first", "second", "third", "fourth"))
    ]
    text = render(Report(command="p", tables=(Table(key="t", columns=columns),)), "table", OutputCapabilities(width=20))
    assert text.replace("\n", " ").rstrip().endswith("(terminal too narrow): second, third, fourth")
