"""Changes from one state of the cluster to the next, as events without a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.units import percent_as_option
from kafkabal.watch.state_findings import StateFindings
from kafkabal.watch.watch_events import EventKind
from kafkabal.wording import counted_noun


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
    if found.offline_partitions and not before.offline_partitions:
        count = counted_noun(found.offline_partitions, "partition")
        yield FindingChange(EventKind.PARTITION_OFFLINE, f"{count} without a leader")
    elif before.offline_partitions and not found.offline_partitions:
        yield FindingChange(EventKind.PARTITION_ONLINE, "every partition has a leader")
    if found.out_of_sync and not before.out_of_sync:
        count = counted_noun(found.out_of_sync, "partition")
        yield FindingChange(EventKind.OUT_OF_SYNC, f"{count} with live replicas out of sync")
    elif before.out_of_sync and not found.out_of_sync:
        yield FindingChange(EventKind.IN_SYNC, "all replicas on live brokers are in sync")
