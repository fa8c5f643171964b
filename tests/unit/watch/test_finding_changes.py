"""Changes from one reading to the next: which of them are news."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkabal.watch.finding_changes import FindingChanges
from kafkabal.watch.state_findings import NOTHING_FOUND
from kafkabal.watch.watch_events import EventKind


@pytest.mark.parametrize(
    ("before", "found", "reported"),
    [
        ((), ("leaders",), [(EventKind.IMBALANCED, "outside 20% of the fair share by leaders")]),
        (("leaders",), ("leaders",), []),
        (("leaders",), ("disk", "leaders"), [(EventKind.IMBALANCED, "outside 20% of the fair share by disk, leaders")]),
        (("disk", "leaders"), ("disk",), [(EventKind.IMBALANCED, "outside 20% of the fair share by disk")]),
        (("disk",), (), [(EventKind.BALANCED, "every score is inside the outer band")]),
    ],
)
def test_imbalance_by_other_scores_is_news(
    before: tuple[str, ...], found: tuple[str, ...], reported: list[tuple[EventKind, str]]
) -> None:
    """An alert that names 'leaders' does not stay as it is while a disk leaves its band, or only a disk is left."""
    states = [replace(NOTHING_FOUND, imbalanced=names) for names in (before, found)]
    assert [(c.event, c.message) for c in FindingChanges().between(*states, tolerance=0.2)] == reported


def test_a_number_of_partitions_is_reported_again_once_it_has_doubled() -> None:
    """A number that has doubled is reported, however slowly it grew, a smaller change is not; a problem that comes back
    is reported again."""
    changes = FindingChanges()
    reported, before = [], NOTHING_FOUND
    for count in (2, 3, 2, 3, 4, 200, 150, 399, 1, 0, 1, 0):
        found = replace(NOTHING_FOUND, offline_partitions=count)
        reported += [(c.event, c.message) for c in changes.between(before, found, tolerance=0.2)]
        before = found
    end = (EventKind.PARTITION_ONLINE, "every partition has a leader")
    assert reported == [
        (EventKind.PARTITION_OFFLINE, "2 partitions without a leader"),
        (EventKind.PARTITION_OFFLINE, "4 partitions without a leader; last reported: 2"),
        (EventKind.PARTITION_OFFLINE, "200 partitions without a leader; last reported: 4"),
        end,
        (EventKind.PARTITION_OFFLINE, "1 partition without a leader"),
        end,
    ]
