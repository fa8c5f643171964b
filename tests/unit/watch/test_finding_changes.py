"""Changes from one reading to the next: which of them are news."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkabal.watch.finding_changes import changes_between
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
    assert [(c.event, c.message) for c in changes_between(*states, tolerance=0.2)] == reported
