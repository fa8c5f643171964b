"""Writes lines on a separate thread, so that a stopped terminal or a full pipe delays nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from kafkabal.isolated_listeners import BackgroundListener


def no_longer_written(what: str, work: str, error: Exception) -> str:
    """The warning that a report is given up, although the work that it reports continues."""
    return f"{what}: no longer written, {work} continues: {getattr(error, 'strerror', None) or error}"


class NonblockingLines:
    """Writes lines to a stream; :meth:`write` never blocks or raises.

    If ten thousand lines are queued, further ones are dropped. After a stream fails, nothing more is written to it. The
    thread is a daemon: a blocked one does not keep the process alive.

    Parameters
    ----------
    on_failure
        Called on the thread, once, with the error of the stream.
    """

    def __init__(self, stream: TextIO, on_failure: Callable[[Exception], None] = lambda _: None) -> None:
        self._on_failure = on_failure
        self._is_blocked = False
        self._failure: Exception | None = None
        self._writer = BackgroundListener(_Lines(stream), on_failure=self._note_failure)

    @property
    def failure(self) -> Exception | None:
        """The error of the stream, after which nothing is written to it; None if there was none."""
        return self._failure

    @property
    def is_blocked(self) -> bool:
        """Whether a write was still blocked at the end: another write to the stream would block too."""
        return self._is_blocked

    def write(self, line: str) -> None:
        """Queue a line, including its line end, for the thread."""
        self._writer.on_event(line)

    def __enter__(self) -> NonblockingLines:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_blocked = not self._writer.close()

    def _note_failure(self, error: Exception) -> None:
        self._failure = error
        self._on_failure(error)


class _Lines:
    """A listener that writes its events to a stream as lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def on_event(self, event: str) -> None:
        self._stream.write(event)
        self._stream.flush()
