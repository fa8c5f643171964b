"""The report of a plan: which partitions change, who sends what to whom, and the effect on the scores."""

from __future__ import annotations

from functools import partial

import numpy as np

from kafkabal.config import DEFAULT_PLAN_TOLERANCE
from kafkabal.model import I64
from kafkabal.plan import NO_BROKER, Plan, Traffic, plan_copy_s
from kafkabal.planner import BUDGETS
from kafkabal.reporting.plan_moves import BYTES_UNKNOWN, FIRST_MOVES, known_moved_bytes, moves_table
from kafkabal.reporting.report import Column, Fact, Report, ShareChart, Table, ValueKind
from kafkabal.reporting.tolerance_notes import rounding_note
from kafkabal.units import format_bytes, format_stated_rate
from kafkabal.wording import counted_noun

_SHOWN_PAIRS = 20
"""One screen, largest first."""


def plan_report(
    plan: Plan, command: str, shown_moves: int | None = FIRST_MOVES, *, throttle_bytes_per_s: int | None = None
) -> Report:
    """What a plan changes: partitions, traffic by pair of brokers, bytes by broker, scores before and after, the bound.

    Parameters
    ----------
    shown_moves
        How many partitions people see; programs see all.
    throttle_bytes_per_s
        Rate to predict the duration of copies between brokers with; None predicts none.
    """
    rate = throttle_bytes_per_s
    traffic = Traffic.of(plan)
    return Report(
        command=command,
        headline=_headline(plan),
        facts=(
            Fact(key="plan_id", value=plan.plan_id, title="plan"),
            Fact(key="partitions", value=len(plan.partitions)),
            Fact(key="moved_bytes", value=known_moved_bytes(plan)),
            Fact(key="log_dir_bytes", value=plan.log_dir_bytes),
            Fact(
                key="bound_bytes",
                value=plan.bound_bytes,
                title="" if plan.bound_bytes is None else "lower bound",
                kind=ValueKind.BYTES,
            ),
            Fact(
                key="cross_rack_bytes",
                value=plan.cross_rack_bytes,
                title="across racks" if plan.cross_rack_bytes else "",
                kind=ValueKind.BYTES,
            ),
            Fact(
                key="duration_s",
                value=None if rate is None else plan_copy_s(plan.partitions, rate),
                title="" if rate is None else f"copies between brokers at {format_stated_rate(rate)}",
                kind=ValueKind.DURATION,
            ),
        ),
        tables=(moves_table(plan.partitions, shown_moves), _pairs(traffic), _brokers(traffic), _scores(plan)),
        notes=(*plan.warnings, *_notes_on_rounding(plan)),
        charts=partial(_charts, plan),
    )


def _headline(plan: Plan) -> str:
    if not plan.partitions:
        return _nothing(plan)
    within = f", {format_bytes(plan.log_dir_bytes)} between log dirs" if plan.log_dir_bytes else ""
    count = len(plan.partitions)
    change = f"{counted_noun(count, 'partition')} {'changes' if count == 1 else 'change'}"
    moved_bytes = known_moved_bytes(plan)
    if moved_bytes is None:
        return f"{change}; {BYTES_UNKNOWN}"
    return f"{change}, {format_bytes(moved_bytes)} between brokers{within}"


def _nothing(plan: Plan) -> str:
    """Why a plan is empty: nothing can be repaired, or all is balanced, or no change within its scope improves it."""
    if plan.unrepaired:
        return "nothing to do: what is broken cannot be repaired now"
    outside = [name for name, change in plan.scores.items() if change.after.get("outside")]
    if not plan.scores:
        return "nothing to do: the plan contains no partition"
    if plan.options.get("mode") == "repair-only" and not plan.options.get("drain"):
        # the warnings may name what is broken all the same
        repair = "nothing to repair by moving replicas" if plan.warnings else "nothing to repair"
        return f"{repair}; outside their bands: {', '.join(outside)}" if outside else repair
    if not outside:
        return "nothing to do: all scores are inside their bands"
    if {"mode", "below"} & plan.options.keys():
        return f"nothing to do within the requested scope; still outside their bands: {', '.join(outside)}"
    within = " within the limits" if plan.options.keys() & set(BUDGETS) else ""
    return f"nothing to do: no change{within} improves the scores outside their bands: {', '.join(outside)}"


