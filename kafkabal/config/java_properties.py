"""Parses the format of ``java.util.Properties``, in which Kafka's own tools take their client configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from kafkabal.config.yaml_document import Place, YamlNode
from kafkabal.input_files import SETTINGS, read_bytes

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_BLANKS = " \t\f"
_ESCAPED = re.compile(r"\\(u[0-9a-fA-F]{4}|u|.)", re.DOTALL)
_KEY_END = re.compile(r"(?<!\\)(?:\\\\)*(?P<end>[=: \t\f])")
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")


def read_properties(path: Path) -> Mapping[str, YamlNode]:
    """Read keys and values; the last value of a repeated key wins, as in Java.

    Raises
    ------
    InputFileError
        If the file cannot be read or has a malformed escape; the message names the line.
    """
    text = read_bytes(path, SETTINGS).decode("latin-1")
    found: dict[str, YamlNode] = {}
    for number, line in _logical_lines(text):
        place = Place(str(path), number)
        key, value = _split(line)
        found[_unescaped(key, place)] = YamlNode(_unescaped(value, place), place)
    return found


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations joined, and the number of their first line; without comments and empty lines."""
    started, joined = 0, ""
    for number, raw in enumerate(re.split(r"\r\n|\r|\n", text), 1):
        line = raw.lstrip(_BLANKS)
        if not started and (not line or line[0] in "#!"):
            continue
        started = started or number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        yield started, joined + line
        started, joined = 0, ""
    if started:
        yield started, joined


def _split(line: str) -> tuple[str, str]:
    """Key and value, separated by the first unescaped ``=``, ``:`` or blank."""
    end = _KEY_END.search(line)
    if end is None:
        return line, ""
    key, rest = line[: end.start("end")], line[end.start("end") :]
    return key, rest[len(_SEPARATOR.match(rest)[0]) :]  # type: ignore[index]  # the pattern matches the empty text too


def _unescaped(text: str, place: Place) -> str:
    def one(match: re.Match[str]) -> str:
        code = match[1]
        if code == "u":
            raise place.error(r"a \u is followed by four hexadecimal digits")
        return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPES.get(code, code)

    # Java escapes a character beyond 16 bits as a surrogate pair: join the two
    return _ESCAPED.sub(one, text).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
