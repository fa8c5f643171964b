"""The report of ``rebalance status``: a run as the cluster shows it."""

from __future__ import annotations

from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.run_status import RunStatus
from kafkabal.reporting.report import Column, Fact, Kind, Report, Table, Tone

_SHOWN = 20
_MOVING = (Stage.MOVING, Stage.ASTRAY, Stage.COPYING)


def status_report(status: RunStatus | None) -> Report:
    """What is true of the latest run; None where none is known."""
    if status is None:
        return Report(command="rebalance status", headline="no run is known on this cluster", tone=Tone.GOOD)
    record, state = status.found.record, status.found.state
    moving = sum(status.stages[stage] for stage in _MOVING)
    return Report(
        command="rebalance status",
        headline=_headline(status, moving),
        tone=Tone.GOOD if status.is_settled else Tone.WARNING,
        facts=(
            Fact(key="run_id", value=record.run_id, title="run"),
            Fact(key="plan_id", value=record.plan_id, title="plan"),
            Fact(key="started_at", value=record.started_at, title="begun"),
            Fact(key="host", value=record.host, title="on host"),
            Fact(key="goal", value=state.goal.value, title="goal"),
            Fact(key="phase", value=state.phase.value, title="phase written down"),
            Fact(key="outcome", value=state.outcome.value if state.outcome else None),
            Fact(key="planned_partitions", value=len(record.partitions)),
            Fact(key="stages", value={stage.value: count for stage, count in sorted(status.stages.items())}),
            Fact(key="throttles", value=list(status.throttles)),
            Fact(key="other_reassignments", value=status.foreign),
            Fact(key="journal", value=str(status.found.journal.path) if status.found.journal else None),
        ),
        tables=(_differing(status),) if status.differing else (),
        notes=_notes(status),
    )


def _headline(status: RunStatus, moving: int) -> str:
    run = f"run {status.found.record.run_id}"
    if status.is_settled:
        return f"{run} is done: every partition is as wanted, and no throttle is left"
    parts = [f"{len(status.differing)} of {len(status.found.record.partitions)} partitions differ from what is wanted"]
    if moving:
        parts.append(f"{moving} are moving")
    if status.throttles:
        parts.append(f"{len(status.throttles)} of its throttles are set")
    return f"{run}: {', '.join(parts)}"


def _notes(status: RunStatus) -> tuple[str, ...]:
    notes = [f"still set: {throttle}" for throttle in status.throttles[:_SHOWN]]
    if not status.is_settled:
        notes.append("go on with 'kafkabal rebalance resume', or undo it with 'kafkabal rebalance rollback'")
    return tuple(notes)


def _differing(status: RunStatus) -> Table:
    rows = status.differing
    return Table(
        key="differing",
        shown_rows=_SHOWN,
        columns=(
            Column(key="partition", title="partition", values=[r.name for r in rows], label=True),
            Column(key="stage", title="stage", values=[r.stage.value for r in rows]),
            Column(key="wanted", title="wanted on", values=[_list(r.target) for r in rows]),
            Column(key="found", title="is on", values=[_list(r.found) for r in rows]),
            Column(key="leader", title="led by", kind=Kind.NUMBER, values=[r.leader for r in rows]),
            Column(key="arrived_bytes", title="arrived", kind=Kind.BYTES, values=[r.arrived_bytes for r in rows]),
        ),
    )


def _list(brokers: tuple[int, ...]) -> str:
    return ",".join(map(str, brokers))
