"""The result of a simulated watch: promises, healings and events."""

from __future__ import annotations

from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.units import DAY_S, format_bytes
from kafkabal.watch import SimulationResult
from kafkabal.wording import counted_noun

_SHOWN_ROWS = 40
"""Of months of events the first are enough to see the pattern; JSON has all."""


def watch_simulation_report(result: SimulationResult) -> Report:
    """Healings first, for programs that read a single table."""
    broken = [promise for promise in result.promises if not promise.is_kept]
    outcome = f"broken: {', '.join(promise.name for promise in broken)}" if broken else "every promise kept"
    headline = (
        f"{counted_noun(round(result.days), 'day')}, {counted_noun(len(result.events), 'event')}, "
        f"{counted_noun(len(result.healings), 'healing')}, "
        f"{format_bytes(result.moved_bytes)} copied: {outcome}"
    )
    return Report(
        command="rebalance simulate",
        headline=headline,
        tone=Tone.BAD if broken else Tone.GOOD,
        facts=(
            Fact(key="days", value=result.days),
            Fact(key="observations", value=result.observations),
            Fact(key="moved_bytes", value=result.moved_bytes, kind=ValueKind.BYTES),
            Fact(key="hindsight_bytes", value=result.hindsight_bytes, kind=ValueKind.BYTES),
            Fact(key="in_band_fraction", value=result.in_band_fraction),
            Fact(key="moved_twice", value=result.moved_twice),
            Fact(key="steady_state_actions", value=result.steady_state_actions),
        ),
        tables=(_healings(result), _promises(result), _events(result)),
    )


def _healings(result: SimulationResult) -> Table:
    healings = result.healings
    return Table(
        key="healings",
        title="healings",
        shown_rows=_SHOWN_ROWS,
        columns=(
            Column(key="day", title="day", values=[round(h.at_s / DAY_S, 3) for h in healings], label=True),
            Column(key="healing", title="what", values=[str(h.kind) for h in healings]),
            Column(key="reason", title="why", values=[h.reason for h in healings], wraps=True),
            Column(
                key="partitions",
                title="partitions",
                values=[len(h.plan.partitions) if h.plan is not None else 0 for h in healings],
                kind=ValueKind.NUMBER,
            ),
            Column(key="moved_bytes", title="copied", values=[h.moved_bytes for h in healings], kind=ValueKind.BYTES),
            Column(
                key="duration_s",
                title="took",
                values=[round(h.ended_at_s - h.at_s, 1) for h in healings],
                kind=ValueKind.DURATION,
            ),
            Column(key="outcome", title="outcome", values=[h.outcome for h in healings], wraps=True),
        ),
    )


def _promises(result: SimulationResult) -> Table:
    promises = result.promises
    return Table(
        key="promises",
        title="promises",
        columns=(
            Column(key="promise", title="promise", values=[p.name for p in promises], label=True, wraps=True),
            Column(key="found", title="measured", values=[p.found for p in promises], wraps=True),
            Column(key="limit", title="limit", values=[p.limit for p in promises]),
            Column(key="kept", title="", values=[p.is_kept for p in promises]),
            Column(
                key="kept_in_words",
                title="kept",
                values=["yes" if p.is_kept else "no" for p in promises],
                for_people=True,
            ),
        ),
    )


def _events(result: SimulationResult) -> Table:
    events = result.events
    return Table(
        key="events",
        title="events",
        shown_rows=_SHOWN_ROWS,
        columns=(
            Column(key="at", title="at", kind=ValueKind.TIME, values=[e.at for e in events], label=True),
            Column(key="event", title="event", values=[str(e.event) for e in events]),
            Column(key="message", title="message", values=[e.message for e in events], wraps=True),
        ),
    )
