"""The bar of a long transfer on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.units import format_bytes, format_rate


class BarProgress:
    """A bar with bytes, rate, time left and a note; without bar and time left if the total is unknown."""

    def __init__(
        self,
        what: str,
        total_bytes: int | None,
        *,
        surface: OutputCapabilities,
        stream: TextIO,
        monotonic: Callable[[], float],
    ) -> None:
        console = Console(
            file=stream,
            width=surface.width,
            no_color=not surface.colour,
            force_terminal=True,
            highlight=False,
        )
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            *_columns(is_end_known=total_bytes is not None),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            get_time=monotonic,
        )
        self._task = self._bar.add_task(what, total=total_bytes, done="", note="")
        self._skipped_bytes = 0

    def __enter__(self) -> BarProgress:
        self._bar.start()
        return self

    def update(
        self, done_bytes: int, *, total_bytes: int | None = None, skipped_bytes: int = 0, note: str = ""
    ) -> None:
        """See :meth:`kafkabal.reporting.transfer_progress.TransferProgress.update`."""
        # bypasses the bar's own update, which would include these bytes in the rate
        self._bar.tasks[0].completed += skipped_bytes - self._skipped_bytes
        self._skipped_bytes = skipped_bytes
        self._bar.update(self._task, completed=done_bytes, total=total_bytes, done=format_bytes(done_bytes), note=note)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()


def _columns(*, is_end_known: bool) -> Iterator[ProgressColumn]:
    if not is_end_known:
        yield TextColumn("{task.fields[done]}", markup=False)
        yield _Rate()
        return
    yield BarColumn(bar_width=None)
    yield DownloadColumn(binary_units=True)
    yield _Rate()
    yield TimeRemainingColumn(compact=True)


class _Rate(ProgressColumn):
    """The rate in our usual units."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else format_rate(rate))
