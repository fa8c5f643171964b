"""The fixed options of a reader, and how they are parsed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafkabal.config import ConnectionSettings
from kafkabal.errors import UsageError
from kafkabal.reader.decoders import Decoder, OnError
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.metrics import ReaderMetrics
from kafkabal.reader.reader_shard import Balance, Tail
from kafkabal.units import parse_bytes


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


def bytes_of(name: str, given: str | int) -> int:
    """A size given as a number, or as text such as ``256MiB``.

    Raises
    ------
    UsageError
        If it is neither.
    """
    found = parse_bytes(given) if isinstance(given, str) else given
    if found < 0:
        raise UsageError(f"{name}: must be 0 or more ({found})")
    return found


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
