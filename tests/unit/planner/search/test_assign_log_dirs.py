"""Log dirs of arriving replicas, and the balance of the log dirs of a broker."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, TopicRow
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


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
    used = [sum(gb for gb, d in held if d == row) for row in range(len(total_gb))]
    dirs = [
        LogDirRow(path=f"/d{d}", total_bytes=total * GB, usable_bytes=(total - used[d]) * GB, volume=f"v{d}")
        for d, total in enumerate(total_gb)
    ]
    parts = [partition(n, [1], gb * GB, log_dirs=[d]) for n, (gb, d) in enumerate(held)]
    state = cluster([BrokerRow(broker=1, log_dirs=dirs)], [TopicRow(topic="t", partitions=parts)])
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
