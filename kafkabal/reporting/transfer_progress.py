"""Progress of a long transfer in bytes: a bar on a terminal, an occasional line elsewhere."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from types import TracebackType
from typing import Final, Protocol, TextIO, cast

from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.units import format_bytes, format_duration, format_rate

_SECONDS_BETWEEN_LINES: Final = 30.0
"""The log of a whole night stays readable: 1,000 lines."""
_LEAST_RATED_S: Final = 1.0
"""Bytes that arrive before the first update count as done instantly: a run of seconds would show 80 GiB/s."""


class TransferProgress(AbstractContextManager["TransferProgress"], Protocol):
    """A progress display, to be used in a ``with`` block."""

    def update(
        self, done_bytes: int, *, total_bytes: int | None = None, skipped_bytes: int = 0, note: str = ""
    ) -> None:
        """Show how many bytes are done, their total if it changed, and the current activity.

        Parameters
        ----------
        skipped_bytes
            How many of the done bytes were done before; they took no time, and are excluded from the rate.
        """


def open_progress(
    what: str,
    total_bytes: int | None,
    *,
    surface: OutputCapabilities,
    stream: TextIO,
    monotonic: Callable[[], float],
    hidden: bool = False,
) -> TransferProgress:
    """Choose the kind of progress display that suits the surface.

    Parameters
    ----------
    what
        The activity, such as ``moving``.
    total_bytes
        None if unknown: only the done bytes and the rate are shown.
    hidden
        Show nothing.
    """
    if hidden:
        return _Hidden()
    stream = cast("TextIO", _ForgivingStream(stream))
    if surface.animated:
        from kafkabal.reporting.transfer_progress_bar import BarProgress

        return BarProgress(what, total_bytes, surface=surface, stream=stream, monotonic=monotonic)
    return _LineProgress(what, total_bytes, stream=stream, monotonic=monotonic)


class _ForgivingStream(io.TextIOBase):
    """Drops what cannot be written: a terminal that is gone, or a pipe without a reader, must not end the transfer."""

    def __init__(self, behind: TextIO) -> None:
        self._behind = behind

    def write(self, text: str) -> int:
        with suppress(OSError, ValueError):
            self._behind.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError, ValueError):
            self._behind.flush()

    def isatty(self) -> bool:
        return self._behind.isatty()

    @property
    def encoding(self) -> str:  # type: ignore[override] # an attribute there
        return self._behind.encoding


class _Hidden(nullcontext[None]):
    def __enter__(self) -> _Hidden:  # type: ignore[override]
        return self

    def update(
        self, done_bytes: int, *, total_bytes: int | None = None, skipped_bytes: int = 0, note: str = ""
    ) -> None:
        pass


class _LineProgress:
    """Writes a line at intervals, with the rate since the last one and the time left at that rate, and one at the end,
    with the mean rate.

    With the mean rate, the time left of a transfer that has stalled would grow from line to line.
    """

    def __init__(self, what: str, total_bytes: int | None, *, stream: TextIO, monotonic: Callable[[], float]) -> None:
        self._what = what
        self._total_bytes = total_bytes
        self._stream = stream
        self._monotonic = monotonic
        self._started_s = self._last_line_s = self._arrived_s = monotonic()
        self._done_bytes = self._skipped_bytes = 0
        self._bytes_at_last_line = 0

    def __enter__(self) -> _LineProgress:
        return self

    def update(
        self, done_bytes: int, *, total_bytes: int | None = None, skipped_bytes: int = 0, note: str = ""
    ) -> None:
        """See :meth:`TransferProgress.update`."""
        before, now = self._moved_bytes, self._monotonic()
        self._done_bytes, self._skipped_bytes = done_bytes, skipped_bytes
        self._total_bytes = self._total_bytes if total_bytes is None else total_bytes
        self._arrived_s = now if self._moved_bytes != before else self._arrived_s
        elapsed_s = now - self._last_line_s
        if elapsed_s >= _SECONDS_BETWEEN_LINES:
            still_s = now - self._arrived_s
            is_stalled = self._left_bytes > 0 and still_s >= _SECONDS_BETWEEN_LINES
            rate = max(self._moved_bytes - self._bytes_at_last_line, 0) / elapsed_s
            stalled = f"stalled for {format_duration(still_s)}" if is_stalled else ""
            self._write(rate, stalled or self._left_in_words(rate), note)
            self._last_line_s, self._bytes_at_last_line = now, self._moved_bytes

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        elapsed_s = self._monotonic() - self._started_s
        rate = self._moved_bytes / elapsed_s if elapsed_s >= _LEAST_RATED_S else 0.0
        # it has ended, complete or not: nothing is left that will arrive
        self._write(rate, "" if kind is None else "stopped")

    @property
    def _moved_bytes(self) -> int:
        return self._done_bytes - self._skipped_bytes

    @property
    def _left_bytes(self) -> int:
        return 0 if self._total_bytes is None else self._total_bytes - self._done_bytes

    def _left_in_words(self, rate: float) -> str:
        return f"{format_duration(self._left_bytes / rate)} left" if rate > 0 and self._left_bytes > 0 else ""

    def _write(self, rate: float, *notes: str) -> None:
        if self._total_bytes == 0 and not any(notes):
            return  # only leaders change, so no bytes are reported
        of_all = "" if self._total_bytes is None else f" of {format_bytes(self._total_bytes)}"
        done = f"{self._what}: {format_bytes(self._done_bytes)}{of_all}"
        rated = format_rate(rate) if rate > 0 else ""
        print(", ".join(filter(None, (done, rated, *notes))), file=self._stream, flush=True)
