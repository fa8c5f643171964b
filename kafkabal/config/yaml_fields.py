"""Parses the entries of a YAML mapping into dataclass fields, each with its own parser."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeAlias, TypeVar

from kafkabal.config import value_parsers
from kafkabal.config.allowed_range import Range
from kafkabal.config.yaml_document import YamlNode

T = TypeVar("T")

Schema: TypeAlias = "Mapping[str, tuple[str, Callable[[YamlNode], Any]]]"
"""By key: the field to fill, and its parser."""


def read_fields(node: YamlNode, schema: Schema, what: str) -> dict[str, Any]:
    """Parsed values by field name.

    Raises
    ------
    UsageError
        If a key is unknown (similar ones are suggested) or a value is wrong.
    """
    entries = value_parsers.check_keys(node, schema.keys(), what)
    return {schema[key][0]: schema[key][1](value) for key, value in entries.items()}


def only_entry(node: YamlNode, known: Collection[str], what: str) -> tuple[str, YamlNode]:
    """The only entry of a mapping whose key names a kind.

    Raises
    ------
    UsageError
        If it has no entry, several, or an unknown kind.
    """
    entries = value_parsers.check_keys(node, known, what)
    if len(entries) != 1:
        raise node.error(
            f"{what}: expected one entry, not {len(entries)}", hint=f"choose from: {', '.join(sorted(known))}"
        )
    return next(iter(entries.items()))


def number(node: YamlNode) -> float:
    """A number."""
    given = value_parsers.text(node)
    try:
        return float(given if given.isascii() and "_" not in given else "no number")
    except ValueError:
        raise node.error(f"not a number: {value_parsers.text(node)!r}") from None


def positive(read: Callable[[YamlNode], float]) -> Callable[[YamlNode], Any]:
    """The same parser, for values above 0 only."""

    def read_positive(node: YamlNode) -> float:
        value = read(node)
        if not value > 0:
            raise node.error(f"must be above 0: {value_parsers.text(node)!r}")
        return value

    return read_positive


def within(
    key: str, read: Callable[[YamlNode], float], allowed: Range, write: Callable[[float], str] = "{:,}".format
) -> Callable[[YamlNode], Any]:
    """The same parser, for values in a range only; ``key`` names the value in errors, which ``write`` the range."""

    def read_within(node: YamlNode) -> float:
        value = read(node)
        if value not in allowed:
            raise node.error(f"{key} must be {allowed.in_words(write)}, not {value_parsers.text(node)}")
        return value

    return read_within


def word(kind: Callable[[str], T], *choices: str) -> Callable[[YamlNode], T]:
    """A parser that accepts one of these words and converts it."""
    read = value_parsers.one_of(*choices)
    return lambda node: kind(read(node))


positive_whole = positive(value_parsers.whole_number)
positive_size = positive(value_parsers.size)
positive_rate = positive(value_parsers.rate)
