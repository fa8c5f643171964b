"""Changes from one state of the cluster to the next, as events without a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.units import percent_as_option
from kafkabal.watch.state_findings import StateFindings
from kafkabal.watch.watch_events import EventKind
from kafkabal.wording import UNDER_MIN_ISR, WITH_LAGGING_REPLICAS, WITHOUT_LEADER, counted_noun

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


class FindingChanges:
    """Finds what is news: findings that are new or gone, and numbers of partitions that have doubled.

    A number that grows from 2 to 200 is worth a message; one that changes with every reading is not.
    """

    def __init__(self) -> None:
        self._reported: dict[EventKind, int] = {}
        """By problem of partitions, the number in the latest event about it."""

    def between(self, before: StateFindings, found: StateFindings, tolerance: float) -> Iterator[FindingChange]:
        """What is news since the last reading.

        Parameters
        ----------
        tolerance
            Half the width of the bands of scores.
        """
        yield from _of_log_dirs(before, found)
        yield from self._of_partitions(found)
        # other scores than before are news: an alert by 'leaders' would say nothing of a disk that fills up meanwhile
        if found.imbalanced and found.imbalanced != before.imbalanced:
            names = ", ".join(found.imbalanced)
            yield FindingChange(
                EventKind.IMBALANCED, f"outside {percent_as_option(tolerance)} of the fair share by {names}"
            )
        elif before.imbalanced and not found.imbalanced:
            yield FindingChange(EventKind.BALANCED, "every score is inside the outer band")

    def _of_partitions(self, found: StateFindings) -> Iterator[FindingChange]:
        problems = partition_problems(found)
        for kind, end in _PARTITIONS_WELL.items():
            reported = self._reported.get(kind, 0)
            if kind not in problems:
                self._reported.pop(kind, None)
                if reported:
                    yield FindingChange(*end)
            elif (count := problems[kind].count) >= 2 * reported:
                self._reported[kind] = count
                since = f"; last reported: {reported:,}" if reported else ""
                yield FindingChange(kind, f"{problems[kind]}{since}")


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


@dataclass(frozen=True, slots=True)
class PartitionProblem:
    """Something that is wrong with a number of partitions."""

    count: int
    what: str

    def __str__(self) -> str:
        return f"{counted_noun(self.count, 'partition')} {self.what}"


def partition_problems(found: StateFindings) -> dict[EventKind, PartitionProblem]:
    """What is wrong with partitions, by the event that begins it; the worst first."""
    problems = {
        EventKind.PARTITION_OFFLINE: PartitionProblem(found.offline_partitions, WITHOUT_LEADER),
        EventKind.UNDER_MIN_ISR: PartitionProblem(found.under_min_isr or 0, UNDER_MIN_ISR),
        EventKind.OUT_OF_SYNC: PartitionProblem(found.out_of_sync, WITH_LAGGING_REPLICAS),
    }
    return {kind: problem for kind, problem in problems.items() if problem.count}
