"""Log dirs of arriving replicas, and the balance of the log dirs of a broker."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.eligibility import volume_headroom_bytes
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


def _broker(total_gb: Sequence[int], held: Sequence[tuple[int, int]], others_gb: int = 0) -> ClusterState:
    """A cluster of one broker: replicas as size and log dir; other programs occupy bytes of the first volume."""
    used = [sum(gb for gb, d in held if d == row) for row in range(len(total_gb))]
    used[0] += others_gb
    dirs = [
        LogDirRow(path=f"/d{d}", total_bytes=total * GB, usable_bytes=(total - used[d]) * GB, volume=f"v{d}")
        for d, total in enumerate(total_gb)
    ]
    parts = [partition(n, [1], gb * GB, log_dirs=[d]) for n, (gb, d) in enumerate(held)]
    return cluster([BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=parts)])


@pytest.mark.parametrize(
    ("total_gb", "tolerance", "held", "moved_gb"),
    [
        ((1000, 2000), 0.09, [(21, 1), (37, 1), (11, 0), (2, 0)], 21 + 11),
        ((1000, 1000, 1000), 0.2, [(15, 0), (29, 0), (1, 1), (27, 1), (17, 1), (16, 0)], 58),
    ],
    ids=["two dirs", "three dirs"],
)
def test_replicas_change_places_if_no_single_copy_helps(
    total_gb: tuple[int, ...], tolerance: float, held: list[tuple[int, int]], moved_gb: int
) -> None:
    """Bands that only an exchange reaches are reached."""
    state = _broker(total_gb, held)
    plan = make_plan(state, PlanOptions(mode=Mode.LOG_DIRS_ONLY, tolerance=tolerance))

    assert plan.warnings == ()
    assert plan.log_dir_bytes == moved_gb * GB


def test_an_empty_replica_arrives_in_no_dir_beyond_its_limit() -> None:
    """Other programs fill the first dir, which holds no replica: the second is the only one with room."""
    row = brokers(1, dirs=2)[0]
    full = replace(row.log_dirs[0], usable_bytes=0)
    state = cluster([replace(row, log_dirs=[full, row.log_dirs[1]])], [])
    assignment = LogDirAssignment(Solution(build_problem(state, PlanOptions())))

    assert assignment.emptiest(np.array([0]), np.array([0])).tolist() == [1]


@pytest.mark.parametrize(
    ("held", "others_gb", "moved_gb"),
    [
        ([(43, 0), (41, 0), (4, 0), (76, 1)], 0, 4),
        ([(43, 0), (16, 0), (4, 0), (65, 1)], 24, 4),
        ([(43, 0), (41, 0), (4, 0), (82, 1)], 0, 0),
        ([(43, 0), (42, 0), (76, 1)], 0, 0),
    ],
    ids=["above the limit", "above it with other programs", "as much as both may hold", "at the limit"],
)
def test_a_dir_above_the_limit_is_relieved_although_it_is_inside_its_band(
    held: list[tuple[int, int]], others_gb: int, moved_gb: int
) -> None:
    """At 9%, dirs of 88 and 76% are inside their bands: what exceeds 85% moves if the broker has room for it."""
    plan = make_plan(_broker((100, 100), held, others_gb), PlanOptions(mode=Mode.LOG_DIRS_ONLY))

    assert plan.log_dir_bytes == moved_gb * GB


def test_a_replica_takes_the_place_of_one_that_leaves_first() -> None:
    """The second dir is above its limit, so only once its replica of 415 GB has left, one of 237 GB can come."""
    sizes = [237, 228, 202, 99, 99, 55, 36, 28], [500, 415, 26], [132, 104, 15], [323, 180, 105, 57]
    state = _broker((1000,) * 4, [(gb, d) for d, each in enumerate(sizes) for gb in each])
    plan = make_plan(state, PlanOptions(mode=Mode.LOG_DIRS_ONLY))

    assert (volume_headroom_bytes(apply_plan(state, plan), 0.85) >= 0).all()
    assert plan.warnings == ()
