"""Volumes that other programs fill: a broker that could never make room takes nothing."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kafkabal.model.cluster_rows import BrokerRow, TopicRow
from kafkabal.planner import PlanOptions, check_drain, make_plan
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
    assert any(2 in change.to_add for change in plan.partitions) is arrives


def _half_cordoned(count: int) -> list[BrokerRow]:
    """Brokers whose two log dirs share a volume of 1 TB, the first of them cordoned."""
    states = ("cordoned", "online")
    return [
        replace(row, log_dirs=[replace(d, volume="v", state=s) for d, s in zip(row.log_dirs, states, strict=True)])
        for row in brokers(count, dirs=2, dir_bytes=1000 * GB)
    ]


def test_a_volume_has_room_where_only_its_first_log_dir_is_cordoned() -> None:
    """Brokers are levelled and drained through the other log dir, and the volume is counted once."""
    parts = [partition(n, [1], GB, log_dirs=[1]) for n in range(9)]
    state = cluster(_half_cordoned(3), [TopicRow(topic="t", partitions=parts)])
    plan = make_plan(state, PlanOptions())
    assert {b for change in plan.partitions for b in change.to_add} == {2, 3}
    found = check_drain(state, [1], throttle_bytes_per_s=GB)
    assert found.can_drain
    assert found.missing_bytes == 0
    # two volumes of 1 TB, filled up to 85 %
    much = [partition(n, [1], 100 * GB, log_dirs=[1]) for n in range(20)]
    state = cluster(_half_cordoned(3), [TopicRow(topic="t", partitions=much)])
    assert check_drain(state, [1], throttle_bytes_per_s=GB).missing_bytes == (2000 - 1700) * GB
