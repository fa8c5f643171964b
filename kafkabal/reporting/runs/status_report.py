"""The report of ``rebalance status``: a run as the cluster shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from kafkabal.executor import Goal, PartitionState, Phase, RunStatus, Stage
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.reporting.runs.result_report import STAYS_WITH_OTHER_TOOL
from kafkabal.units import format_bytes, format_duration, format_rate
from kafkabal.wording import counted_noun

_SHOWN = 20
"""Rows: with headline and header they fill a terminal of 24 lines."""
_MOVING = (Stage.MOVING, Stage.WRONG_TARGET, Stage.COPYING)


def status_report(status: RunStatus | None) -> Report:
    """The state of the latest run; None if there is none."""
    if status is None:
        return Report(
            command="rebalance status",
            headline="no run found for this cluster",
            tone=Tone.GOOD,
            facts=[Fact(key=fact.key, value=None) for fact in _FACTS],
            tables=(_differing(()),),
        )
    moving = sum(status.stages[stage] for stage in _MOVING)
    return Report(
        command="rebalance status",
        headline=_headline(status, moving),
        tone=Tone.GOOD if status.is_as_planned else Tone.WARNING,
        facts=[Fact(key=fact.key, value=fact.value_of(status), title=fact.title, kind=fact.kind) for fact in _FACTS],
        tables=(_differing(status.differing),),
        notes=_notes(status),
    )


@dataclass(frozen=True, slots=True)
class _RunFact:
    """One value about a run; None if there is no run."""

    key: str
    title: str
    value_of: Callable[[RunStatus], Any]
    kind: ValueKind = ValueKind.TEXT


_FACTS: Final = (
    _RunFact("run_id", "", lambda status: status.found.record.run_id),
    _RunFact("plan_id", "plan", lambda status: status.found.record.plan_id),
    _RunFact("started_at", "started", lambda status: status.found.record.started_at, ValueKind.TIME),
    _RunFact("host", "host", lambda status: status.found.record.host),
    _RunFact("goal", "goal", lambda status: status.found.state.goal.value),
    _RunFact("phase", "phase", lambda status: status.found.state.phase.value),
    _RunFact("outcome", "", lambda status: status.found.state.outcome.value if status.found.state.outcome else None),
    _RunFact("lock_holder", "lock held by", lambda status: status.holder),
    _RunFact("done_bytes", "", lambda status: status.done_bytes),
    _RunFact("total_bytes", "", lambda status: status.total_bytes),
    _RunFact("bytes_per_s", "", lambda status: status.bytes_per_s),
    _RunFact("left_s", "", lambda status: status.left_s),
    _RunFact("batches", "", lambda status: status.found.state.batches),
    _RunFact("planned_partitions", "", lambda status: len(status.found.record.partitions)),
    _RunFact("stages", "", lambda status: {stage.value: count for stage, count in sorted(status.stages.items())}),
    _RunFact("throttles", "", lambda status: list(status.throttles)),
    _RunFact("unknown_throttles", "", lambda status: list(status.unknown_throttles)),
    _RunFact("other_reassignments", "", lambda status: status.foreign),
    _RunFact("journal", "", lambda status: str(status.found.journal.path) if status.found.journal else None),
)


def _headline(status: RunStatus, moving: int) -> str:
    run = f"run {status.found.record.run_id}"
    if status.is_live:
        return f"{run}: {progress_line(status)}"
    if status.is_as_planned:
        return f"{run}: {_as_planned(status)}, no throttles left"
    of_all = f"of {counted_noun(len(status.found.record.partitions), 'partition')}"
    stages = Counter(partition.stage for partition in status.differing)
    led_elsewhere, unseen = stages[Stage.PLACED], stages[Stage.LOG_DIR_UNKNOWN]
    elsewhere = stages.total() - led_elsewhere - unseen
    parts = []
    if status.found.is_resumable:
        parts += [f"{elsewhere:,} {of_all} not in place"] if elsewhere else []
        parts += [_in_place(status)] if not elsewhere and not unseen else []
        parts += [f"{led_elsewhere:,} not led as planned"] if led_elsewhere else []
    else:
        parts += [_as_planned(status) if not status.differing else "completed"]
        parts += [f"{elsewhere:,} {of_all} moved since"] if elsewhere else []
        parts += [f"{led_elsewhere:,} led by another broker since"] if led_elsewhere else []
    # the right brokers hold them, but one of them does not respond
    parts += [f"log dirs of {unseen:,} {of_all} unknown"] if unseen else []
    if moving:
        parts.append(f"{moving:,} in flight")
    if status.throttles:
        parts.append(f"{counted_noun(len(status.throttles), 'throttle')} set")
    if status.unknown_throttles:
        kinds = Counter(unknown.split()[0] for unknown in status.unknown_throttles)
        parts.append(f"throttles of {' and '.join(counted_noun(n, kind) for kind, n in kinds.items())} unknown")
    return f"{run}: {', '.join(parts)}"


def _as_planned(status: RunStatus) -> str:
    """How a run ended that has left no partition elsewhere."""
    return _in_place(status) if status.found.state.goal is Goal.CANCEL else f"completed; {_in_place(status)}"


def _in_place(status: RunStatus) -> str:
    """Where the partitions are if none is elsewhere; a cancelled run leaves them wherever they were."""
    if status.found.state.goal is Goal.CANCEL:
        return "cancelled; nothing in flight"
    gone, count = status.stages[Stage.GONE], len(status.found.record.partitions)
    if not gone:
        return "all partitions in place"
    return f"{count - gone:,} of {counted_noun(count, 'partition')} in place, {gone:,} deleted with their topics"


def progress_line(status: RunStatus) -> str:
    """Progress of a live run: ``moving, 45% of 10 GiB, 50 MiB/s, 3 min left; 8 partitions in flight, 12 waiting``."""
    phase = status.found.state.phase.value
    parts = [phase]
    if status.total_bytes:
        percent = f"{100 * status.done_bytes / status.total_bytes:.0f}%"
        parts.append(f"{percent} of {format_bytes(status.total_bytes)}")
        # only copies between brokers are measured: of those between log dirs, it would be 0 B/s
        parts += [format_rate(status.bytes_per_s)] if status.bytes_per_s is not None else []
    if status.left_s is not None:
        parts.append(f"{format_duration(status.left_s)} left")
    moving = sum(status.stages[stage] for stage in _MOVING)
    waiting = status.stages[Stage.WAITING] + status.stages[Stage.MISPLACED]
    return f"{', '.join(parts)}; {counted_noun(moving, 'partition')} in flight, {waiting:,} waiting"


def _notes(status: RunStatus) -> tuple[str, ...]:
    found = status.found
    if status.is_live:
        # its throttles are expected: listing each would hide what the run does
        in_force = f"{counted_noun(len(status.throttles), 'throttle config')} set until the run ends, listed by -o json"
        notes = [in_force] if status.throttles else []
        if found.state.phase is Phase.PAUSED:
            window = found.record.options.window
            opens = "" if window is None else f"when its window opens ({window}), or if a command paused it, "
            notes.append(f"paused: continues {opens}with 'kafkabal rebalance resume'")
        return (*notes, "'kafkabal rebalance pause', 'cancel' and 'throttle RATE' reach the run from any host")
    notes = [f"still set: {throttle}" for throttle in status.throttles[:_SHOWN]]
    notes += [f"throttles unknown: {broker}" for broker in status.unknown_throttles[:_SHOWN]]
    if status.why_holder_unknown:
        notes.append(f"unknown whether a process works on it: {status.why_holder_unknown}")
    if status.is_as_planned:
        return tuple(notes)
    if found.is_resumable:
        return (*notes, _how_to_continue(status))
    if not status.differing:
        return (*notes, "the run completed; restore its throttles with 'kafkabal rebalance repair'")
    if all(partition.stage is Stage.LOG_DIR_UNKNOWN for partition in status.differing):
        return (*notes, "the run completed; a broker that does not respond hides whether log dirs have changed since")
    run_id = found.record.run_id
    to_roll_back = f"to roll it back: 'kafkabal rebalance rollback {run_id}'"
    return (*notes, f"the run completed; partitions have changed since; {to_roll_back}")


def _how_to_continue(status: RunStatus) -> str:
    """What to type next about a run that has not done everything."""
    stays = all(partition.stage is Stage.FOREIGN for partition in status.differing)
    is_in_vain = bool(status.differing) and stays and not status.throttles and not status.unknown_throttles
    next_step = STAYS_WITH_OTHER_TOOL if is_in_vain else "continue with 'kafkabal rebalance resume'"
    if status.found.state.goal is Goal.ROLL_BACK:
        return next_step
    return f"{next_step}, or revert {'the rest ' if is_in_vain else ''}with 'kafkabal rebalance rollback'"


def _differing(found: Sequence[PartitionState]) -> Table:
    """Reassignments in flight first, partitions that only have another leader last: few rows are shown."""
    rows = sorted(found, key=lambda row: (row.stage is Stage.PLACED, row.stage not in _MOVING))
    return Table(
        key="differing",
        shown_rows=_SHOWN,
        columns=(
            Column(key="partition", title="partition", values=[r.name for r in rows], label=True),
            Column(key="stage", title="stage", values=[r.stage.value for r in rows]),
            Column(key="target_replicas", title="target brokers", values=[list(r.target) for r in rows]),
            Column(key="current_replicas", title="current brokers", values=[list(r.found) for r in rows]),
            Column(key="leader", title="leader", kind=ValueKind.ID, values=[r.leader for r in rows]),
            Column(key="arrived_bytes", title="arrived", kind=ValueKind.BYTES, values=[r.arrived_bytes for r in rows]),
        ),
    )
