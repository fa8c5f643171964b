"""JSON of values that may hold names of files."""

from __future__ import annotations

from typing import Any

import msgspec


def json_text(value: Any) -> str:
    """The value as JSON in one line; bytes of a file name that are not UTF-8 become replacement characters."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:  # JSON is UTF-8 as a whole
        return msgspec.json.encode(_in_utf_8(msgspec.to_builtins(value))).decode()


def _in_utf_8(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if isinstance(value, dict):
        return {_in_utf_8(key): _in_utf_8(each) for key, each in value.items()}
    return [_in_utf_8(each) for each in value] if isinstance(value, list) else value
