"""YAML as a tree of texts that know where they were written, so that a wrong value can be named by its line.

A scalar stays the text that the user wrote (``no`` is not False, ``1:30`` is not 90): who reads it says what it
means, and reads a flag or an environment variable the same way.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeAlias

from kafkabal.errors import ConfigError, InputFileError, UsageError

if TYPE_CHECKING:
    from yaml.nodes import MappingNode
    from yaml.nodes import Node as YamlNode

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})


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
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputFileError(path, f"cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputFileError(path, "not UTF-8 text") from error
    return parse_yaml(text, str(path))


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
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise InputFileError(name, f"invalid YAML: {error.reason}", line=line) from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise InputFileError(name, f"invalid YAML: {error.problem}", line=mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise InputFileError(name, "nested too deeply") from error
    return _Converter(name).node(root) if root is not None else Node(None, Place(name, 1))


class _Converter:
    """Turns the nodes of one document; an anchor is turned once, and may not hold itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._done: dict[int, Node] = {}
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
