"""Changes from one state of the cluster to the next, as events without a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

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
    for broker, path in sorted(found.offline_dirs - before.offline_dirs):
        yield FindingChange(EventKind.LOG_DIR_OFFLINE, f"log dir {path} of broker {broker} is offline", broker, path)
    for broker, path in sorted(before.offline_dirs - found.offline_dirs):
        message = f"log dir {path} of broker {broker} is no longer offline"
        yield FindingChange(EventKind.LOG_DIR_ONLINE, message, broker, path)
    if found.out_of_sync and not before.out_of_sync:
        count = counted_noun(found.out_of_sync, "partition")
        yield FindingChange(EventKind.OUT_OF_SYNC, f"{count} with live replicas out of sync")
    elif before.out_of_sync and not found.out_of_sync:
        yield FindingChange(EventKind.IN_SYNC, "all replicas on live brokers are in sync")
    if found.imbalanced and not before.imbalanced:
        names = ", ".join(found.imbalanced)
        yield FindingChange(
            EventKind.IMBALANCED, f"outside {percent_as_option(tolerance)} of the fair share by {names}"
        )
    elif before.imbalanced and not found.imbalanced:
        yield FindingChange(EventKind.BALANCED, "every score is inside the outer band")
