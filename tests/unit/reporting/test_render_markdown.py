"""Markdown as those read it who render it, and those who read it as it is."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from kafkabal.printable import printable
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.reporting.report import Column, Report, Table, ValueKind

MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
# what Markdown is made of, so that it is met often
TEXTS = st.text(st.sampled_from("->|<#*_`~[](){}!\\&;:.+=1a b\"'"), min_size=1, max_size=30)


def report_of(text: str) -> Report:
    """A text as the headline, in a table and as a note."""
    table = Table(key="t", title="rows", columns=(Column(key="a", title="a", values=[text]),))
    return Report(command="probe", headline=text, tables=(table,), notes=(text,))


def shown(tokens: list[Token]) -> list[str]:
    """The texts of headings, cells and list items, none of which has markup of its own."""
    inline = [token for token in tokens if token.type == "inline"]
    assert {child.type for token in inline for child in token.children or ()} <= {"text", "text_special"}
    return ["".join(child.content for child in token.children or ()) for token in inline]


@given(TEXTS)
@example("- a")
@example("1. a")
@example("&lt;b&gt;")
@example("> a")
@example("---")
def test_any_text_is_shown_as_it_is(text: str) -> None:
    """Nothing in the name of a topic or a message becomes markup, wherever it stands."""
    tokens = MARKDOWN.parse(render(report_of(text), "markdown", PLAIN))

    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens}
    assert kinds <= {
        "heading",
        "inline",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bullet_list",
        "list_item",
        "paragraph",
    }
    wanted = " ".join(printable(text).split())
    headline, _, _, cell, note = (" ".join(each.split()) for each in shown(tokens))
    assert (headline, cell, note) == (wanted, wanted, wanted)


def test_arrows_and_numbers_are_read_as_they_are_written() -> None:
    """A reader of a plan in a ticket before it is rendered sees ``1,2 -> 4,2`` and ``1.59x``."""
    assert "| 1,2 -> 4,2 |" in render(report_of("1,2 -> 4,2"), "markdown", PLAIN)
    assert "| 1.59x |" in render(report_of("1.59x"), "markdown", PLAIN)
    assert "* \\> 5" in render(report_of("> 5"), "markdown", PLAIN)


def test_estimates_and_arrows_are_marked_as_in_the_table() -> None:
    """An estimate begins with ~, and a value outside its band ends with an arrow."""
    used = Column(key="used", title="used", kind=ValueKind.BYTES, values=[5, 7, 9], estimated=[True, False, False])
    share = Column(key="share", title="share", kind=ValueKind.FAIR, values=[1.5, 0.5, 1.0], outside=[1, -1, 0])
    text = render(Report(command="probe", tables=(Table(key="t", columns=(used, share)),)), "markdown", PLAIN)
    assert text.splitlines()[2:] == ["| \\~5 B | 1.50x ▲ |", "| 7 B | 0.50x ▼ |", "| 9 B | 1.00x |"]
