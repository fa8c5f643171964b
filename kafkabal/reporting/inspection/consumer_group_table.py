"""One row per consumer group, largest lag first; for programs, mainly for metrics."""

from __future__ import annotations

import numpy as np

from kafkabal.inspection import group_lag
from kafkabal.model import ClusterState
from kafkabal.reporting.report import Column, Metric, Table, ValueKind, known


def consumer_group_table(state: ClusterState) -> Table:
    """Groups and their lag; no rows if group offsets were not read."""
    lag = group_lag(state)
    order = np.lexsort((np.arange(len(lag.groups)), -np.nan_to_num(lag.records)))
    return Table(
        key="groups",
        for_programs=True,
        columns=(
            Column(key="group", title="", values=[lag.groups[i] for i in order.tolist()], label=True),
            Column(
                key="lag_records",
                title="",
                kind=ValueKind.NUMBER,
                values=known(lag.records[order]),
                metric=Metric("kafkabal_group_lag_records", "Records that a consumer group is behind."),
            ),
            Column(
                key="lag_seconds",
                title="",
                kind=ValueKind.DURATION,
                values=known(lag.seconds[order]),
                metric=Metric(
                    "kafkabal_group_lag_seconds", "How long it took to write what a consumer group is behind."
                ),
            ),
        ),
    )
