"""The report of one partition of a plan, in words."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafkabal.plan import ANY_DIR, Action, PartitionChange
from kafkabal.planner import WhyNot
from kafkabal.reporting.plan_moves import BYTES_UNKNOWN, known_bytes
from kafkabal.reporting.report import Fact, Report, ValueKind
from kafkabal.units import format_bytes
from kafkabal.wording import plural


def explanation_report(change: PartitionChange) -> Report:
    """What happens to a partition, and why."""
    return Report(
        command="rebalance explain",
        headline=" ".join(_sentences(change)),
        facts=(
            Fact(key="partition", value=str(change.name)),
            Fact(key="action", value=change.action.value),
            Fact(key="previous_replicas", value=list(change.previous.replicas) if change.previous else None),
            Fact(key="replicas", value=list(change.replicas)),
            Fact(key="bytes", value=known_bytes(change), kind=ValueKind.BYTES),
            Fact(key="log_dir_bytes", value=change.log_dir_bytes, kind=ValueKind.BYTES),
            Fact(key="reason", value=change.reason),
        ),
    )


def why_not_report(found: WhyNot) -> Report:
    """What prevents a partition from moving to a broker."""
    if found.holds:
        headline = f"The plan has a replica of {found.partition} on broker {found.broker}."
    else:
        because = "; ".join(found.rules or found.effects)
        headline = f"{found.partition} does not go to broker {found.broker}: {because}."
    return Report(
        command="rebalance explain --why-not",
        headline=headline,
        facts=(
            Fact(key="partition", value=str(found.partition)),
            Fact(key="broker", value=found.broker),
            Fact(key="holds", value=found.holds),
            Fact(key="rules", value=list(found.rules)),
            Fact(key="effects", value=list(found.effects)),
        ),
    )


def _sentences(change: PartitionChange) -> Iterator[str]:
    if change.previous is None:
        yield f"{change.name} ends on {_brokers(change.replicas)}; {BYTES_UNKNOWN}."
    elif change.action is Action.MOVE:
        yield f"{change.name}: {_moves(change)}."
    elif change.action is Action.LOG_DIR:
        copied = format_bytes(change.log_dir_bytes)
        yield f"{change.name} changes its log dir ({copied} copied): {_dirs(change, among=change.replicas)}."
    else:
        yield f"{change.name} keeps its replicas; no data is copied."
    led_by = change.previous.leader if change.previous else None
    if led_by is not None and led_by != change.replicas[0]:
        yield f"Leader: {f'broker {led_by}' if led_by >= 0 else 'none'} -> broker {change.replicas[0]}."
    yield f"Why: {change.reason}." if change.reason else "The plan gives no reason."


def _moves(change: PartitionChange) -> str:
    parts = []
    if change.to_add:
        copied = f"{format_bytes(change.bytes)}{' in total' if len(change.to_add) > 1 else ''}"
        parts.append(f"{_brokers(change.to_add)} {_get(change.to_add)} a replica ({copied})")
    if change.to_remove:
        parts.append(f"{_brokers(change.to_remove)} {'drop' if len(change.to_remove) > 1 else 'drops'} one")
    sentence = ", ".join(parts)
    if change.log_dir_bytes:
        staying = set(change.replicas) - set(change.to_add)
        sentence += f"; {format_bytes(change.log_dir_bytes)} copied between log dirs: {_dirs(change, among=staying)}"
    return sentence


def _get(brokers: tuple[int, ...]) -> str:
    return "get" if len(brokers) > 1 else "gets"


def _brokers(ids: tuple[int, ...]) -> str:
    return f"{plural(len(ids), 'broker')} {' and '.join(map(str, ids))}"


def _dirs(change: PartitionChange, among: Collection[int]) -> str:
    old = dict(zip(change.previous.replicas, change.previous.log_dirs, strict=True)) if change.previous else {}
    pairs = zip(change.replicas, change.log_dirs, strict=True)
    return ", ".join(
        f"on broker {b} from {old.get(b, ANY_DIR)} to {path}" for b, path in pairs if b in among and path != ANY_DIR
    )
