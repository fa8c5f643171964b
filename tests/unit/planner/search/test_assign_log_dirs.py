"""Log dirs of arriving replicas."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from kafkabal.planner import PlanOptions
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.assign_log_dirs import LogDirAssignment
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import brokers, cluster


def test_an_empty_replica_arrives_in_no_dir_beyond_its_limit() -> None:
    """Other programs fill the first dir, which holds no replica: the second is the only one with room."""
    row = brokers(1, dirs=2)[0]
    full = replace(row.log_dirs[0], usable_bytes=0)
    state = cluster([replace(row, log_dirs=[full, row.log_dirs[1]])], [])
    assignment = LogDirAssignment(Solution(build_problem(state, PlanOptions())))

    assert assignment.emptiest(np.array([0]), np.array([0])).tolist() == [1]
