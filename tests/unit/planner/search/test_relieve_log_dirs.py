"""Volumes beyond their limits whose own broker has no room: other brokers take the excess."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kafkabal.model import ClusterState, volume_headroom_bytes
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, TopicRow
from kafkabal.plan import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, cluster, partition


def _cluster(held: Sequence[Sequence[Sequence[int]]], racks: Sequence[str] = ()) -> ClusterState:
    """For each broker its log dirs of 100 GB, for each of these the GB of its replicas."""
    rows = [
        BrokerRow(
            broker=b,
            rack=racks[b] if racks else None,
            log_dirs=[
                LogDirRow(path=f"/d{d}", total_bytes=100 * GB, usable_bytes=(100 - sum(sizes)) * GB, volume=f"{b}-{d}")
                for d, sizes in enumerate(dirs)
            ],
        )
        for b, dirs in enumerate(held)
    ]
    placed = [(b, d, gb) for b, dirs in enumerate(held) for d, sizes in enumerate(dirs) for gb in sizes]
    # each in a topic of its own, so that only bytes decide
    topics = [
        TopicRow(topic=f"t{n}", partitions=[partition(0, [b], gb * GB, log_dirs=[d])])
        for n, (b, d, gb) in enumerate(placed)
    ]
    return cluster(rows, topics)


def _beyond(state: ClusterState) -> int:
    return int((volume_headroom_bytes(state, 0.85) < 0).sum())


def test_a_broker_inside_its_band_is_relieved_if_its_disk_is_beyond_the_limit() -> None:
    """Disks of 88, 79 and 79% are inside their bands at 9%: one replica of 4 GB leaves the first."""
    state = _cluster([[(40, 40, 4, 4)], [(35, 40, 4)], [(40, 35, 4)]])
    plan = make_plan(state, PlanOptions())

    assert plan.moved_bytes == 4 * GB
    assert _beyond(apply_plan(state, plan)) == 0
    assert plan.partitions[0].reason == "log-dir: broker 0 has a log dir more than 85% full"
    assert plan.warnings == ()
    assert make_plan(apply_plan(state, plan), PlanOptions()).partitions == ()


def test_a_log_dir_is_relieved_by_another_broker_if_no_dir_of_its_own_can_take_a_replica() -> None:
    """Each replica of the full dir is larger than the room in the other one: one leaves the broker."""
    state = _cluster([[(29, 29, 29), (40, 38)], [(28, 28), (40, 28)]])
    plan = make_plan(state, PlanOptions(tolerance=0.3))

    assert plan.moved_bytes == 29 * GB
    assert [change.to_add for change in plan.partitions] == [(1,)]
    assert _beyond(apply_plan(state, plan)) == 0


def test_a_limit_comes_before_bands_that_are_out_of_reach() -> None:
    """The full dir belongs to the emptier broker, and yet it is relieved; the next plan moves nothing back."""
    state = _cluster([[(29, 29, 29), (57,)], [(84,), (84,), (56,)]])
    plan = make_plan(state, PlanOptions(tolerance=0.01))
    after = apply_plan(state, plan)

    assert plan.moved_bytes == 29 * GB
    assert _beyond(after) == 0
    assert make_plan(after, PlanOptions(tolerance=0.01)).partitions == ()


def test_what_no_broker_can_take_stays_and_is_named() -> None:
    """A replica of 44 GB fits nowhere: the plan is empty, and says which log dir stays full, and why if known."""
    line = "log dir still more than 85% full: /d0 of broker 0"
    plan = make_plan(_cluster([[(44, 44)], [(42, 42)]]), PlanOptions())

    assert plan.partitions == ()
    assert plan.warnings == (f"{line}; no other broker has room for what should leave",)
    state = _cluster([[(44, 44)], [(40, 40)]])
    assert make_plan(state, PlanOptions(exclude_topics=("t0", "t1"))).warnings == (line,)


@pytest.mark.parametrize(
    "options",
    [
        PlanOptions(below=0.9),
        PlanOptions(mode=Mode.LOG_DIRS_ONLY),
        PlanOptions(mode=Mode.REPAIR_ONLY),
        PlanOptions(scores=load_scores(["replicas"])),
    ],
    ids=["--below", "--log-dirs-only", "--repair-only", "another score"],
)
def test_nothing_moves_for_the_limit_if_something_else_was_asked_for(options: PlanOptions) -> None:
    """Only a plan that balances bytes between brokers relieves a disk by another broker."""
    state = _cluster([[(40, 40, 4, 4)], [(35, 40, 2, 2)], [(40, 35, 2, 2)]])

    assert make_plan(state, options).partitions == ()


def test_a_budget_pays_for_the_excess_of_a_log_dir() -> None:
    """What leaves a full disk is a move like any other; without it nothing is planned, and the disk is named."""
    state = _cluster([[(40, 40, 4, 4)], [(35, 40, 4)], [(40, 35, 4)]])

    assert make_plan(state, PlanOptions(max_bytes=4 * GB)).moved_bytes == 4 * GB
    plan = make_plan(state, PlanOptions(max_bytes=3 * GB))
    assert plan.partitions == ()
    assert plan.warnings[-1] == "log dir still more than 85% full: /d0 of broker 0"
