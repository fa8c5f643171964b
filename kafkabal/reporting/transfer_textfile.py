"""Progress of sending or reading, as a Prometheus textfile that is kept up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from kafkabal.isolated_listeners import BackgroundListener
from kafkabal.reporting.textfile_writer import TextfileWriter, is_due


@dataclass(frozen=True, slots=True)
class _Extent:
    """The progress of a transfer."""

    records: int = 0
    size_bytes: int = 0
    is_running: bool = True
    has_succeeded: bool = False


class TransferTextfile:
    """Keeps a textfile up to date in a ``with`` block, whose end records whether the transfer succeeded.

    A separate thread writes it: a folder that hangs or is full delays nothing, and causes one warning.

    Parameters
    ----------
    path
        None writes no file.
    command
        Part of the names of the metrics: ``produce`` or ``read``.
    labels, wall_clock, warn
        See :class:`~kafkabal.reporting.textfile_writer.TextfileWriter`.
    """

    def __init__(
        self,
        path: Path | None,
        command: str,
        labels: Mapping[str, str],
        wall_clock: Callable[[], float],
        warn: Callable[[str], None],
    ) -> None:
        self._extent, self._wall_clock, self._written_s = _Extent(), wall_clock, float("-inf")
        self._writer: BackgroundListener[_Extent] | None = None
        if path is not None:
            self._writer = BackgroundListener(
                _ExtentWriter(TextfileWriter(path, labels, wall_clock, warn), f"kafkabal_{command}"),
                is_passing=lambda extent: extent.is_running,
                on_failure=lambda error: warn(f"cannot write {path}: {error}"),
            )

    def update(self, records: int, size_bytes: int) -> None:
        """Set how many records and bytes this run has transferred so far; may be called for each record."""
        if self._writer is None:
            return
        self._extent = replace(self._extent, records=records, size_bytes=size_bytes)
        now_s = self._wall_clock()
        if is_due(now_s, self._written_s):
            self._written_s = now_s
            self._writer.on_event(self._extent)

    def __enter__(self) -> Self:
        self.update(0, 0)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._writer is not None:
            self._writer.on_event(replace(self._extent, is_running=False, has_succeeded=kind is None))
            self._writer.close()


class _ExtentWriter:
    """Writes each extent it receives."""

    def __init__(self, file: TextfileWriter, prefix: str) -> None:
        self._file, self._prefix = file, prefix

    def on_event(self, event: _Extent) -> None:
        """Write the extent."""
        gauges = (
            ("running", "1 while the command runs.", event.is_running),
            ("records", "Records transferred by the last run.", event.records),
            ("bytes", "Bytes transferred by the last run.", event.size_bytes),
            ("success", "1 if the last run completed.", event.has_succeeded),
            ("last_update_timestamp_seconds", "When this was written.", self._file.wall_clock()),
        )
        self._file.write((f"{self._prefix}_{name}", meaning, value) for name, meaning, value in gauges)
