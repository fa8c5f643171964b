"""What ``rebalance explain`` says of one partition."""

from __future__ import annotations

import pytest

from kafkabal.plan.plan import ANY_DIR, Action, PartitionChange, Placement
from kafkabal.reporting.explain_report import explanation_report

THERE = Placement(replicas=(1, 2, 3), leader=1, log_dirs=("/d0", "/d0", "/d1"))


def explained(replicas: tuple[int, ...], previous: Placement = THERE, **fields: object) -> str:
    """The sentences on a partition that ends on these brokers."""
    given = {"log_dirs": (ANY_DIR,) * len(replicas), "reason": "disk", **fields}
    change = PartitionChange(topic="t", partition=0, replicas=replicas, previous=previous, **given)  # type: ignore[arg-type]
    return explanation_report(change).headline


@pytest.mark.parametrize(
    ("replicas", "fields", "sentences"),
    [
        (
            (1, 2, 4),
            {"bytes": 1024},
            "t-0: broker 4 gets a replica (1.00 KiB), broker 3 drops one. Why: disk.",
        ),
        (
            (4, 5, 1),
            {"bytes": 2048},
            (
                "t-0: brokers 4 and 5 get a replica (2.00 KiB in total), brokers 2 and 3 drop one. "
                "Leader: broker 1 -> broker 4. Why: disk."
            ),
        ),
        ((1, 2), {}, "t-0: broker 3 drops one. Why: disk."),
        ((1, 2, 3, 4), {"bytes": 1024}, "t-0: broker 4 gets a replica (1.00 KiB). Why: disk."),
        (
            (1, 2, 3),
            {"action": Action.LOG_DIR, "log_dirs": ("/d1", ANY_DIR, ANY_DIR), "log_dir_bytes": 1024},
            "t-0 changes its log dir (1.00 KiB copied): on broker 1 from /d0 to /d1. Why: disk.",
        ),
        (
            (1, 2, 4),
            {"bytes": 1024, "log_dirs": ("/d1", ANY_DIR, "/d0"), "log_dir_bytes": 512},
            (
                "t-0: broker 4 gets a replica (1.00 KiB), broker 3 drops one; "
                "512 B copied between log dirs: on broker 1 from /d0 to /d1. Why: disk."
            ),
        ),
        (
            (2, 1, 3),
            {"action": Action.REORDER, "reason": ""},
            "t-0 keeps its replicas; no data is copied. Leader: broker 1 -> broker 2. The plan gives no reason.",
        ),
    ],
)
def test_every_kind_of_change_is_put_into_words(
    replicas: tuple[int, ...], fields: dict[str, object], sentences: str
) -> None:
    """Brokers that get and lose a replica, log dirs that change, the bytes, the leader and the reason are named."""
    assert explained(replicas, **fields) == sentences


def test_a_partition_without_a_leader_gets_one() -> None:
    """No broker is named as the previous leader if there was none."""
    leaderless = Placement(replicas=(1, 2, 3), leader=-1, log_dirs=THERE.log_dirs)
    assert "Leader: none -> broker 1." in explained((1, 2, 3), leaderless, action=Action.ELECT)
