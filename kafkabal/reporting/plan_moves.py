"""The partitions of a plan, one per line: from where to where, how much, and why."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import commonpath

from kafkabal.plan import ANY_DIR, Action, PartitionChange, Placement, Plan
from kafkabal.reporting.report import Column, Table, ValueKind
from kafkabal.wording import replica_list

FIRST_MOVES = 20
"""Default number of lines in a table."""
BYTES_UNKNOWN = "bytes unknown: the plan of another tool does not say where replicas were"


def moves_table(changes: Sequence[PartitionChange], shown_rows: int | None = FIRST_MOVES) -> Table:
    """One row per partition, most bytes first.

    Parameters
    ----------
    shown_rows
        How many rows people see; programs see all.
    """
    ordered = sorted(changes, key=lambda c: (-(c.bytes + c.log_dir_bytes), c.topic, c.partition))
    previous = [c.previous for c in ordered]
    return Table(
        key="moves",
        title="moves",
        shown_rows=shown_rows,
        columns=(
            Column(key="topic", title="", values=[c.topic for c in ordered], label=True),
            Column(key="partition", title="", kind=ValueKind.NUMBER, values=[c.partition for c in ordered], label=True),
            Column(key="name", title="partition", values=[str(c.name) for c in ordered], for_people=True),
            Column(
                key="change", title="change", values=[change_in_words(c) for c in ordered], for_people=True, wraps=True
            ),
            Column(key="action", title="", values=[c.action.value for c in ordered]),
            Column(key="previous_replicas", title="", values=[list(p.replicas) if p else None for p in previous]),
            Column(key="replicas", title="", values=[list(c.replicas) for c in ordered]),
            Column(
                key="previous_leader", title="", values=[p.leader if p and p.leader >= 0 else None for p in previous]
            ),
            Column(key="leader", title="", values=[c.replicas[0] for c in ordered]),
            Column(
                key="bytes",
                title="bytes",
                kind=ValueKind.BYTES,
                values=[known_bytes(c) for c in ordered],
            ),
            Column(
                key="log_dir_bytes",
                title="between log dirs",
                kind=ValueKind.BYTES,
                values=[c.log_dir_bytes for c in ordered],
                quiet=True,
                dispensable=1,
            ),
            Column(key="reason", title="why", values=[c.reason or None for c in ordered], wraps=True, dispensable=2),
        ),
    )


def known_bytes(change: PartitionChange) -> int | None:
    """Bytes copied to brokers without a previous copy; None if the plan does not say where replicas were."""
    return None if change.previous is None else change.bytes


def known_moved_bytes(plan: Plan) -> int | None:
    """The same of all partitions of a plan; None if they are unknown for one of them."""
    return None if any(change.previous is None for change in plan.partitions) else plan.moved_bytes


def change_in_words(change: PartitionChange) -> str:
    """``1,2 -> 3,2, d0 -> d1 on 2``: brokers and log dirs, if they change; for an election the leader."""
    previous = change.previous
    if previous is None:
        return f"? -> {replica_list(change.replicas)}"
    if change.action is Action.ELECT:
        return f"leader {previous.leader if previous.leader >= 0 else 'none'} -> {change.replicas[0]}"
    order = [f"{replica_list(previous.replicas)} -> {replica_list(change.replicas)}"]
    is_same = change.action is Action.LOG_DIR and previous.replicas == change.replicas
    return ", ".join([*([] if is_same else order), *_dir_changes(change, previous)])


def _dir_changes(change: PartitionChange, previous: Placement) -> list[str]:
    """``d0 -> d1 on 1,2,3``: without the common part of the paths, and with equal changes of brokers combined."""
    old = dict(zip(previous.replicas, previous.log_dirs, strict=True))
    brokers_by_step: dict[str, list[int]] = {}
    for broker, path in zip(change.replicas, change.log_dirs, strict=True):
        if path != ANY_DIR and broker in old and path != old[broker]:
            brokers_by_step.setdefault(_dir_step(old[broker], path), []).append(broker)
    return [f"{step} on {replica_list(brokers)}" for step, brokers in brokers_by_step.items()]


def _dir_step(old: str, new: str) -> str:
    if not (old.startswith("/") and new.startswith("/")):
        return f"{old} -> {new}"
    common = f"{commonpath((old, new)).rstrip('/')}/"
    return f"{old.removeprefix(common) or old} -> {new.removeprefix(common) or new}"
