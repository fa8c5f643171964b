"""Changes from one state of the cluster to the next, as events without a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.units import percent_as_option
from kafkabal.watch.state_findings import StateFindings
from kafkabal.watch.watch_events import EventKind
from kafkabal.wording import counted_noun

_PARTITIONS_WELL: Final = {
    EventKind.PARTITION_OFFLINE: (EventKind.PARTITION_ONLINE, "every partition has a leader"),
    EventKind.UNDER_MIN_ISR: (EventKind.MIN_ISR_MET, "no partition is under min ISR"),
    EventKind.OUT_OF_SYNC: (EventKind.IN_SYNC, "all replicas on live brokers are in sync"),
}
"""How each problem of partitions ends."""


@dataclass(frozen=True, slots=True)
class FindingChange:
    """One change."""

    event: EventKind
    message: str
    broker: int | None = None
    log_dir: str | None = None


def changes_between(before: StateFindings, found: StateFindings, tolerance: float) -> Iterator[FindingChange]:
    """Findings that are new, and findings that are gone.

    Parameters
    ----------
    tolerance
        Half the width of the bands of scores.
    """
    yield from _of_log_dirs(before, found)
    yield from _of_partitions(before, found)
    # other scores than before are news: an alert by 'leaders' would say nothing of a disk that fills up meanwhile
    if found.imbalanced and found.imbalanced != before.imbalanced:
        names = ", ".join(found.imbalanced)
        yield FindingChange(
            EventKind.IMBALANCED, f"outside {percent_as_option(tolerance)} of the fair share by {names}"
        )
    elif before.imbalanced and not found.imbalanced:
        yield FindingChange(EventKind.BALANCED, "every score is inside the outer band")


def _of_log_dirs(before: StateFindings, found: StateFindings) -> Iterator[FindingChange]:
    full = f"more than {percent_as_option(DEFAULT_LOG_DIR_LIMIT)} full"
    for kind, dirs, what in (
        (EventKind.LOG_DIR_OFFLINE, found.offline_dirs - before.offline_dirs, "is offline"),
        (EventKind.LOG_DIR_ONLINE, before.offline_dirs - found.offline_dirs, "is no longer offline"),
        (EventKind.DISK_NEARLY_FULL, found.full_dirs - before.full_dirs, f"is {full}"),
        (EventKind.DISK_HAS_ROOM, before.full_dirs - found.full_dirs, f"is no longer {full}"),
    ):
        for broker, path in sorted(dirs):
            yield FindingChange(kind, f"log dir {path} of broker {broker} {what}", broker, path)


def _of_partitions(before: StateFindings, found: StateFindings) -> Iterator[FindingChange]:
    was, now = partition_problems(before), partition_problems(found)
    for kind, end in _PARTITIONS_WELL.items():
        if kind in now and kind not in was:
            yield FindingChange(kind, now[kind])
        elif kind in was and kind not in now:
            yield FindingChange(*end)


def partition_problems(found: StateFindings) -> dict[EventKind, str]:
    """What is wrong with partitions, with their number, by the event that begins it; the worst first."""
    counts = {
        EventKind.PARTITION_OFFLINE: (found.offline_partitions, "without a leader"),
        EventKind.UNDER_MIN_ISR: (found.under_min_isr, "under min ISR: producers with acks=all cannot write"),
        EventKind.OUT_OF_SYNC: (found.out_of_sync, "with live replicas out of sync"),
    }
    return {kind: f"{counted_noun(count, 'partition')} {what}" for kind, (count, what) in counts.items() if count}
