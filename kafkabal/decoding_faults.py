"""What is wrong with a JSON document, in words of our own: msgspec's messages name Python's types."""

from __future__ import annotations

import json
import re
from typing import Final

_KINDS: Final = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_LIMITS: Final = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_PLACE: Final = re.compile(r"(?P<fault>.*?)(?: - at `(?P<key>(?:key in )?\$.*)`)?", re.DOTALL)
_KIND: Final = re.compile(r"Expected `(?P<expected>[^`]+)`, got `(?P<got>[^`]+)`")
_LIMIT: Final = re.compile(r"Expected `\w+` (?P<sign>[<>]=?) (?P<limit>\S+)")
_TRUNCATED: Final = "Input data was truncated"
_OTHERS: Final = (
    (re.compile(r"Expected `array` (of length .+)"), r"expected a list \1"),
    (re.compile(r"Object missing required field `(.+)`"), r"missing key: \1"),
    (re.compile(r"Object contains unknown field `(.+)`"), r"unknown key: \1"),
    (re.compile(r"JSON is malformed: (.+)"), r"invalid JSON: \1"),
    (re.compile(r"Invalid enum value (.+)"), r"invalid value: \1"),
    (re.compile(_TRUNCATED), "invalid JSON: it ends too early"),
    (re.compile(r"Invalid (.+)"), r"invalid \1"),
    (re.compile(r"Number (.+)"), r"number \1"),
)
"""Messages and their words; the first that matches counts."""


def decoding_fault(error: Exception) -> str:
    """One phrase about an error of a decoder; the message itself where it has no words of a library.

    For a value of the wrong kind it starts with the key: ``partitions[0].replicas: expected a list, not text``.
    """
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    found = _PLACE.fullmatch(str(error))
    assert found is not None  # matches any text
    return fault_at((found["key"] or "").removeprefix("key in "), _fault(found["fault"]))


def json_fault(error: Exception, text: bytes) -> str:
    """As :func:`decoding_fault`, for an error of msgspec about a whole document: it takes half of a surrogate pair less
    than six bytes before the end for the end."""
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if str(error) == _TRUNCATED and _is_complete(text):
        return r"invalid JSON: half of a surrogate pair (\ud800 to \udfff)"
    return decoding_fault(error)


def _is_complete(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def fault_at(path: str, fault: str) -> str:
    """A fault with the key of its value, from a path such as ``$.partitions[0].replicas``; ``$`` is the whole text."""
    key = path.removeprefix("$").removeprefix(".")
    return f"{key}: {fault}" if key else fault


def _fault(text: str) -> str:
    if match := _KIND.fullmatch(text):
        expected = " or ".join(_kind(name) for name in match["expected"].split(" | "))
        return f"expected {expected}, not {_kind(match['got'])}"
    if match := _LIMIT.fullmatch(text):
        return f"must be {_LIMITS[match['sign']]} {match['limit']}"
    found = ((pattern.fullmatch(text), words) for pattern, words in _OTHERS)
    return next((match.expand(words) for match, words in found if match), text)


def _kind(name: str) -> str:
    return _KINDS.get(name, name)
