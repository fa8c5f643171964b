"""Lines written by a thread of its own, so that a terminal that is stopped or a pipe that is full holds nobody up."""

from __future__ import annotations

import threading
from queue import SimpleQueue
from types import TracebackType
from typing import TextIO

_MOST_WAITING = 10_000
_LONGEST_FLUSH_S = 2.0
"""A healthy terminal, file or pipe takes the rest in milliseconds; a blocked one may block forever."""


class BackgroundLines:
    """Writes lines to a stream; :meth:`write` neither waits nor raises.

    Where ten thousand lines wait, further ones are dropped. A stream that fails is written to no more. The thread is a
    daemon: one that is blocked does not keep the process alive.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._waiting: SimpleQueue[str | None] = SimpleQueue()
        self._is_gone = False
        self._thread = threading.Thread(target=self._write_all, name="kafkabal-lines", daemon=True)
        self._thread.start()

    @property
    def is_gone(self) -> bool:
        """Whether the stream has failed: nobody reads it any more."""
        return self._is_gone

    def write(self, line: str) -> None:
        """Leave a line, which ends with its line end, for the thread."""
        if not self._is_gone and self._waiting.qsize() < _MOST_WAITING:
            self._waiting.put(line)

    def __enter__(self) -> BackgroundLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._waiting.put(None)
        self._thread.join(_LONGEST_FLUSH_S)

    def _write_all(self) -> None:
        while (line := self._waiting.get()) is not None:
            try:
                self._stream.write(line)
                self._stream.flush()
            except (OSError, ValueError):
                self._is_gone = True
                return
