"""How far consumer groups are behind, in records and in the time it took to write them."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace as with_fields

from kafkabal.inspection import group_lag, inspect_cluster
from kafkabal.model import ClusterState, CommittedOffsets
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.reporting.inspection.inspection_report import inspection_report
from kafkabal.reporting.output_capabilities import PLAIN
from kafkabal.reporting.output_formats import render
from kafkabal.testing.cluster_builders import brokers, cluster, partition

GROUPS = ("idle", "late", "live", "new")


@pytest.fixture
def state() -> ClusterState:
    """Two partitions of 1000 records of 10 bytes; to the first 50 bytes a second are written, to the second none."""
    rows = [
        with_fields(partition(n, [1], 10_000), start_offset=0, end_offset=1000, in_bytes_per_s=rate)
        for n, rate in enumerate((50.0, 0.0))
    ]
    committed = CommittedOffsets(
        groups=GROUPS,
        group=np.array([0, 1, 2, 3], np.int32),
        partition=np.array([1, 0, 0, 0], np.int32),
        offset=np.array([900, 400, 1000, -1], np.int64),
    )
    return cluster(brokers(1), [TopicRow(topic="t", partitions=rows)]).replace(committed=committed)


def test_lag_in_records_and_seconds(state: ClusterState) -> None:
    """600 records at 5 per second are two minutes; a group that is not behind has 0 s; unknown lags are NaN."""
    lag = group_lag(state)

    assert lag.groups == GROUPS
    np.testing.assert_array_equal(lag.records, [100, 600, 0, np.nan])
    np.testing.assert_array_equal(lag.seconds, [np.nan, 120, 0, np.nan])


def test_lag_is_a_metric_of_each_group(state: ClusterState) -> None:
    """With the name of the group, largest lag first; without group offsets no series is written."""

    def series(state: ClusterState) -> list[str]:
        report = inspection_report(inspect_cluster(state, ()), read_at_s=1.0, cluster_label="c")
        return [line for line in render(report, "prometheus", PLAIN).splitlines() if line.startswith("kafkabal_group")]

    assert series(state)[:2] == [
        'kafkabal_group_lag_records{cluster="c",group="late"} 600.0',
        'kafkabal_group_lag_records{cluster="c",group="idle"} 100.0',
    ]
    assert 'kafkabal_group_lag_seconds{cluster="c",group="late"} 120.0' in series(state)
    assert series(state.replace(committed=CommittedOffsets())) == []
