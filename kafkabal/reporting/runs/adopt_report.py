"""The report of ``rebalance adopt``: reassignments of other tools in flight."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkabal.executor import ForeignReassignment
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.wording import counted_noun, replica_list

_SHOWN = 20
"""Rows: with headline and header they fill a terminal of 24 lines."""


def adopt_report(foreign: Sequence[ForeignReassignment], unfinished: str | None, *, acts: bool) -> Report:
    """One row per reassignment.

    Parameters
    ----------
    unfinished
        Id of an unfinished run of ours, whose reassignments are not listed.
    acts
        Whether they are about to be taken over.
    """
    changes = [f"{replica_list(f.before)} -> {replica_list(f.reassignment.target)}" for f in foreign]
    count = len(foreign)
    return Report(
        command="rebalance adopt",
        headline=(
            f"{counted_noun(count, 'reassignment')} of another tool in flight"
            if count
            else "no reassignment of another tool in flight"
        ),
        tone=Tone.PLAIN if count else Tone.GOOD,
        facts=(
            Fact(key="moved_bytes", value=sum(f.moved_bytes for f in foreign)),
            Fact(
                key="left_bytes",
                value=sum(f.left_bytes for f in foreign),
                title="left to copy" if count else "",
                kind=ValueKind.BYTES,
            ),
        ),
        tables=(
            Table(
                key="reassignments",
                shown_rows=_SHOWN,
                columns=(
                    Column(key="topic", title="", values=[f.name.topic for f in foreign], label=True),
                    Column(
                        key="partition", title="", kind=ValueKind.NUMBER, values=[f.name.partition for f in foreign]
                    ),
                    Column(key="name", title="partition", values=[str(f.name) for f in foreign], for_people=True),
                    Column(key="change", title="change", values=changes, for_people=True, wraps=True),
                    Column(key="previous_replicas", title="", values=[list(f.before) for f in foreign]),
                    Column(key="replicas", title="", values=[list(f.reassignment.target) for f in foreign]),
                    Column(key="bytes", title="", values=[f.moved_bytes for f in foreign]),
                    Column(
                        key="left_bytes",
                        title="left to copy",
                        kind=ValueKind.BYTES,
                        values=[f.left_bytes for f in foreign],
                    ),
                ),
            ),
        ),
        notes=tuple(_notes(count, unfinished, acts=acts)),
    )


def _notes(count: int, unfinished: str | None, *, acts: bool) -> Iterator[str]:
    if count and not acts:
        yield "take them over with --finish (wait, with --throttle if given) or --cancel"
    if unfinished is not None:
        yield f"those of run {unfinished}, which is open, are not listed: 'kafkabal rebalance status' shows them"
