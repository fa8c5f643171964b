"""YAML as a tree of texts with their positions, so that errors can name the line of a wrong value.

A scalar stays the text that the user wrote (``no`` is not False, ``1:30`` is not 90): its parser decides what it means,
and parses flags and environment variables the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from kafkabal.errors import ConfigError, InputFileError, UsageError
from kafkabal.input_files import empty_file, read_text

if TYPE_CHECKING:  # commands without profiles do not load it
    from yaml.events import Event

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# a few lines of nested aliases can expand to billions of entries
_MOST_ENTRIES = 1_000_000
# profiles and workloads are at most five levels deep
_MOST_DEPTH = 100


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written: a line of a file, or the name of an option or a variable."""

    name: str
    line: int | None = None
    key: str | None = field(default=None, compare=False)
    """Key of the value in a file: a line may have several, or be only the first of a list."""

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}, line {self.line}"

    def error(self, message: str, *, hint: str | None = None) -> UsageError:
        """An error about the value written here; names its key, unless the message begins with it."""
        if self.line is None:
            return ConfigError(f"{self.name}: {message}", hint=hint)
        is_named = self.key is None or message.startswith((f"{self.key}:", f"{self.key} "))
        return InputFileError(self.name, message if is_named else f"{self.key}: {message}", line=self.line, hint=hint)


Content: TypeAlias = "str | tuple[YamlNode, ...] | Mapping[str, YamlNode] | None"


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A text, a list or a mapping, and where it was written; None for an empty value."""

    content: Content
    place: Place

    def error(self, message: str, *, hint: str | None = None) -> UsageError:
        """An error about this value."""
        return self.place.error(message, hint=hint)

    def key_error(self, message: str, *, hint: str | None = None) -> UsageError:
        """An error about the key of this value."""
        return replace(self.place, key=None).error(message, hint=hint)

    def under(self, key: str, place: Place) -> YamlNode:
        """The same value, or list of values, as that of a key."""
        content = self.content
        if isinstance(content, tuple):
            # lists within lists stay shared: nested aliases stand for more than fits into memory
            content = tuple(replace(item, place=replace(item.place, key=key)) for item in content)
        return YamlNode(content, replace(place, key=key))


def read_yaml(path: Path) -> YamlNode:
    """Read a YAML file with one document.

    Raises
    ------
    InputFileError
        If it cannot be read, is malformed, or a mapping has a duplicate key; the message names the line.
    """
    return parse_yaml(read_text(path), str(path))


def read_filled_yaml(path: Path) -> YamlNode:
    """Like :func:`read_yaml`, but refuse a document without entries, which would stand for nothing but defaults.

    Raises
    ------
    InputFileError
        If it is empty, or for a reason of :func:`read_yaml`.
    """
    root = read_yaml(path)
    if not root.content:
        raise empty_file(path)
    return root


def parse_yaml(text: str, name: str) -> YamlNode:
    """Parse YAML text with one document; ``name`` stands for the file in errors.

    Raises
    ------
    InputFileError
        If it is malformed, or a mapping has a duplicate key; the message names the line.
    """
    import yaml

    # libyaml, if the package was built with it, is ten times as fast
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Builder(name, yaml.parse(text, Loader=loader)).document()
    except yaml.reader.ReaderError as error:
        # libyaml counts bytes
        before = text.encode()[: error.position] if loader is not yaml.SafeLoader else text[: error.position].encode()
        raise InputFileError(name, f"invalid YAML: {error.reason}", line=before.count(b"\n") + 1) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputFileError(name, f"invalid YAML: {error.problem}", line=mark.line + 1 if mark else None) from error


@dataclass(frozen=True, slots=True)
class _Built:
    """A node, and how many entries it has in total, with repeated ones counted as often as they occur."""

    node: YamlNode
    entries: int


class _Builder:
    """Builds nodes from the events of one document; an anchor's node is built once and may not contain itself."""

    def __init__(self, name: str, events: Iterator[Event]) -> None:
        self._name = name
        self._events = events
        self._anchored: dict[str, _Built | None] = {}
        """By anchor; None while the node is being built."""
        self._depth = 0

    def document(self) -> YamlNode:
        from yaml.events import StreamEndEvent

        next(self._events)  # start of the stream
        if isinstance(next(self._events), StreamEndEvent):
            return YamlNode(None, Place(self._name, 1))
        root = self._build(next(self._events)).node
        next(self._events)  # end of the document
        after = next(self._events)
        if not isinstance(after, StreamEndEvent):
            raise self._place(after).error("invalid YAML: more than one document")
        return root

    def _build(self, event: Event) -> _Built:
        from yaml.events import AliasEvent, NodeEvent

        place = self._place(event)
        assert isinstance(event, NodeEvent)
        anchor = event.anchor
        if isinstance(event, AliasEvent):
            assert anchor is not None
            return self._aliased(anchor, place)
        if anchor is not None:
            if anchor in self._anchored:
                raise place.error(f"duplicate anchor: {anchor!r}")
            self._anchored[anchor] = None
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise place.error("nested too deeply")
        built = self._built(event, place)
        self._depth -= 1
        if built.entries > _MOST_ENTRIES:
            raise place.error(f"holds more than {_MOST_ENTRIES:,} entries, those of its aliases included")
        if anchor is not None:
            self._anchored[anchor] = built
        return built

    def _aliased(self, anchor: str, place: Place) -> _Built:
        if anchor not in self._anchored:
            raise place.error(f"unknown alias: {anchor!r}")
        built = self._anchored[anchor]
        if built is None:
            raise place.error("contains itself")
        return built

    def _built(self, event: Event, place: Place) -> _Built:
        from yaml.events import MappingStartEvent, ScalarEvent, SequenceStartEvent

        if isinstance(event, MappingStartEvent):
            return self._mapping(place)
        if isinstance(event, SequenceStartEvent):
            items = tuple(self._until_end())
            return _Built(YamlNode(tuple(item.node for item in items), place), 1 + sum(item.entries for item in items))
        assert isinstance(event, ScalarEvent)
        is_null = not event.style and event.value in _NULLS
        return _Built(YamlNode(None if is_null else str(event.value), place), 1)

    def _mapping(self, place: Place) -> _Built:
        found: dict[str, YamlNode] = {}
        entries = 1
        parts = self._until_end()
        for key in parts:
            value = next(parts)
            name = key.node.content
            if not isinstance(name, str):
                raise key.node.error("a key must be plain text")
            if name in found:
                raise key.node.error(f"duplicate key: {name!r}")
            # use the line of the key, since a list or mapping starts on the next line
            found[name] = value.node.under(name, key.node.place)
            entries += key.entries + value.entries
        return _Built(YamlNode(MappingProxyType(found), place), entries)

    def _until_end(self) -> Iterator[_Built]:
        """The items of a list, or the alternating keys and values of a mapping."""
        from yaml.events import CollectionEndEvent

        for event in self._events:
            if isinstance(event, CollectionEndEvent):
                return
            yield self._build(event)

    def _place(self, event: Event) -> Place:
        assert event.start_mark is not None
        return Place(self._name, event.start_mark.line + 1)
