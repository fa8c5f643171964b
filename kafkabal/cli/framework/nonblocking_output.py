"""Standard output and error written by a thread: a stopped terminal or a full pipe delays nothing for long.

A run must not keep the lock of a cluster, or stop moving replicas, because its output is not read. Output is queued;
the first blocked flush waits two seconds, later ones do not wait. At the end, once the lock is released, the process
waits for everything to be written, like any other program, until a signal ends it.
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO, cast

from kafkabal.cli.framework.termination_signals import Terminated
from kafkabal.errors import ExitCode, InterruptedRunError
from kafkabal.isolated_listeners import BackgroundListener

if TYPE_CHECKING:
    from kafkabal.cli.framework.command_context import CommandContext

# a healthy terminal takes a table in milliseconds; this is how long a blocked one can delay a command in total
_LONGEST_FLUSH_S: Final = 2.0


@contextmanager
def nonblocking_streams(context: CommandContext) -> Iterator[CommandContext]:
    """The same context, with streams that are written in the background until the ``with`` block ends.

    Raises
    ------
    OSError
        At the end, if writing to standard output failed and no caller has seen the error.
    """
    with _Writer() as writer:
        out, err = writer.stream(context.stdout), writer.stream(context.stderr)
        yield replace(context, stdout=cast("TextIO", out), stderr=cast("TextIO", err))
    out.raise_error()


class _Piece(NamedTuple):
    stream: NonblockingStream
    text: str


class _Writer:
    """One thread for both streams, so that their lines stay in order on a terminal."""

    def __init__(self) -> None:
        self._listener = BackgroundListener[_Piece](self)
        self._is_blocked = False

    def stream(self, behind: TextIO) -> NonblockingStream:
        return NonblockingStream(behind, self)

    def put(self, piece: _Piece) -> None:
        self._listener.on_event(piece)

    def on_event(self, event: _Piece) -> None:
        """Write on the thread."""
        event.stream.write_behind(event.text)

    def flush(self) -> None:
        """Wait a little the first time that the stream is blocked; never again after that."""
        if not self._is_blocked:
            self._is_blocked = not self._listener.flush(_LONGEST_FLUSH_S)

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, InterruptedRunError):
            self._close_or_end(error.exit_code)
            return
        try:
            self._listener.close(threading.TIMEOUT_MAX)
        except KeyboardInterrupt as stop:
            self._close_or_end(ExitCode.TERMINATED if isinstance(stop, Terminated) else ExitCode.INTERRUPTED)
            raise

    def _close_or_end(self, code: int) -> None:
        """After a signal, wait only briefly: to report it, or to end the interpreter, would wait as well."""
        if not self._listener.close(_LONGEST_FLUSH_S):
            os._exit(code)


class NonblockingStream(io.TextIOBase):
    """A text stream in front of another one, whose error is raised once, by the next call."""

    def __init__(self, behind: TextIO, writer: _Writer) -> None:
        self._behind = behind
        self._writer = writer
        self._error: OSError | ValueError | None = None
        self._has_failed = False

    def write(self, text: str) -> int:
        """Queue a text."""
        self.raise_error()
        if not self._has_failed:
            self._writer.put(_Piece(self, text))
        return len(text)

    def flush(self) -> None:
        """Wait a little for what is queued."""
        if self._error is None and not self._has_failed:
            self._writer.flush()
        self.raise_error()

    def close(self) -> None:
        """Do nothing: the underlying stream stays open.

        From Python 3.13 on, the garbage collector prints exceptions raised by close, here an error that was not
        seen.
        """

    def write_behind(self, text: str) -> None:
        """Write to the underlying stream, on the thread; an error is kept for the caller."""
        if self._has_failed:
            return
        try:
            self._behind.write(text)
            self._behind.flush()
        except (OSError, ValueError) as error:
            self._error, self._has_failed = error, True

    def raise_error(self) -> None:
        """Raise the error of the underlying stream, once."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def isatty(self) -> bool:
        """Same as the underlying stream."""
        return self._behind.isatty()

    def fileno(self) -> int:
        """Same as the underlying stream."""
        return self._behind.fileno()

    def writable(self) -> bool:
        """Always true."""
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override] # an attribute there
        """Same as the underlying stream."""
        return self._behind.encoding

    @property
    def closed(self) -> bool:
        """Same as the underlying stream."""
        return self._behind.closed
