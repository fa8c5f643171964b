"""Charts of disks over time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.history import MeasuredGrowth, measure_growth, retention_of
from kafkabal.history.history_point import point_of
from kafkabal.history.topic_retention_limits import kafka_defaults
from kafkabal.model import BrokerRow, LogDirRow, TopicRow
from kafkabal.reporting.inspection.disk_charts import growth_charts
from kafkabal.testing.cluster_builders import cluster, partition

MB = 10**6
HOUR_S = 3600.0
NOW_S = 1_700_000_000.0


def test_log_dirs_on_one_volume_share_a_chart() -> None:
    """200 MB in two dirs grow by 100 MB an hour, all in one of them: their line crosses the limit of the volume after
    the eight hours that its note says."""
    dirs = [LogDirRow(path=f"/d{d}", total_bytes=1000 * MB, usable_bytes=800 * MB, volume="v") for d in (0, 1)]
    partitions = [partition(d, [1], 100 * MB, log_dirs=[d]) for d in (0, 1)]
    rows = TopicRow(topic="t", partitions=partitions, configs={"retention.ms": "-1"})
    state = cluster([BrokerRow(broker=1, log_dirs=dirs)], [rows])
    offsets = np.array([1000, 1000])
    state = state.replace(partitions=replace(state.partitions, start_offset=offsets * 0, end_offset=offsets))
    before = replace(
        point_of(state, NOW_S - HOUR_S),
        end_offset=np.array([0, 1000]),
        used_bytes={(1, "/d0"): 0, (1, "/d1"): 100 * MB},
    )
    retention = retention_of(state, kafka_defaults())
    growth = MeasuredGrowth(
        state=state,
        partitions=measure_growth([before], state, NOW_S, retention.is_compacted),
        retention=retention,
        past=(before,),
        now_s=NOW_S,
        is_default_read=True,
    )

    (chart,) = growth_charts(growth)

    assert (chart.title, chart.note, chart.limit) == ("/d0, /d1 of broker 1", "full in 8 h", 1000 * MB)
    assert chart.past == [(NOW_S - HOUR_S, 100 * MB), (NOW_S, 200 * MB)]
    for at_s, middle, _, _ in chart.future:
        assert middle == pytest.approx(200 * MB + (at_s - NOW_S) / HOUR_S * 100 * MB)
