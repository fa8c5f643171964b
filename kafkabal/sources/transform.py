"""A user's function that is applied to each record before it is sent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib import import_module
from typing import Any, TypeAlias

from kafkabal.errors import InputFileError, UsageError, described, import_hint
from kafkabal.plain_functions import function_fault
from kafkabal.sources.record_headers import CHECKSUM_HEADER, header_bytes, is_utf8
from kafkabal.sources.source_protocol import Block, Headers

TransformFunction: TypeAlias = "Callable[[bytes, Headers], tuple[bytes, Headers]]"


@dataclass(frozen=True, slots=True)
class Transform:
    """A function from value and headers to value and headers, and the name under which the user gave it."""

    name: str
    """Records depend on it: with another transform they are different records."""
    function: TransformFunction


def load_transform(name: str) -> Transform:
    """Load a transform by ``package.module:function``.

    Raises
    ------
    UsageError
        If it cannot be loaded.
    """
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"invalid transform: {name!r}", hint="write it as package.module:function")
    try:
        found = getattr(import_module(module), function)
    except (Exception, SystemExit) as error:  # a plug-in may fail in any way, and the user has to fix that
        raise UsageError(f"cannot load transform {name!r}: {described(error)}", hint=import_hint(error)) from error
    if (fault := function_fault(found)) is not None:
        raise UsageError(f"cannot load transform {name!r}: {fault}")
    return Transform(name, found)


def transform_block(block: Block, transform: Transform) -> Block:
    """The records of a block after the transform; an existing header ``sha256`` is updated to the new value.

    Raises
    ------
    InputFileError
        If the transform raises, or does not return bytes and headers; the message names the record.
    """
    values: list[bytes] = []
    headers: list[Headers] = []
    for at, value in enumerate(block.values):
        given = list(block.headers[at]) if block.headers is not None else []
        new_value, new_headers = _call(transform, value, given, block.name_of(at))
        values.append(new_value)
        headers.append(_with_checksum(new_headers, new_value))
    sizes = [len(value) + header_bytes(of_record) for value, of_record in zip(values, headers, strict=True)]
    if block.keys is not None:
        sizes = [n + len(key or b"") for n, key in zip(sizes, block.keys, strict=True)]
    return replace(
        block,
        values=values,
        sizes=sizes,
        headers=headers if any(headers) or block.headers is not None else None,
    )


def _call(transform: Transform, value: bytes, headers: Headers, record: str) -> tuple[bytes, Headers]:
    try:
        made: Any = transform.function(value, headers)
    except (Exception, SystemExit) as error:  # as in load_transform
        raise InputFileError(record, f"transform {transform.name!r} raised {described(error)}") from error
    if not _is_record(made):
        raise InputFileError(
            record,
            f"transform {transform.name!r} returned {type(made).__name__}",
            hint="return (bytes, [(name, bytes), ...]), with names in UTF-8 and without NUL",
        )
    return made[0], [(name, content) for name, content in made[1]]


def _is_record(made: Any) -> bool:
    return (
        isinstance(made, tuple)
        and len(made) == 2
        and isinstance(made[0], bytes)
        and isinstance(made[1], list | tuple)
        and all(
            isinstance(header, tuple | list)
            and len(header) == 2
            and isinstance(header[0], str)
            and "\0" not in header[0]
            and isinstance(header[1], str | bytes | None)
            and all(is_utf8(part) for part in header if isinstance(part, str))
            for header in made[1]
        )
    )


def _with_checksum(headers: Headers, value: bytes) -> Headers:
    if not any(name == CHECKSUM_HEADER for name, _ in headers):
        return headers
    checksum = sha256(value).hexdigest().encode()
    return [(name, checksum if name == CHECKSUM_HEADER else of_name) for name, of_name in headers]
