"""The report of a plan: who sends what to whom, and what it does to the scores."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kafkabal.reporting.report import Column, Fact, Kind, Report, Table
from kafkabal.units import format_bytes

if TYPE_CHECKING:
    from kafkabal.plan.plan import PartitionChange, Plan

_SHOWN_PAIRS = 20


def plan_report(plan: Plan, command: str) -> Report:
    """What a plan changes: moves by pair of brokers, bytes by broker, scores before and after, and the bound."""
    return Report(
        command=command,
        headline=_headline(plan),
        facts=(
            Fact(key="plan_id", value=plan.plan_id, title="plan"),
            Fact(key="partitions", value=len(plan.partitions)),
            Fact(key="moved_bytes", value=plan.moved_bytes),
            Fact(key="log_dir_bytes", value=plan.log_dir_bytes),
            Fact(key="bound_bytes", value=plan.bound_bytes, title="no plan moves less than", kind=Kind.BYTES),
        ),
        tables=tuple(t for t in (_pairs(plan), _brokers(plan), _scores(plan)) if t.n_rows),
        notes=plan.warnings,
    )


def _headline(plan: Plan) -> str:
    if not plan.partitions:
        return "nothing to do: every score is inside its band"
    within = f", {format_bytes(plan.log_dir_bytes)} between log dirs" if plan.log_dir_bytes else ""
    return f"{len(plan.partitions)} partitions change, {format_bytes(plan.moved_bytes)} between brokers{within}"


def _pairs(plan: Plan) -> Table:
    """Moves by broker that loses a copy and broker that gets one; a copy more comes from no broker."""
    moves: Counter[tuple[int | None, int]] = Counter()
    sizes: Counter[tuple[int | None, int]] = Counter()
    for change in plan.partitions:
        for pair in _pairs_of(change):
            moves[pair] += 1
            sizes[pair] += change.bytes // len(change.adding)
    pairs = sorted(moves, key=lambda p: -sizes[p])
    return Table(
        key="moves",
        title="moves",
        shown_rows=_SHOWN_PAIRS,
        columns=(
            Column(key="from_broker", title="from broker", kind=Kind.NUMBER, values=[p[0] for p in pairs], label=True),
            Column(key="to_broker", title="to broker", kind=Kind.NUMBER, values=[p[1] for p in pairs], label=True),
            Column(key="replicas", title="replicas", kind=Kind.NUMBER, values=[moves[p] for p in pairs]),
            Column(key="bytes", title="bytes", kind=Kind.BYTES, values=[sizes[p] for p in pairs]),
        ),
    )


def _pairs_of(change: PartitionChange) -> list[tuple[int | None, int]]:
    if change.previous is None:
        return []
    leaving = [*change.removing, *[None] * len(change.adding)]
    return list(zip(leaving, change.adding, strict=False))


def _brokers(plan: Plan) -> Table:
    arriving: Counter[int] = Counter()
    leaving: Counter[int] = Counter()
    for change in plan.partitions:
        if change.previous is not None and change.adding:
            size = change.bytes // len(change.adding)
            arriving.update(dict.fromkeys(change.adding, size))
            leaving.update(dict.fromkeys(change.removing, size))
    ids = sorted(arriving.keys() | leaving.keys())
    return Table(
        key="brokers",
        title="brokers",
        columns=(
            Column(key="broker", title="broker", kind=Kind.NUMBER, values=ids, label=True),
            Column(key="bytes_in", title="comes", kind=Kind.BYTES, values=[arriving[b] for b in ids]),
            Column(key="bytes_out", title="leaves", kind=Kind.BYTES, values=[leaving[b] for b in ids]),
        ),
    )


def _scores(plan: Plan) -> Table:
    names = list(plan.scores)

    def column(key: str, title: str, when: str, figure: str, kind: Kind = Kind.SHARE) -> Column:
        values = [getattr(plan.scores[name], when).get(figure) for name in names]
        return Column(key=key, title=title, kind=kind, values=values)

    return Table(
        key="scores",
        title="scores",
        columns=(
            Column(key="score", title="score", values=names, label=True),
            column("skew_before", "skew before", "before", "skew"),
            column("skew_after", "after", "after", "skew"),
            column("outside_before", "outside band before", "before", "outside", Kind.NUMBER),
            column("outside_after", "after", "after", "outside", Kind.NUMBER),
        ),
    )
