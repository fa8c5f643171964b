"""The bar of a long transfer on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

if TYPE_CHECKING:
    from types import TracebackType
    from typing import TextIO

    from kafkabal.reporting.surface import Surface


class BarProgress:
    """A bar with bytes, rate and time left, and a note below the name."""

    def __init__(self, what: str, total_bytes: int, *, surface: Surface, stream: TextIO) -> None:
        console = Console(
            file=stream,
            width=surface.width,
            no_color=not surface.colour,
            force_terminal=True,
            highlight=False,
        )
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            DownloadColumn(binary_units=True),
            TransferSpeedColumn(),
            TimeRemainingColumn(compact=True),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
        )
        self._task = self._bar.add_task(what, total=total_bytes, note="")

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def update(self, done_bytes: int, *, total_bytes: int | None = None, note: str = "") -> None:
        """See :meth:`kafkabal.reporting.progress.Progress.update`."""
        self._bar.update(self._task, completed=done_bytes, total=total_bytes, note=note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()
