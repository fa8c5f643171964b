"""The pages of the documentation, as installed with the program."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import ClassVar, Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Markdown, TableElement
from rich.table import Table as RichTable

from kafkabal.errors import OperationError
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.render_table import draw
from kafkabal.reporting.report import Column, Report, Table

_INSTALLED: Final = "documentation"
_ENDING: Final = ".md"
_COMMENT: Final = re.compile(r"<!--.*?-->\s*", re.DOTALL)
"""Notes to authors of the pages."""
_LINK: Final = re.compile(r"!?\[([^\]]+)\]\((?!https?:)([^)#\s]*)(?:#[^)\s]*)?\)")
"""Links to a file in the same folder, or to a picture: no terminal can open these."""
# decision records and measurements are for readers of the repository
_FOLDERS: Final = ("", "how-to")
_MEASUREMENTS: Final = "experiments"
"""Page of measurements outside their folder: commands write it, and its figures, to this place."""


class _WholeTable(TableElement):
    """A table that breaks a word too long for its column: rich would cut off the name of a setting."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for drawn in super().__rich_console__(console, options):
            for column in drawn.columns if isinstance(drawn, RichTable) else ():
                column.overflow = "fold"
            yield drawn


class _Page(Markdown):
    elements: ClassVar = {**Markdown.elements, "table_open": _WholeTable}


@cache
def _pages() -> dict[str, Traversable]:
    """Pages by name: the file name without its ending."""
    installed = files("kafkabal") / _INSTALLED
    # in a checkout they are outside the package
    root: Traversable = installed if installed.is_dir() else Path(__file__).parents[2] / "docs"
    found: dict[str, Traversable] = {}
    for folder in _FOLDERS:
        place = root / folder if folder else root
        for page in place.iterdir() if place.is_dir() else ():
            name = page.name.removesuffix(_ENDING)
            if page.name.endswith(_ENDING) and name != _MEASUREMENTS:
                found.setdefault(name, page)
    return dict(sorted(found.items()))


def page_names() -> tuple[str, ...]:
    """Names of all pages, sorted."""
    return tuple(_pages())


def read_page(name: str) -> str:
    """The text of a page, in Markdown.

    Raises
    ------
    OperationError
        If it is not installed.
    """
    page = _pages().get(name)
    if page is None:
        raise OperationError(f"page not installed: {name}")
    return page.read_text(encoding="utf-8")


def topics_report() -> Report:
    """One row per page, with its heading."""
    names = page_names()
    headings = [_heading(read_page(name)) for name in names]
    return Report(
        command="help",
        tables=(
            Table(
                key="topics",
                columns=(
                    Column(key="topic", title="topic", values=names, label=True),
                    Column(key="title", title="about", values=headings, wraps=True),
                ),
            ),
        ),
        notes=("show a page with 'kafkabal help TOPIC', a command with 'kafkabal help COMMAND'",),
    )


def draw_page(text: str, surface: OutputCapabilities) -> str:
    """A page rendered for a terminal; if stdout is not a terminal, its source without comments."""
    text = _COMMENT.sub("", text)
    if surface.width is None:
        return text
    return "".join(f"{line}\n" for line in draw(_Page(_LINK.sub(_as_command, text)), surface))


def _as_command(link: re.Match[str]) -> str:
    """The text of a link and the command that shows its page; only the text if that page is not installed."""
    target = Path(link[2])
    name = target.name.removesuffix(_ENDING)
    # a page of measurements may have the name of the page that links to it
    is_shown = name in _pages() and target.parent.name in (*_FOLDERS, "..")
    return f"{link[1]} (`kafkabal help {name}`)" if is_shown else link[1]


def _heading(text: str) -> str:
    return next((line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")), "")
