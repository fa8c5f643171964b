"""The bar of a long transfer on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Final, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.units import format_bytes, format_rate

_LEAST_BAR: Final = 5
"""Columns: a shorter bar tells less than the bytes beside it."""


class BarProgress:
    """A bar with bytes, rate, time left and a note; without bar and time left if the total is unknown.

    It is one line on a terminal of any width: if that is too narrow, the bar is left out, then the note, the time left
    and the rate.
    """

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
            _OneLine(is_end_known=total_bytes is not None),
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


class _OneLine(ProgressColumn):
    """All parts of the display."""

    def __init__(self, *, is_end_known: bool) -> None:
        super().__init__()
        self._what = TextColumn("{task.description}", markup=False)
        self._bar = BarColumn(bar_width=None) if is_end_known else None
        self._details: tuple[ProgressColumn, ...] = (
            *((DownloadColumn(binary_units=True),) if is_end_known else (_Done(),)),
            _Rate(),
            *((TimeRemainingColumn(compact=True),) if is_end_known else ()),
            TextColumn("{task.fields[note]}", markup=False),
        )

    def render(self, task: Task) -> _Line:
        details = [text for column in self._details if isinstance(text := column(task), Text) and text]
        bar = None if self._bar is None else self._bar.render(task)
        return _Line(self._what.render(task), bar, details)


@dataclass(frozen=True, slots=True)
class _Line:
    """The parts of which as many are drawn as fit."""

    what: Text
    bar: ProgressBar | None
    details: Sequence[Text]
    """Most important first."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        texts = [self.what, *self.details]
        while len(texts) > 2 and _room_beside(texts, options.max_width) < 0:
            texts.pop()
        bar_width = _room_beside(texts, options.max_width) - 1
        row = Table.grid(padding=(0, 1), pad_edge=False)
        if self.bar is None or bar_width < _LEAST_BAR:
            row.add_row(*texts)
        else:
            self.bar.width = bar_width
            row.add_row(self.what, self.bar, *texts[1:])
        for column in row.columns:
            column.no_wrap = True
        yield row


def _room_beside(texts: Sequence[Text], width: int) -> int:
    """Columns that are left beside texts with a blank between two of them."""
    return width - sum(text.cell_len for text in texts) - (len(texts) - 1)


class _Done(ProgressColumn):
    """The bytes of a transfer whose end is unknown."""

    def render(self, task: Task) -> Text:
        return Text(task.fields["done"])


class _Rate(ProgressColumn):
    """The rate in our usual units."""

    def render(self, task: Task) -> Text:
        rate = task.finished_speed or task.speed
        return Text("" if rate is None else format_rate(rate))
