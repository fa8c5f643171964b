"""The fixed options of a reader, and how they are parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Final

import numpy as np

from kafkabal.atomic_files import parse_path
from kafkabal.config import ConnectionSettings
from kafkabal.errors import UsageError
from kafkabal.reader.decoders import Decoder, OnError
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import Balance, Tail
from kafkabal.units import parse_bytes

DEFAULT_CACHE_BYTES: Final = 100 * 10**9
"""Fits the local disk of small machines with a GPU (125 GB of an AWS g4dn.xlarge), and most data sets. A larger
disk can be given, and a full one only ends caching."""
LARGEST_NUMBER: Final = 2**63 - 1
"""The largest that a saved state may hold."""
_LONGEST_TEXT_BYTES: Final = 2**15 - 1
"""Of a text in Kafka's protocol."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderOptions:
    """See :class:`~kafkabal.reader.dataset.TopicReader`."""

    connection: ConnectionSettings
    manifest: Manifest
    join: bool
    seed: int | None
    tail: Tail
    decode: Decoder | None
    on_error: OnError
    prefetch_bytes: int
    cache: Path | None
    cache_bytes: int
    rack: str | None
    group: str | None
    metrics_file: Path | None
    on_metrics: Callable[[ReaderMetrics], None] | None
    balance: Balance
    ledgers: Path | None
    """Folder of the ledgers through which readers take work from each other."""


def whole_number(name: str, given: Any, *, least: int = 0, most: int = LARGEST_NUMBER) -> int:
    """A number as Python's own type: one of numpy would overflow in the order of samples, and is not valid in JSON.

    Raises
    ------
    UsageError
        If it is not a whole number, as the text of an environment variable, or out of bounds.
    """
    try:
        found = index(given)
    except TypeError as error:
        raise UsageError(f"{name}: must be a whole number ({given!r})") from error
    if not least <= found <= most:
        bounds = f"{least} or more" if found < least else f"{least} to {most}"
        raise UsageError(f"{name}: must be {bounds} ({found})")
    return found


def refuse_empty(**given: Any) -> None:
    """Refuse empty text, as that of a variable that is not set.

    As a path it would be the current folder; as a group, librdkafka would abort the process.

    Raises
    ------
    UsageError
        If there is any.
    """
    for name, value in given.items():
        if isinstance(value, str) and not value:
            raise UsageError(f"{name}: must not be empty", hint="leave it out, or see whether a variable in it is set")


def text_of(name: str, given: Any) -> str | None:
    """Text that Kafka can take, or None if none was given.

    librdkafka ends a group at a NUL, and aborts the process if it is blank or not Unicode, as what Python makes of
    other bytes in an environment variable.

    Raises
    ------
    UsageError
        If it is something else, or empty.
    """
    if not (given is None or isinstance(given, str)):
        raise UsageError(f"{name}: must be text ({given!r:.40})")
    refuse_empty(**{name: given})
    if given is not None and not (given.isprintable() and 0 < len(given.strip().encode()) <= _LONGEST_TEXT_BYTES):
        raise UsageError(f"{name}: must be up to {_LONGEST_TEXT_BYTES:,} bytes of printable text ({given!r:.40})")
    return given


def path_of(name: str, given: Any) -> Path | None:
    """A path given as text or as a path, or None if none was given.

    Raises
    ------
    UsageError
        If it is something else, empty, or no file can have that name.
    """
    if given is None:
        return None
    if not isinstance(given, str | Path):
        raise UsageError(f"{name}: must be a path ({given!r:.40})")
    refuse_empty(**{name: given})
    try:
        return parse_path(str(given))
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from error


def flag_of(name: str, given: Any) -> bool:
    """True or False; text such as ``"False"``, which Python takes for true, is neither.

    Raises
    ------
    UsageError
        If it is something else.
    """
    if not isinstance(given, bool | np.bool_):
        raise UsageError(f"{name}: must be True or False ({given!r:.40})")
    return bool(given)


def connection_of(given: Any) -> ConnectionSettings | None:
    """A resolved connection, or None if none was given.

    Raises
    ------
    UsageError
        If it is something else, such as an address.
    """
    if not (given is None or isinstance(given, ConnectionSettings)):
        raise UsageError(
            f"connection: must be a ConnectionSettings ({given!r:.40})", hint="pass an address as bootstrap_servers"
        )
    return given


def bytes_of(name: str, given: Any) -> int:
    """A size given as a number, such as ``1e9``, or as text, such as ``256MiB``.

    Raises
    ------
    UsageError
        If it is neither.
    """
    if not isinstance(given, str):
        return whole_number(name, int(given) if isinstance(given, float) and given.is_integer() else given)
    try:
        return parse_bytes(given)
    except UsageError as error:
        raise UsageError(f"{name}: {error.message}", hint=error.hint) from error


def choice_of(kind: Any, name: str, given: str) -> Any:
    """The member of an enumeration with this value.

    Raises
    ------
    UsageError
        If there is none.
    """
    try:
        return kind(given)
    except ValueError:
        raise UsageError(f"{name}: unknown {given!r}", hint=f"choose from: {', '.join(kind)}") from None
