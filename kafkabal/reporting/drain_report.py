"""The report on whether brokers can be drained, and at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kafkabal.planner import DrainCheck
from kafkabal.reporting.report import Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.units import format_bytes, format_stated_rate
from kafkabal.wording import brokers_by_id, counted_noun

_SHOWN = 20
"""Rows: with headline and header they fill a terminal of 24 lines."""


def drain_report(
    found: DrainCheck,
    throttle_bytes_per_s: float,
    *,
    is_assumed: bool,
    voters: Sequence[int] = (),
    rebalance: str = "kafkabal rebalance",
    cluster_options: str = "",
) -> Report:
    """The verdict, the data to move, blockers by topic and room by log dir.

    Parameters
    ----------
    is_assumed
        No throttle was given: the rate is the lowest that an automatic throttle starts with.
    voters
        Those of the brokers that vote in the controller quorum.
    rebalance
        The command that drains.
    cluster_options
        Options that select the same cluster for it.
    """
    return Report(
        command="rebalance --check",
        headline=_headline(found),
        tone=Tone.GOOD if found.can_drain else Tone.BAD,
        facts=(
            Fact(key="brokers", value=list(found.brokers)),
            Fact(key="can_drain", value=found.can_drain),
            Fact(key="replicas", value=found.replicas, title="replicas to move", kind=ValueKind.NUMBER),
            Fact(key="leaders", value=found.leaders, title="leaders to move", kind=ValueKind.NUMBER),
            Fact(key="bytes", value=found.bytes, title="bytes to move", kind=ValueKind.BYTES),
            Fact(key="duration_s", value=found.duration_s, title="time at the throttle", kind=ValueKind.DURATION),
            Fact(key="throttle_bytes_per_s", value=throttle_bytes_per_s),
            Fact(key="missing_bytes", value=found.missing_bytes),
        ),
        tables=(_blockers(found), _room(found)),
        notes=(
            *_notes(found, throttle_bytes_per_s, is_assumed=is_assumed),
            *(f"broker {b} votes in the controller quorum: remove it there before you stop it" for b in voters),
            *_next(found, rebalance, cluster_options),
        ),
    )


def _headline(found: DrainCheck) -> str:
    which = brokers_by_id(found.brokers)
    if not found.replicas:
        return f"{which}: {'holds' if len(found.brokers) == 1 else 'hold'} no replicas"
    if found.can_drain:
        return f"{which}: can be drained"
    reasons = [f"blocked by {counted_noun(len({b.topic for b in found.blockers}), 'topic')}"] if found.blockers else []
    if found.missing_bytes:
        reasons.append(f"room is short by {format_bytes(found.missing_bytes)}")
    return f"{which}: cannot be drained: {' and '.join(reasons)}"


def _blockers(found: DrainCheck) -> Table:
    rows = found.blockers
    return Table(
        key="blockers",
        title="blockers",
        shown_rows=_SHOWN,
        columns=(
            Column(key="topic", title="topic", values=[b.topic for b in rows], label=True),
            Column(key="partitions", title="partitions", kind=ValueKind.NUMBER, values=[b.partitions for b in rows]),
            Column(key="reason", title="reason", values=[b.reason for b in rows], wraps=True),
        ),
    )


def _room(found: DrainCheck) -> Table:
    return Table(
        key="room",
        title="room",
        shown_rows=_SHOWN,
        columns=(
            Column(key="broker", title="broker", kind=ValueKind.ID, values=list(found.target), label=True),
            Column(key="log_dir", title="log dir", values=list(found.target_dir), label=True),
            Column(key="room_bytes", title="room", kind=ValueKind.BYTES, values=list(found.target_room_bytes)),
        ),
    )


def _notes(found: DrainCheck, rate: float, *, is_assumed: bool) -> Iterator[str]:
    if found.unknown_sizes:
        yield f"{counted_noun(found.unknown_sizes, 'replica')} of unknown size counted as 0 bytes"
    if found.can_drain and found.replicas:
        yield "a drain also balances the other brokers, which may move more bytes; --repair-only leaves that out"
    if is_assumed and found.replicas:
        yield f"time at {format_stated_rate(rate)} per broker: an automatic throttle starts there or higher"


def _next(found: DrainCheck, rebalance: str, cluster_options: str) -> Iterator[str]:
    if found.can_drain and found.replicas:
        brokers = ",".join(map(str, found.brokers))
        command = f"{rebalance} --drain {brokers} {cluster_options}".rstrip()
        yield f"next: {command}"
