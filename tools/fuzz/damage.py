"""Damages files and words as disks, editors, scripts and attackers do."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

_NUMBER = re.compile(rb"-?\d+(\.\d+)?")
_TOKENS: Sequence[bytes] = (
    *b'0 -1 1 1e999 1e308 -0.0 NaN Infinity null true "" {} [] "x" 2147483648 9223372036854775807'.split(),
    *b'9223372036854775808 -9223372036854775809 "\\u0000" "\\ud800" "../../x" "a\\nb"'.split(),
    *(b"9" * 25, b"9" * 5000, b'"\xff\xfe"', b'"' + b"x" * 5000 + b'"', b'"\xf0\x9f\x98\x80"', b"\x00", b"\x1b[2J"),
    *(b"[" * 5000, b'{"a":' * 5000, b"- " * 500, b"&a [*a]", b"!!python/object:x {}"),
)
_VALUES: Sequence[Any] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 10**25, 0.5, -0.5, 1e308, [], {}, [[]]),
    *(
        "",
        " ",
        "\x00",
        "\ud7ff",
        "x" * 5000,
        *["x", "../../x", "any", "/d0", "none", "2026-01-01", "1:30", "-1", "%s%n", "[red]"],
    ),
)
WORDS: Sequence[str] = (
    *("", " ", "9" * 25, "9" * 5000, "9" * 9 + "w", "x" * 300, "x" * 5000, "a\0b", "\ud7ff", "\U0001f600", "\x1b[2J"),
    *[
        "-",
        "--",
        "0",
        "-1",
        "1",
        "2",
        "3",
        "1.5",
        "nan",
        "inf",
        "1e5",
        "1_0",
        "１２",
        "x",
        "../../etc",
        "/",
        "/dev/null",
        "/proc/self/mem",
        "*",
        "[",
        "t*",
        "t",
        "t-0",
    ],
    *[
        "1,2",
        "1,,2",
        ",",
        "a=b",
        "=",
        "a=",
        ":",
        "::",
        "1:2:3",
        "3:4000:2TiB",
        "add=7:r1:4TiB",
        "add=7",
        "remove=1",
        "127.0.0.1:1",
        "[::1]:1",
    ],
    *[
        "10%",
        "0.1",
        "200%",
        "-5%",
        "100%",
        "0%",
        "10s",
        "0s",
        "1m1m",
        "5MB",
        "0MB",
        "5000PB",
        "auto",
        "none",
        "00:00-00:00",
        "23:00-01:00",
        "25:00-26:00",
    ],
    *[
        "json",
        "yaml",
        "csv",
        "prometheus",
        "table",
        "disk",
        "disk=0",
        "disk=nan",
        "replicas=3",
        "latency",
        "no.such:thing",
        "os:system",
    ],
    *["power-of-d:d=2", "score:floor=nan", "%s%n%x", "[red]x", "$(id)", "training", "binomial:0.3:7", "even"],
)


def damaged(data: bytes, rng: Random) -> bytes:
    """The file after one to three random changes, sometimes compressed."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(_ACCIDENTS)(data, rng)
    packed = rng.random()
    if packed < 0.03:
        return gzip.compress(data)
    return gzip.compress(data)[: rng.randrange(1, 60)] if packed < 0.05 else data


def _flip(data: bytes, rng: Random) -> bytes:
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _cut(data: bytes, rng: Random) -> bytes:
    begin, end = _range(data, rng)
    return data[:begin] + data[end:]


def _repeat(data: bytes, rng: Random) -> bytes:
    begin, end = _range(data, rng)
    return data[:end] + data[begin:end] * rng.choice((1, 1, 20)) + data[end:]


def _truncate(data: bytes, rng: Random) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(data: bytes, rng: Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(_TOKENS) + data[at:]


def _other_number(data: bytes, rng: Random) -> bytes:
    found = list(_NUMBER.finditer(data))
    if not found:
        return _insert(data, rng)
    one = rng.choice(found)
    return data[: one.start()] + rng.choice(_TOKENS) + data[one.end() :]


def _other_lines(data: bytes, rng: Random) -> bytes:
    lines = data.splitlines(keepends=True)
    if len(lines) > 1:
        i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(3)
        if how == 0:
            lines[i], lines[j] = lines[j], lines[i]
        elif how == 1:
            lines.insert(i, lines[j])
        else:
            del lines[i]
    return b"".join(lines)


def _other_value(data: bytes, rng: Random) -> bytes:
    """Change, remove or add a value anywhere in a line of JSON, or in the whole document."""
    lines = [data] if data.count(b"\n") < 2 or rng.random() < 0.2 else data.splitlines(keepends=True)
    at = rng.randrange(len(lines)) if lines else 0
    try:
        value = json.loads(lines[at])
    except (ValueError, IndexError, RecursionError):
        return _other_number(data, rng)
    lines[at] = json.dumps(_changed(value, rng)).encode(errors="replace") + b"\n"
    return b"".join(lines)


def _changed(value: Any, rng: Random) -> Any:
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        rest = {k: v for k, v in value.items() if k != key}
        fate = rng.random()
        if fate < 0.1:
            return rest
        if fate < 0.15:
            return {**value, rng.choice(("", "x", key.upper())): rng.choice(_VALUES)}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.85:
        at = rng.randrange(len(value))
        return [*value[:at], _changed(value[at], rng), *value[at + rng.choice((0, 1, 1, 1)) :]]
    if isinstance(value, int) and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2, 1000, 2**31, 2**62))
    return rng.choice(_VALUES)


def _range(data: bytes, rng: Random) -> tuple[int, int]:
    begin = rng.randrange(len(data) + 1)
    return begin, min(len(data), begin + rng.choice((1, 2, 5, 20, 200)))


_ACCIDENTS: Sequence[Callable[[bytes, Random], bytes]] = (
    *(_flip, _cut, _repeat, _truncate, _insert, _other_lines),
    *(_other_number, _other_value, _other_value, _other_value, _other_value),
)
