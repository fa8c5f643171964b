"""A stream that is lent to a reader that closes what it reads."""

from __future__ import annotations

import io
from typing import IO, Any


class UnclosedStream(io.RawIOBase):
    """A stream that is read but not closed, since it belongs to the caller."""

    def __init__(self, stream: io.BufferedIOBase | IO[bytes]) -> None:
        self._stream: Any = stream

    def readable(self) -> bool:
        """See :meth:`io.IOBase.readable`."""
        return True

    def readinto(self, buffer: Any) -> int:
        """See :meth:`io.RawIOBase.readinto`."""
        data = self._stream.read1(len(buffer))
        buffer[: len(data)] = data
        return len(data)
