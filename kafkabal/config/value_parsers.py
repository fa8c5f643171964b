"""Parses the values in profiles, variables and flags: one parser per kind of value.

A parser takes a :class:`~kafkabal.config.yaml_document.YamlNode` and returns the value, or raises a
:class:`~kafkabal.errors.UsageError` that names the place. A list may also be written as one text with commas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, TypeVar

from kafkabal.atomic_files import parse_path
from kafkabal.config.time_window import TimeWindow
from kafkabal.config.yaml_document import YamlNode
from kafkabal.errors import UsageError
from kafkabal.input_files import expand_home
from kafkabal.units import (
    parse_bytes,
    parse_duration,
    parse_percent,
    parse_positive_duration,
    parse_positive_rate,
    parse_throttle,
    parse_whole_number,
)
from kafkabal.wording import choice_hint

T = TypeVar("T")

Default: TypeAlias = Literal["default"]
PerBroker: TypeAlias = Mapping[int | Default, T]

_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


def text(node: YamlNode) -> str:
    """A single text."""
    if node.content is None:
        raise node.error("empty value")
    if not isinstance(node.content, str):
        raise node.error("expected a single value, not a list or a mapping")
    return node.content.strip()


def texts(node: YamlNode) -> tuple[str, ...]:
    """A list of non-empty texts: an empty one would match more than intended."""
    if isinstance(node.content, str):
        parts = tuple(part.strip() for part in node.content.split(","))
        if not all(parts):
            raise node.error(f"empty entry in a list: {node.content!r}" if node.content.strip() else "empty value")
        return parts
    if node.content is None:
        raise node.error("empty value")
    if isinstance(node.content, Mapping):
        raise node.error("expected a list")
    return tuple(part for item in node.content for part in texts(item))


def path(node: YamlNode) -> Path:
    """A path; relative paths in a file are relative to that file, and those in a pipe to the current folder."""
    given, source = expand_home(_parsed(parse_path, node)), Path(node.place.name)
    # the shell's <(command) is a pipe below /dev/fd
    is_in_file = node.place.line is not None and not source.is_fifo()
    return source.parent / given if is_in_file else given


def boolean(node: YamlNode) -> bool:
    """``true`` or ``false``, also ``yes``, ``no``, ``on``, ``off``, ``1``, ``0``."""
    found = _BOOLEANS.get(text(node).lower())
    if found is None:
        raise node.error(f"expected true or false, got {text(node)!r}")
    return found


def whole_number(node: YamlNode) -> int:
    """A whole number, 0 or more."""
    return _parsed(parse_whole_number, node)


def broker_ids(node: YamlNode) -> tuple[int, ...]:
    """A list of broker ids, sorted and without duplicates."""
    return tuple(sorted({_broker_id(given, node.error) for given in texts(node)}))


def one_of(*choices: str) -> Callable[[YamlNode], str]:
    """A parser that accepts one of these words."""

    def read(node: YamlNode) -> str:
        given = text(node)
        if given not in choices:
            raise node.error(f"unknown value: {given!r}", hint=f"choose from: {', '.join(choices)}")
        return given

    return read


def size(node: YamlNode) -> int:
    """Bytes, such as ``4TiB``."""
    return _parsed(parse_bytes, node)


def rate(node: YamlNode) -> int:
    """Bytes per second above 0, such as ``50MB/s``."""
    return _parsed(parse_positive_rate, node)


def throttle(node: YamlNode) -> int:
    """Bytes per second of a throttle, such as ``50MB/s``."""
    return _parsed(parse_throttle, node)


def throttle_or_word(node: YamlNode) -> int | Literal["auto", "none"]:
    """Bytes per second of a throttle, ``auto`` or ``none``."""
    match text(node):
        case "auto":
            return "auto"
        case "none":
            return "none"
    return throttle(node)


def percent(node: YamlNode) -> float:
    """A fraction, such as ``9%`` or ``0.09``."""
    return _parsed(parse_percent, node)


def duration(node: YamlNode) -> float:
    """Seconds, such as ``10s`` or ``1h30m``."""
    return _parsed(parse_duration, node)


def some_time(node: YamlNode) -> float:
    """Seconds above 0, where 0 makes no sense."""
    return _parsed(parse_positive_duration, node)


def grace(node: YamlNode) -> float:
    """Seconds, such as ``10m``; a bare 0 means immediately."""
    return 0.0 if str(node.content).strip() == "0" else duration(node)


def time_window(node: YamlNode) -> str:
    """Daily hours, such as ``01:00-05:00``."""
    return str(_parsed(TimeWindow.parse, node))


def scores(node: YamlNode) -> tuple[str, ...]:
    """Scores as ``NAME`` or ``NAME=WEIGHT``, in a list, or as a mapping from name to weight."""
    if not isinstance(node.content, Mapping):
        return texts(node)
    return tuple(name if weight.content is None else f"{name}={text(weight)}" for name, weight in node.content.items())


def per_broker(read: Callable[[YamlNode], T]) -> Callable[[YamlNode], PerBroker[T]]:
    """A parser of values by broker id, with ``default`` for all others; a single value is the default."""

    def read_all(node: YamlNode) -> PerBroker[T]:
        if not isinstance(node.content, Mapping):
            return MappingProxyType({"default": read(node)})
        return MappingProxyType({_broker_key(value, key): read(value) for key, value in node.content.items()})

    return read_all


def by_path(read: Callable[[YamlNode], T]) -> Callable[[YamlNode], Mapping[str, T]]:
    """A parser of values by absolute path of a log dir."""

    def read_all(node: YamlNode) -> Mapping[str, T]:
        if not isinstance(node.content, Mapping):
            raise node.error("expected a mapping of log dirs, as in  {/d0: ..., /d1: ...}")
        for key, value in node.content.items():
            if not key.startswith("/"):
                raise value.key_error(f"not an absolute path of a log dir: {key!r}")
        return MappingProxyType({key: read(value) for key, value in node.content.items()})

    return read_all


def size_or_dir_sizes(node: YamlNode) -> int | Mapping[str, int]:
    """Bytes of a whole broker, or of its log dirs by path; above 0."""
    if isinstance(node.content, Mapping):
        return by_path(_some_bytes)(node)
    return _some_bytes(node)


def mapping(node: YamlNode) -> Mapping[str, YamlNode]:
    """The entries of a mapping; empty if there is no value."""
    if node.content is None:
        return {}
    if not isinstance(node.content, Mapping):
        raise node.error("expected a mapping, as in  key: value")
    return node.content


def check_keys(node: YamlNode, known: Collection[str], what: str) -> Mapping[str, YamlNode]:
    """The entries of a mapping, which may have only these keys.

    Raises
    ------
    UsageError
        If it is not a mapping, or a key is unknown; the hint suggests similar ones.
    """
    for key, value in mapping(node).items():
        if key not in known:
            # keys are short: "rate" is half like "latency"
            raise value.key_error(f"unknown key in {what}: {key!r}", hint=choice_hint(key, known, likeness=0.6))
    return mapping(node)


def _some_bytes(node: YamlNode) -> int:
    found = size(node)
    if not found:
        raise node.error("capacity must be above 0 bytes")
    return found


def _parsed(parse: Callable[[str], T], node: YamlNode) -> T:
    given = text(node)
    try:
        return parse(given)
    except UsageError as error:
        raise node.error(error.message, hint=error.hint) from None


def _broker_key(node: YamlNode, key: str) -> int | Default:
    return "default" if key == "default" else _broker_id(key, node.key_error)


def _broker_id(given: str, error: Callable[[str], UsageError]) -> int:
    if not (given.isascii() and given.isdigit() and len(given) < 19 and int(given) < 2**31):
        raise error(f"invalid broker id: {given!r}")
    return int(given)
