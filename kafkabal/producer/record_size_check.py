"""Checks that every record of a source fits into the topic, before any is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from time import monotonic
from typing import Final

from kafkabal.errors import InputFileError
from kafkabal.sources import Part, RecordSize, Source
from kafkabal.wording import first_of

OVERHEAD_BYTES: Final = 256
"""Upper limit of what surrounds a record: its name, its part of the batch header, and lengths and deltas."""
_CHUNK_HEADER_BYTES = 32
"""At most the names and numbers in the headers by which the pieces of a file are joined again."""
_NAMED = 5
"""Records named in the error: enough to look one up, and still one line."""
_MOMENT_S = 1.0
"""A check that takes longer is announced; announcing shorter ones would flicker."""


def check_sizes(
    source: Source,
    parts: Iterable[Part],
    max_record_bytes: int,
    *,
    clock: Callable[[], float] = monotonic,
    takes_long: Callable[[], None] = lambda: None,
) -> None:
    """Check that every record fits into the topic.

    Parameters
    ----------
    takes_long
        Called once if the check takes more than a moment, because rows have to be read for it.

    Raises
    ------
    InputFileError
        Naming the records that do not fit.
    """
    limit = max_record_bytes - OVERHEAD_BYTES
    large = list(source.find_too_large(parts, limit, _once_after_a_moment(clock, takes_long)))
    if large:
        named = first_of([f"{size.name} ({size.size_bytes + OVERHEAD_BYTES} bytes)" for size in large], _NAMED)
        raise InputFileError(
            source.name,
            f"records exceed max.message.bytes of the topic ({max_record_bytes} bytes): {named}",
            hint=_smaller(large, limit),
        )


def _once_after_a_moment(clock: Callable[[], float], takes_long: Callable[[], None]) -> Callable[[], None]:
    tell_s = clock() + _MOMENT_S

    def each_block() -> None:
        nonlocal tell_s
        if clock() > tell_s:
            tell_s = inf
            takes_long()

    return each_block


def _smaller(large: Iterable[RecordSize], limit: int) -> str:
    """A hint for records that are larger than the limit."""
    around = [size.around_bytes for size in large if size.around_bytes is not None]
    chunk = limit - max(around, default=limit) - _CHUNK_HEADER_BYTES
    written = f"{chunk // 1024}KiB" if chunk >= 1024 else str(chunk)
    split = f"split files with --chunk {written} or less, or " if chunk > 0 else ""
    return f"{split}raise max.message.bytes of the topic"
