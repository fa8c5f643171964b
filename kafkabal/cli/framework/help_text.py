"""The layout of help: all commands have the same order of sections, form of usage and pasteable examples."""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ARGUMENTS: Final = "Arguments"
OPTIONS: Final = "Options"
OUTPUT: Final = "Output"
_EXAMPLES: Final = "Examples:"
# arguments and what is created first, common sections last
_FIRST: Final = (ARGUMENTS, "Topic", OPTIONS)
_LAST: Final = ("Execution", "Scope", "Limits", "Measurements", "Cluster", OUTPUT)
# longer lines of prose are hard to read, however wide the terminal is
_WIDEST: Final = 120
_UNBREAKABLE_HYPHEN: Final = "\u2011"
_NARROWEST: Final = 40
"""Columns: below this, descriptions would have one word per line."""
_WIDEST_TERM: Final = 30
"""Columns: descriptions of longer terms begin on the next line."""
_LONGEST_WORD: Final = len("package.module:object.")
_MARGINS: Final = 4
"""Columns before a term and after it."""


class HelpText(NamedTuple):
    """The parts of a command's docstring."""

    summary: str
    paragraphs: tuple[str, ...]
    examples: tuple[str, ...]
    """Complete command lines."""


def split_help(text: str | None) -> HelpText:
    """Split a docstring; line breaks within a part are not significant."""
    body, _, examples = inspect.cleandoc(text or "").partition(_EXAMPLES)
    summary, *paragraphs = _paragraphs(body) or [""]
    return HelpText(summary, tuple(paragraphs), tuple(_paragraphs(examples)))


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]


def section_of(parameter: Any) -> str:
    """The section of the help in which an option or argument is listed."""
    if parameter.param_type_name == "argument":
        return ARGUMENTS
    if "--help" in parameter.opts:
        return OUTPUT
    return getattr(parameter, "rich_help_panel", None) or OPTIONS


def ordered(sections: Iterable[str]) -> list[str]:
    """Sections in the order shared by all commands; those of a single command keep its order."""
    found = list(dict.fromkeys(sections))
    first = [name for name in _FIRST if name in found]
    last = [name for name in _LAST if name in found]
    return [*first, *(name for name in found if name not in (*first, *last)), *last]


def shown_metavar(parameter: Any, context: Any) -> str:
    """``FILE`` for the value of an option; ``TOPIC``, ``[TOPIC]``, ``NODE...`` or ``[NAME...]`` for an argument."""
    metavar = str(parameter.metavar or parameter.display_type(context)).strip("<>")
    if parameter.param_type_name == "option":
        return metavar
    bare = metavar.removesuffix("...").removeprefix("[").removesuffix("]").removesuffix("...")
    name = f"{bare}..." if parameter.nargs == -1 else bare
    return name if parameter.required else f"[{name}]"


def help_width(columns: int | None) -> int:
    """Columns that help uses on a terminal of that width; None if there is no terminal."""
    return 80 if columns is None else max(_NARROWEST, min(columns, _WIDEST))


def write_usage(formatter: Any, command: str, pieces: Iterable[str]) -> None:
    """Write the line that shows how a command is typed."""
    with _whole_words(formatter):
        formatter.write_usage(command, _unbreakable(" ".join(pieces)))


def write_sections(formatter: Any, sections: Mapping[str, list[tuple[str, str]]]) -> None:
    """Write options by section."""
    for title in ordered(sections):
        write_list(formatter, title, sections[title])


def write_list(formatter: Any, title: str, rows: Iterable[tuple[str, str]]) -> None:
    """Write a section of terms and what they mean."""
    # typer puts two blanks before the default of an option
    spaced = [(term, " ".join(meaning.split())) for term, meaning in rows]
    with formatter.section(title), _whole_words(formatter):
        widest = min(_WIDEST_TERM, formatter.width - _LONGEST_WORD - _MARGINS)
        formatter.write_dl([(term, _unbreakable(meaning)) for term, meaning in spaced], col_max=widest)


def write_text(formatter: Any, text: str | None) -> None:
    """Write what a command does, and its examples, whose lines are never wrapped."""
    parts = split_help(text)
    for paragraph in (parts.summary, *parts.paragraphs):
        formatter.write_paragraph()
        with formatter.indentation(), _whole_words(formatter):
            formatter.write_text(_unbreakable(paragraph))
    if parts.examples:
        with formatter.section("Examples"):
            for example in parts.examples:
                formatter.write(f"{' ' * formatter.current_indent}{example}\n")


def _unbreakable(text: str) -> str:
    """A text that is wrapped at blanks only: half of ``--remove-throttles`` is found neither by eye nor by grep."""
    return text.replace("-", _UNBREAKABLE_HYPHEN)


@contextmanager
def _whole_words(formatter: Any) -> Iterator[None]:
    """Turn the hyphens of what is written meanwhile into ordinary ones."""
    begin = len(formatter.buffer)
    yield
    formatter.buffer[begin:] = [part.replace(_UNBREAKABLE_HYPHEN, "-") for part in formatter.buffer[begin:]]
