"""The report of ``advise``: how many brokers suffice, and what would free the fullest disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from kafkabal.advice import BrokerAdvice, Relief, ReliefAdvice, ReliefKind
from kafkabal.reporting.report import Chart, Column, Fact, Report, Table, Tone, ValueKind
from kafkabal.units import format_bytes, format_duration, format_percent, format_stated_rate, percent_as_option
from kafkabal.wording import counted_noun, first_brokers

_SHOWN = 15
"""Rows: with headline and header they fill a terminal of 24 lines."""
_MS = 1000
_Row: TypeAlias = tuple[str, str | None, str, int, int, float | None, int]
"""Way, topic, change, bytes freed here and in total, seconds until they are free, and bytes moved."""


def advise_report(
    brokers: BrokerAdvice,
    relief: ReliefAdvice,
    *,
    target: float,
    limit: float,
    after_s: float | None = None,
    rebalance: str = "kafkabal rebalance",
    cluster_options: str = "",
    charts: Callable[[], Sequence[Chart]] = tuple,
) -> Report:
    """Both kinds of advice; the table lists ways to free space, those that move nothing first.

    Parameters
    ----------
    after_s
        The advice is for the expected state after this time; None for the current state.
    rebalance
        The command that applies it.
    cluster_options
        Options that select the same cluster in the suggested commands.
    charts
        Charts of how disks fill.
    """
    return Report(
        command="advise",
        headline=f"{_sizing_sentence(brokers, target, after_s)} {_relief_sentence(relief, limit)}",
        tone=Tone.WARNING if relief.needed_bytes or brokers.add else Tone.PLAIN,
        facts=tuple(_facts(brokers, relief, target, limit)),
        tables=(_relief_table(relief), _new_brokers(brokers)),
        notes=tuple(_notes(brokers, relief, target, limit, rebalance, cluster_options)),
        charts=charts,
    )


def _facts(brokers: BrokerAdvice, relief: ReliefAdvice, target: float, limit: float) -> Iterator[Fact]:
    yield Fact(key="target", value=target)
    yield Fact(key="live_brokers", value=brokers.live)
    yield Fact(key="bound_brokers", value=brokers.bound)
    yield Fact(key="sufficient_brokers", value=brokers.suffices)
    yield Fact(key="drain", value=list(brokers.drain))
    yield Fact(key="filled_by_others", value=list(brokers.filled_by_others))
    yield Fact(key="fullest_before", value=brokers.fullest_before)
    yield Fact(key="fullest_after", value=brokers.fullest_after)
    yield Fact(key="moved_bytes", value=brokers.moved_bytes)
    yield Fact(key="duration_s", value=brokers.duration_s)
    yield Fact(key="limit", value=limit)
    yield Fact(key="relieved_broker", value=relief.broker)
    yield Fact(key="relieved_log_dir", value=relief.log_dir)
    yield Fact(key="relieved_used_bytes", value=relief.used_bytes)
    yield Fact(key="relieved_capacity_bytes", value=relief.capacity_bytes)
    yield Fact(key="needed_bytes", value=relief.needed_bytes)
    yield Fact(key="measured", value=relief.is_measured)
    yield Fact(key="young_topics", value=relief.young_topics)
    yield Fact(key="first_expires_s", value=relief.first_expires_s)


def _sizing_sentence(brokers: BrokerAdvice, target: float, after_s: float | None) -> str:
    when = "" if after_s is None else f"In {format_duration(after_s)}: "
    aim = f"to stay below {percent_as_option(target)} each"
    if brokers.bound is None:
        return f"{when}Number of brokers needed {aim}: unknown."
    if brokers.suffices is None:
        bound = counted_noun(brokers.bound, "broker")
        return f"{when}at least {bound} needed {aim}; no plan was found that does."
    if brokers.add:
        needed = f"{counted_noun(brokers.suffices, 'broker')} needed {aim}, {len(brokers.add)} of them new"
    else:
        verb = "suffices" if brokers.suffices == 1 else "suffice"
        needed = f"{brokers.suffices} of {counted_noun(brokers.live, 'broker')} {verb} {aim}"
    return f"{when}{needed} (lower bound: {brokers.bound})."


def _relief_sentence(relief: ReliefAdvice, limit: float) -> str:
    full = format_percent(relief.used_bytes / max(relief.capacity_bytes, 1), 0)
    where = f"Fullest disk: {relief.log_dir} of broker {relief.broker}, at {full}"
    if not relief.needed_bytes:
        return f"{where} (limit: {percent_as_option(limit)})."
    return f"{where}, {format_bytes(relief.needed_bytes)} above the limit of {percent_as_option(limit)}."


def _relief_table(relief: ReliefAdvice) -> Table:
    rows: list[_Row] = [
        (way.kind.value, way.topic, _change(way), way.freed_bytes, way.cluster_bytes, way.freed_after_s, 0)
        for way in relief.ways
    ]
    if relief.leaders:
        text = f"lead its {counted_noun(relief.leaders, 'partition')} from other brokers, which then serve the reads"
        rows.append(("leadership", None, text, 0, 0, None, 0))
    if planned := relief.between_log_dirs:
        text = "move to other log dirs of the broker"
        rows.append(("log-dirs", None, text, planned.freed_bytes, 0, None, planned.moved_bytes))
    if planned := relief.between_brokers:
        rows.append(("moves", None, "move to other brokers", planned.freed_bytes, 0, None, planned.moved_bytes))
    return Table(
        key="relief",
        shown_rows=_SHOWN,
        columns=(
            Column(key="way", title="way", values=[row[0] for row in rows], label=True),
            Column(key="topic", title="topic", values=[row[1] for row in rows], label=True),
            Column(key="change", title="change", values=[row[2] for row in rows], wraps=True),
            Column(key="config", title="", values=[*(w.config for w in relief.ways), *_nothing(rows, relief)]),
            Column(key="before", title="", values=[*(w.before for w in relief.ways), *_nothing(rows, relief)]),
            Column(key="after", title="", values=[*(w.after for w in relief.ways), *_nothing(rows, relief)]),
            Column(key="freed_bytes", title="frees here", kind=ValueKind.BYTES, values=[row[3] for row in rows]),
            Column(key="freed_all_bytes", title="in all", kind=ValueKind.BYTES, values=[row[4] for row in rows]),
            Column(key="freed_after_s", title="within", kind=ValueKind.DURATION, values=[row[5] for row in rows]),
            Column(key="moved_bytes", title="moves", kind=ValueKind.BYTES, values=[row[6] for row in rows], quiet=True),
        ),
    )


def _nothing(rows: list[_Row], relief: ReliefAdvice) -> list[None]:
    return [None] * (len(rows) - len(relief.ways))


def _change(way: Relief) -> str:
    if way.config is None:
        return "nothing written in the window: delete it if no consumer needs it"
    return f"{way.config}: {_value(way.config, way.before)} -> {_value(way.config, way.after)}"


def _value(config: str, value: int | None) -> str:
    if value is None:
        return "none"
    return format_duration(value / _MS) if config.endswith(".ms") else format_bytes(value)


def _new_brokers(brokers: BrokerAdvice) -> Table:
    """Brokers to add; notes name them by these ids."""
    return Table(
        key="add",
        columns=(
            Column(key="broker", title="add broker", values=[broker.id for broker in brokers.add], label=True),
            Column(key="rack", title="in rack", values=[broker.rack for broker in brokers.add]),
            Column(
                key="capacity_bytes",
                title="size",
                kind=ValueKind.BYTES,
                values=[broker.capacity_bytes for broker in brokers.add],
            ),
        ),
    )


def _notes(
    brokers: BrokerAdvice, relief: ReliefAdvice, target: float, limit: float, rebalance: str, cluster_options: str
) -> Iterator[str]:
    if brokers.filled_by_others:
        which = first_brokers(brokers.filled_by_others)
        yield f"other programs alone exceed {percent_as_option(target)} on {which}, which moving data cannot change"
    if brokers.drain:
        ids = ",".join(map(str, brokers.drain))
        when = ", once the new brokers have joined" if brokers.add else ""
        yield f"to drain{when}: {rebalance} --drain {ids} {cluster_options}".rstrip()
    yield from _commands_that_move(relief, limit, rebalance, cluster_options)
    if relief.needed_bytes > relief.replica_bytes:
        yield (
            f"other programs alone exceed {percent_as_option(limit)} of {relief.log_dir} of broker {relief.broker}, "
            "which moving data cannot change"
        )
    if brokers.suffices is not None and brokers.moved_bytes:
        rate = format_stated_rate(brokers.bytes_per_s)
        time = f"{format_duration(brokers.duration_s)} at {rate} per broker"
        cost = f"{format_bytes(brokers.moved_bytes)}, which takes {time}"
        fullest = f"fullest broker: {_share(brokers.fullest_before)} before, {_share(brokers.fullest_after)} after"
        yield f"{_what_moves(brokers)} moves {cost}; {fullest}"
    yield from brokers.warnings
    if not relief.is_measured:
        yield "no history ('kafkabal inspect --record'): logs are assumed to be at the steady state of their retention"
    if relief.young_topics and relief.first_expires_s is not None:
        yield (
            f"{counted_noun(relief.young_topics, 'topic')} on it: all records are younger than half the retention (7d "
            f"if unlimited), so halving it frees nothing for {format_duration(relief.first_expires_s)}"
        )
    if any(way.config and way.kind is not ReliefKind.LOCAL_RETENTION for way in relief.ways):
        yield "data that retention deletes cannot be restored: make sure that no consumer needs it"


def _commands_that_move(relief: ReliefAdvice, limit: float, rebalance: str, cluster_options: str) -> Iterator[str]:
    if relief.between_log_dirs:
        yield f"to balance the log dirs of all brokers: {rebalance} --log-dirs-only {cluster_options}".rstrip()
    if relief.between_brokers and relief.is_broker_above:
        above = percent_as_option(limit)
        yield f"to move data off all brokers above {above}: {rebalance} --below {above} {cluster_options}".rstrip()
    elif relief.between_brokers:
        yield f"to balance the cluster: {rebalance} {cluster_options}".rstrip()


def _what_moves(brokers: BrokerAdvice) -> str:
    """What the plan behind the number of brokers does."""
    if brokers.drain:
        aim = f"draining {first_brokers(brokers.drain)}"
    else:
        aim = "filling the new brokers" if brokers.add else "balancing the brokers"
    return f"{aim} and replacing replicas of dead {first_brokers(brokers.dead)}" if brokers.dead else aim


def _share(value: float | None) -> str:
    return "-" if value is None else format_percent(value)
