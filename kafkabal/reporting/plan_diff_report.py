"""The differences between two plans."""

from __future__ import annotations

from kafkabal.clusters.unknown_cluster_id import are_two_clusters
from kafkabal.plan import PartitionChange, Plan
from kafkabal.reporting.plan_moves import (
    BYTES_UNKNOWN,
    FIRST_MOVES,
    change_in_words,
    known_bytes,
    known_moved_bytes,
)
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.units import format_bytes
from kafkabal.wording import counted_noun


def plan_diff_report(first: Plan, second: Plan, shown_rows: int | None = FIRST_MOVES) -> Report:
    """Partitions that two plans treat differently, most bytes first."""
    a, b = ({c.name: c for c in plan.partitions} for plan in (first, second))
    differing = [name for name in sorted(a.keys() | b.keys()) if _target(a.get(name)) != _target(b.get(name))]
    differing.sort(key=lambda name: -max(_bytes(a.get(name)), _bytes(b.get(name))))
    pairs = [(a.get(name), b.get(name)) for name in differing]
    return Report(
        command="rebalance diff",
        headline=_headline(first, second, len(differing)),
        facts=(
            Fact(key="first_plan_id", value=first.plan_id, title="first"),
            Fact(key="second_plan_id", value=second.plan_id, title="second"),
            Fact(key="first_moved_bytes", value=known_moved_bytes(first)),
            Fact(key="second_moved_bytes", value=known_moved_bytes(second)),
        ),
        tables=(
            Table(
                key="differences",
                shown_rows=shown_rows,
                columns=(
                    Column(key="topic", title="", values=[name.topic for name in differing], label=True),
                    Column(
                        key="partition", title="", kind=ValueKind.NUMBER, values=[name.partition for name in differing]
                    ),
                    Column(key="name", title="partition", values=[str(name) for name in differing], for_people=True),
                    _words_column("first", [one for one, _ in pairs]),
                    _words_column("second", [two for _, two in pairs]),
                    Column(key="first_replicas", title="", values=[_replicas(one) for one, _ in pairs]),
                    Column(key="second_replicas", title="", values=[_replicas(two) for _, two in pairs]),
                    _bytes_column("first", [one for one, _ in pairs]),
                    _bytes_column("second", [two for _, two in pairs]),
                ),
            ),
        ),
        notes=("the plans are for different clusters",)
        if are_two_clusters(first.cluster_id or "", second.cluster_id or "")
        else (),
    )


def _headline(first: Plan, second: Plan, differing: int) -> str:
    if not differing:
        return "both plans do the same"
    what = f"{counted_noun(differing, 'partition')} {'differs' if differing == 1 else 'differ'}"
    before, after = known_moved_bytes(first), known_moved_bytes(second)
    if before is None or after is None:
        return f"{what}; {BYTES_UNKNOWN}"
    more = after - before
    change = "as many bytes" if not more else f"{format_bytes(abs(more))} {'more' if more > 0 else 'less'}"
    return f"{what}; the second plan moves {change}"


def _target(change: PartitionChange | None) -> object:
    return None if change is None else (change.replicas, change.log_dirs, change.action)


def _bytes(change: PartitionChange | None) -> int:
    return 0 if change is None else change.bytes + change.log_dir_bytes


def _shown_bytes(change: PartitionChange | None) -> int | None:
    is_known = change is None or known_bytes(change) is not None
    return _bytes(change) if is_known else None


def _replicas(change: PartitionChange | None) -> list[int] | None:
    return None if change is None else list(change.replicas)


def _words_column(which: str, changes: list[PartitionChange | None]) -> Column:
    words = ["stays" if c is None else change_in_words(c) for c in changes]
    return Column(key=which, title=which, values=words, for_people=True, wraps=True)


def _bytes_column(which: str, changes: list[PartitionChange | None]) -> Column:
    return Column(
        key=f"{which}_bytes", title=f"{which} bytes", kind=ValueKind.BYTES, values=[_shown_bytes(c) for c in changes]
    )
