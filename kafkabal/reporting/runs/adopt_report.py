"""The report of ``rebalance adopt``: what another tool has in flight."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.executor import ForeignReassignment
from kafkabal.reporting.plan_moves import brokers_in_words
from kafkabal.reporting.report import Column, Fact, Kind, Report, Table, Tone

_SHOWN = 20


def adopt_report(foreign: Sequence[ForeignReassignment]) -> Report:
    """One row a reassignment."""
    changes = [f"{brokers_in_words(f.before)} -> {brokers_in_words(f.reassignment.target)}" for f in foreign]
    count = len(foreign)
    return Report(
        command="rebalance adopt",
        headline=(
            f"{count} reassignment{'' if count == 1 else 's'} of another tool in flight"
            if count
            else "no reassignment of another tool in flight"
        ),
        tone=Tone.PLAIN if count else Tone.GOOD,
        facts=(Fact(key="moved_bytes", value=sum(f.moved_bytes for f in foreign), title="bytes", kind=Kind.BYTES),),
        tables=(
            Table(
                key="reassignments",
                shown_rows=_SHOWN,
                columns=(
                    Column(key="topic", title="", values=[f.name.topic for f in foreign], label=True),
                    Column(key="partition", title="", kind=Kind.NUMBER, values=[f.name.partition for f in foreign]),
                    Column(key="name", title="partition", values=[str(f.name) for f in foreign], for_people=True),
                    Column(key="change", title="change", values=changes, for_people=True),
                    Column(key="previous_replicas", title="", values=[list(f.before) for f in foreign]),
                    Column(key="replicas", title="", values=[list(f.reassignment.target) for f in foreign]),
                    Column(key="bytes", title="bytes", kind=Kind.BYTES, values=[f.moved_bytes for f in foreign]),
                ),
            ),
        ),
        notes=(("take them over with --finish (wait, with --throttle if given) or --cancel",) if count else ()),
    )
