"""One frame of the live view: exactly as many lines as the terminal has, none wider than it is.

From the top: cluster and time, the verdict, brokers against their bands, moves in flight, events. If there are too few
lines, each section keeps what matters most: the worst brokers, the longest moves, the latest events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, tzinfo
from typing import Final

from rich.text import Text

from kafkabal.inspection import Inspection, Severity, judge
from kafkabal.printable import printable
from kafkabal.reporting.draw_columns import STYLES
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.reporting.inspection.inspection_report import holder_table
from kafkabal.reporting.output_capabilities import OutputCapabilities
from kafkabal.reporting.render_table import draw, table_lines
from kafkabal.reporting.report import Column, Table, Tone, ValueKind
from kafkabal.units import format_bytes, format_duration, format_rate
from kafkabal.watch import LiveEvent, LiveReading, MoveInFlight, MovesInFlight
from kafkabal.wording import counted_noun

_TONES: Final = {Severity.BALANCED: Tone.GOOD, Severity.IMBALANCED: Tone.WARNING, Severity.BROKEN: Tone.BAD}
_EVENT_STYLES: Final = {True: STYLES[Tone.GOOD], False: STYLES[Tone.BAD], None: ""}
_LEAST_LINES: Final = 5
"""Of a section that has more: a blank one, headings, and what matters most of it."""
_HEADING_LINES: Final = 2
"""A blank one and the titles of columns, above the rows of holders."""


class LiveFrames:
    """Creates frames for one cluster; computes each reading only once.

    Parameters
    ----------
    name
        The name of the cluster.
    zone
        Time zone to show times in; None for that of this host.
    """

    def __init__(self, name: str, by: Grouping, surface: OutputCapabilities, zone: tzinfo | None = None) -> None:
        self._name, self._by, self._surface, self._zone = name, by, surface, zone
        self._inspection: Inspection | None = None
        self._holders: Table | None = None
        self._verdict = Text("reading the cluster")

    def frame(self, reading: LiveReading, columns: int, lines: int) -> list[str]:
        """The lines for a terminal of this size, from the top: exactly as many as it has, with colours."""
        surface = replace(self._surface, width=columns)
        self._take(reading.inspection)
        top = self._top_lines(reading, surface)
        sections = (
            self._holder_lines(surface, lines),
            _move_lines(reading.moves, surface, lines),
            self._event_lines(reading.events[-lines:], surface),
        )
        rows = shared_lines([len(section) for section in sections], lines - len(top) - 1)
        holders, moves, events = sections
        # the latest events are at the end
        body = [
            *self._cut(holders, rows[0], surface),
            *moves[: rows[1]],
            *events[:1],
            *events[1:][len(events) - rows[2] :],
        ]
        kept = [*top, *body][: max(lines - 1, 1)]
        foot = _line("q to quit", surface, STYLES[Tone.FAINT])
        return [*kept, *[""] * (lines - 1 - len(kept)), foot][:lines]

    def _take(self, inspection: Inspection | None) -> None:
        if inspection is None or inspection is self._inspection:
            return
        verdict = judge(inspection)
        self._inspection, self._holders = inspection, holder_table(inspection, self._by)
        self._verdict = Text(self._surface.shown(printable(verdict.sentence)), STYLES[_TONES[verdict.severity]])

    def _top_lines(self, reading: LiveReading, surface: OutputCapabilities) -> list[str]:
        head = _line("  ".join([self._name, *self._ages(reading)]), surface, "bold")
        # the events report it too, but scroll away
        problem = [_line(reading.problem, surface, STYLES[Tone.BAD])] if reading.problem else []
        return [head, *problem, *draw(self._verdict, surface)]

    def _ages(self, reading: LiveReading) -> list[str]:
        """When the shown data was read, not when it is drawn: that is later, especially if a broker hangs."""
        if reading.at_s is None:
            return []
        sizes = f", sizes of {self._time(reading.read_at_s)}" if reading.inspection is not None else ""
        return [self._time(reading.at_s), f"{counted_noun(len(reading.registered), 'registered broker')}{sizes}"]

    def _holder_lines(self, surface: OutputCapabilities, lines: int) -> list[str]:
        if self._holders is None:
            return []
        return ["", *table_lines(replace(self._holders, shown_rows=lines), surface)[0]]

    def _cut(self, holder_lines: list[str], lines: int, surface: OutputCapabilities) -> list[str]:
        """The first ones, and how many rows that leaves out, or on a low terminal they would seem to be all."""
        kept = holder_lines[:lines]
        if self._holders is None or len(holder_lines) <= lines or lines < _LEAST_LINES:
            return kept
        hidden = self._holders.n_rows - (lines - 1 - _HEADING_LINES)
        return [*kept[:-1], _line(f"and {hidden:,} more", surface, STYLES[Tone.FAINT])]

    def _event_lines(self, events: Sequence[LiveEvent], surface: OutputCapabilities) -> list[str]:
        if not events:
            return []
        return ["", *(_line(f"{self._time(e.at_s)}  {e.message}", surface, _EVENT_STYLES[e.is_good]) for e in events)]

    def _time(self, at_s: float) -> str:
        return datetime.fromtimestamp(at_s).astimezone(self._zone).strftime("%H:%M:%S")


def shared_lines(wanted: Sequence[int], lines: int) -> list[int]:
    """Lines for each section: all it wants if there is room, or else a few each, and the rest for the first
    sections."""
    given = [min(each, _LEAST_LINES) for each in wanted]
    for i in reversed(range(len(given))):
        given[i] = max(0, min(given[i], given[i] + lines - sum(given)))
    for i, each in enumerate(wanted):
        given[i] += max(0, min(each - given[i], lines - sum(given)))
    return given


def _move_lines(moves: MovesInFlight, surface: OutputCapabilities, lines: int) -> list[str]:
    if not moves.partitions:
        return []
    texts = ["", _line(_moves_headline(moves), surface)]
    if moves.moves:
        texts += table_lines(_moves_table(moves.moves[:lines]), surface)[0]
    return texts


def _moves_headline(moves: MovesInFlight) -> str:
    """``12 reassignments in flight: 45% of 10 GiB, 50 MiB/s, 3 min 20 s left``."""
    total = sum(move.total_bytes for move in moves.moves)
    copied = sum(min(move.copied_bytes, move.total_bytes) for move in moves.moves)
    rate = sum(move.bytes_per_s or 0.0 for move in moves.moves)
    parts = [f"{copied / total:.0%} of {format_bytes(total)}"] if total else []
    if rate:
        parts += [format_rate(rate), f"{format_duration((total - copied) / rate)} left"]
    if moves.unmeasured and moves.moves:
        parts.append(f"{moves.unmeasured:,} not measured")
    text = f"{counted_noun(len(moves.partitions), 'reassignment')} in flight"
    return f"{text}: {', '.join(parts)}" if parts else text


def _moves_table(moves: Sequence[MoveInFlight]) -> Table:
    return Table(
        key="moves",
        columns=(
            Column(
                key="partition",
                title="partition",
                values=[f"{move.replica.topic}-{move.replica.partition}" for move in moves],
            ),
            Column(key="to", title="to", kind=ValueKind.ID, values=[move.replica.broker for move in moves]),
            Column(
                key="copied", title="copied", kind=ValueKind.PERCENT, values=[move.copied_fraction for move in moves]
            ),
            Column(
                key="bar",
                title=" ",
                kind=ValueKind.FAIR_BAR,
                dispensable=3,
                values=[move.copied_fraction for move in moves],
            ),
            Column(key="total", title="of", kind=ValueKind.BYTES, values=[move.total_bytes or None for move in moves]),
            Column(key="rate", title="rate", kind=ValueKind.RATE, values=[move.bytes_per_s for move in moves]),
            Column(key="left", title="left", kind=ValueKind.DURATION, values=[move.left_s for move in moves]),
        ),
    )


def _line(text: str, surface: OutputCapabilities, style: str = "") -> str:
    """One line, cut at the width of the terminal."""
    line = Text(surface.shown(printable(text)), style)
    line.truncate(surface.width or line.cell_len, overflow="ellipsis" if surface.unicode else "crop")
    return "".join(draw(line, surface))