def _pairs(traffic: Traffic) -> Table:
    """Moves by losing and receiving broker; an additional copy comes from no broker."""
    span = int(traffic.target.max(initial=0)) + 1
    codes = traffic.source * span + traffic.target
    pairs, owner, replicas = np.unique(codes, return_inverse=True, return_counts=True)
    sizes = _sums(owner, traffic.bytes, len(pairs))
    order = np.argsort(-sizes, kind="stable")
    source, target = np.divmod(pairs[order], span)
    return Table(
        key="traffic",
        title="moves by broker",  # not traffic: copies come from leaders, and a dead broker sends nothing
        shown_rows=_SHOWN_PAIRS,
        columns=(
            Column(
                key="from_broker",
                title="from broker",
                kind=ValueKind.ID,
                values=[None if b == NO_BROKER else b for b in source.tolist()],
                label=True,
            ),
            Column(key="to_broker", title="to broker", kind=ValueKind.ID, values=target.tolist(), label=True),
            Column(key="replicas", title="replicas", kind=ValueKind.NUMBER, values=replicas[order].tolist()),
            Column(key="bytes", title="bytes", kind=ValueKind.BYTES, values=sizes[order].tolist(), dispensable=-1),
        ),
    )


def _brokers(traffic: Traffic) -> Table:
    ids, at = np.unique(np.concatenate((traffic.target, traffic.leaver)), return_inverse=True)
    comes, leaves = np.split(at, [len(traffic.target)])
    return Table(
        key="brokers",
        title="brokers",
        columns=(
            Column(key="broker", title="broker", kind=ValueKind.ID, values=ids.tolist(), label=True),
            Column(
                key="bytes_in", title="in", kind=ValueKind.BYTES, values=_sums(comes, traffic.bytes, len(ids)).tolist()
            ),
            Column(
                key="bytes_out",
                title="out",
                kind=ValueKind.BYTES,
                values=_sums(leaves, traffic.leaver_bytes, len(ids)).tolist(),
            ),
        ),
    )


def _sums(group: I64, value: I64, n_groups: int) -> I64:
    """int64, shape (n_groups,): exact sums by group."""
    sums = np.zeros(n_groups, np.int64)
    np.add.at(sums, group, value)
    return sums


def _notes_on_rounding(plan: Plan) -> tuple[str, ...]:
    """Which scores count as balanced although a share exceeds the tolerance."""
    tolerance = float(plan.options.get("tolerance", DEFAULT_PLAN_TOLERANCE))
    after = {name: change.after for name, change in plan.scores.items()}
    names = [n for n, figures in after.items() if figures.get("skew", 0.0) > tolerance and not figures.get("outside")]
    return rounding_note(names, tolerance)


def _charts(plan: Plan) -> tuple[ShareChart, ...]:
    """The fullest holder by each score, before and after."""
    names = [name for name, change in plan.scores.items() if "max" in change.before]
    if not names:
        return ()
    return (
        ShareChart(
            title="largest share by score, before and after",
            labels=names,
            shares=[plan.scores[name].after.get("max") for name in names],
            before=[plan.scores[name].before.get("max") for name in names],
            outside=[bool(plan.scores[name].after.get("outside")) for name in names],
        ),
    )


def _scores(plan: Plan) -> Table:
    names = list(plan.scores)

    def column(key: str, title: str, when: str, figure: str) -> Column:
        values = [getattr(plan.scores[name], when).get(figure) for name in names]
        return Column(key=key, title=title, kind=ValueKind.PERCENT, values=values)

    def count(key: str, title: str, when: str) -> Column:
        # a plan file stores all figures as floats
        values = [getattr(plan.scores[name], when).get("outside") for name in names]
        counts = [None if value is None else round(value) for value in values]
        return Column(key=key, title=title, kind=ValueKind.NUMBER, values=counts)

    return Table(
        key="scores",
        title="scores",
        columns=(
            Column(key="score", title="score", values=names, label=True),
            column("skew_before", "skew before", "before", "skew"),
            column("skew_after", "after", "after", "skew"),
            count("outside_before", "outside band before", "before"),
            count("outside_after", "after", "after"),
        ),
    )
