"""Volumes that other programs fill: a broker that could never make room takes nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.model.rows import TopicRow
from kafkabal.planner import PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition


@pytest.mark.parametrize(("usable_gb", "arrives"), [(5, False), (60, True)])
def test_what_others_fill_beyond_the_limit_takes_nothing(usable_gb: int, arrives: bool) -> None:
    """Of 100 GB others occupy 94: nothing is planned to come, however much is planned to leave."""
    rows = brokers(3, dirs=1)
    tight = replace(rows[1].log_dirs[0], total_bytes=100 * GB, usable_bytes=usable_gb * GB)
    rows = [
        replace(row, log_dirs=[replace(row.log_dirs[0], total_bytes=100 * GB, usable_bytes=60 * GB)]) for row in rows
    ]
    rows[1] = replace(rows[1], log_dirs=[tight])
    sizes = [GB // 4, GB // 2, GB // 4, *[GB] * 9]
    replicas = [[2], [2], [2], *[[1]] * 9]
    topics = [TopicRow(topic="t", partitions=[partition(n, r, sizes[n]) for n, r in enumerate(replicas)])]
    plan = make_plan(cluster(rows, topics), PlanOptions())
    assert plan.partitions
    assert any(2 in change.adding for change in plan.partitions) is arrives
