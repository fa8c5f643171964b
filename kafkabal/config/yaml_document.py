"""YAML as a tree of texts that know where they were written, so that a wrong value can be named by its line.

A scalar stays the text that the user wrote (``no`` is not False, ``1:30`` is not 90): who reads it says what it
means, and reads a flag or an environment variable the same way.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from kafkabal.errors import ConfigError, InputFileError, UsageError
from kafkabal.input_files import read_text

if TYPE_CHECKING:
    from yaml.nodes import MappingNode
    from yaml.nodes import Node as YamlNode

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
# a list of aliases of lists of aliases ... stands for billions of entries in a few lines
_MOST_ENTRIES = 1_000_000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value was written: a line of a file, or an option or variable by its name."""

    name: str
    line: int | None = None

    def __str__(self) -> str:
        return self.name if self.line is None else f"{self.name}, line {self.line}"

    def error(self, message: str, *, hint: str | None = None) -> UsageError:
        """The error that a value written here deserves."""
        if self.line is None:
            return ConfigError(f"{self.name}: {message}", hint=hint)
        return InputFileError(self.name, message, line=self.line, hint=hint)


Content: TypeAlias = "str | tuple[Node, ...] | Mapping[str, Node] | None"


@dataclass(frozen=True, slots=True)
class Node:
    """A text, a list or a mapping, and where it was written; None where nothing was."""

    content: Content
    place: Place

    def error(self, message: str, *, hint: str | None = None) -> UsageError:
        """The error that this value deserves."""
        return self.place.error(message, hint=hint)


def read_yaml(path: Path) -> Node:
    """Read a YAML file of one document.

    Raises
    ------
    InputFileError
        If it cannot be read, is malformed, or a key stands twice in one mapping; the line is named.
    """
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, name: str) -> Node:
    """Read YAML text of one document; ``name`` stands for the file in errors.

    Raises
    ------
    InputFileError
        If it is malformed, or a key stands twice in one mapping; the line is named.
    """
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return _Converter(name).node(root) if root is not None else Node(None, Place(name, 1))
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputFileError(name, f"invalid YAML: {error.reason}", line=line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputFileError(name, f"invalid YAML: {error.problem}", line=mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise InputFileError(name, "nested too deeply") from error


class _Converter:
    """Turns the nodes of one document; an anchor is turned once, and may not hold itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done: dict[int, Node] = {}
        self._entries: dict[int, int] = {}
        """Entries of each node with those of all that it holds, as often as it holds them."""
        self._open: set[int] = set()

    def node(self, raw: YamlNode) -> Node:
        place = Place(self._name, raw.start_mark.line + 1)
        key = id(raw)
        if key in self._open:
            raise place.error("contains itself")
        if key not in self._done:
            self._open.add(key)
            self._done[key] = Node(self._content(raw), place)
            self._open.remove(key)
            self._entries[key] = 1 + sum(self._entries[id(inner)] for inner in _inner(raw))
            if self._entries[key] > _MOST_ENTRIES:
                raise place.error(f"holds more than {_MOST_ENTRIES:,} entries, those of its aliases included")
        return self._done[key]

    def _content(self, raw: YamlNode) -> Content:
        from yaml.nodes import MappingNode, ScalarNode, SequenceNode

        if isinstance(raw, MappingNode):
            return self._mapping(raw)
        if isinstance(raw, SequenceNode):
            return tuple(self.node(item) for item in raw.value)
        assert isinstance(raw, ScalarNode)
        return None if raw.style is None and raw.value in _NULLS else str(raw.value)

    def _mapping(self, raw: MappingNode) -> Mapping[str, Node]:
        found: dict[str, Node] = {}
        for key_node, value in raw.value:
            key = self.node(key_node)
            if not isinstance(key.content, str):
                raise key.error("a key must be plain text")
            if key.content in found:
                raise key.error(f"duplicate key: {key.content!r}")
            # the line of the key, since a list or a mapping starts on the next one
            found[key.content] = replace(self.node(value), place=key.place)
        return MappingProxyType(found)


def _inner(raw: YamlNode) -> Iterator[YamlNode]:
    """What a list or a mapping holds, keys among it."""
    from yaml.nodes import MappingNode, SequenceNode

    if isinstance(raw, MappingNode):
        for key, value in raw.value:
            yield from (key, value)
    elif isinstance(raw, SequenceNode):
        yield from raw.value
