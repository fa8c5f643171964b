"""What is wrong with a JSON document, in words of our own: msgspec's messages name Python's types."""

from __future__ import annotations

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
_LENGTH: Final = re.compile(r"Expected `array` (?P<length>of length .+)")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>.+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.+)`")
_MALFORMED: Final = re.compile(r"JSON is malformed: (?P<fault>.+)")


def decoding_fault(error: Exception) -> str:
    """One phrase about an error of a decoder; the message itself where it has no words of a library.

    For a value of the wrong kind it starts with the key: ``partitions[0].replicas: expected a list, not text``.
    """
    if isinstance(error, UnicodeDecodeError):
        return "not UTF-8 text"
    found = _PLACE.fullmatch(str(error))
    assert found is not None  # matches any text
    key = (found["key"] or "").removeprefix("key in ").removeprefix("$").removeprefix(".")
    fault = _fault(found["fault"])
    return f"{key}: {fault}" if key else fault


def _fault(text: str) -> str:
    if match := _KIND.fullmatch(text):
        expected = " or ".join(_kind(name) for name in match["expected"].split(" | "))
        return f"expected {expected}, not {_kind(match['got'])}"
    if match := _LIMIT.fullmatch(text):
        return f"must be {_LIMITS[match['sign']]} {match['limit']}"
    if match := _LENGTH.fullmatch(text):
        return f"expected a list {match['length']}"
    if match := _MISSING.fullmatch(text):
        return f"missing key: {match['name']}"
    if match := _UNKNOWN.fullmatch(text):
        return f"unknown key: {match['name']}"
    if match := _MALFORMED.fullmatch(text):
        return f"invalid JSON: {match['fault']}"
    if text.startswith("Invalid enum value "):
        return f"invalid value: {text.removeprefix('Invalid enum value ')}"
    if text == "Input data was truncated":
        return "invalid JSON: it ends too early"
    return text[:1].lower() + text[1:] if text.startswith(("Invalid ", "Number ")) else text


def _kind(name: str) -> str:
    return _KINDS.get(name, name)
