"""Charts of disks over time: recorded usage, forecast, and when disks are full."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from kafkabal.history import LogDirForecast, MeasuredGrowth, forecast_cluster, forecast_log_dirs
from kafkabal.inspection import dir_figures
from kafkabal.model import F64
from kafkabal.reporting.report import LineChart
from kafkabal.units import DAY_S, format_duration

_MOST_CHARTS: Final = 6
"""The disks that are full first; the table has all."""
_MOMENTS: Final = 40
"""One point per 16 of the 640 pixels of a chart."""
_FARTHEST_S: Final = 90 * DAY_S
"""Three months: intervals of longer forecasts exceed the disk."""
_BEYOND_FULL: Final = 1.25
"""The line must visibly cross the limit, not end at it."""


def growth_charts(growth: MeasuredGrowth) -> Sequence[LineChart]:
    """One chart for each of the disks that are full first, or else for the fullest ones."""
    state = growth.state
    dirs, used = state.log_dirs, dir_figures(state).bytes.astype(np.float64)
    full_s = forecast_cluster(state, growth.partitions, growth.retention).full_after_s()
    limit = np.where((dirs.usable_bytes >= 0) & ~np.isnan(full_s), used + dirs.usable_bytes, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        fullness = np.nan_to_num(used / limit)
    shown = np.lexsort((-fullness, np.where(np.isnan(full_s), np.inf, full_s)))[:_MOST_CHARTS]
    after_s = np.linspace(0.0, _horizon_s(growth, full_s[shown]), _MOMENTS)
    forecast = forecast_log_dirs(state, growth.partitions, growth.retention, after_s)
    return [_chart(growth, int(row), used, limit, full_s, after_s, forecast) for row in shown.tolist()]


def _horizon_s(growth: MeasuredGrowth, full_s: F64) -> float:
    """How far to forecast: as long as the recorded time, or until the shown disks are full, at most three months."""
    recorded_s = growth.now_s - growth.past[0].at_s
    near = full_s[np.isfinite(full_s)]
    full_by_s = _BEYOND_FULL * float(near.max()) if near.size else 0.0
    return min(max(recorded_s, full_by_s, 60.0), max(_FARTHEST_S, recorded_s))


def _chart(
    growth: MeasuredGrowth, row: int, used: F64, limit: F64, full_s: F64, after_s: F64, forecast: LogDirForecast
) -> LineChart:
    dirs = growth.state.log_dirs
    broker, path = int(growth.state.brokers.id[dirs.broker[row]]), dirs.path[row]
    recorded = ((point.at_s, point.used_bytes.get((broker, path))) for point in growth.past)
    lines = zip(after_s.tolist(), forecast.bytes[row], forecast.low[row], forecast.high[row], strict=True)
    return LineChart(
        title=f"{path} of broker {broker}",
        note=_note(float(full_s[row])),
        past=[
            *((at_s, float(held)) for at_s, held in recorded if held is not None and at_s < growth.now_s),
            (growth.now_s, float(used[row])),
        ],
        future=[(growth.now_s + t, float(middle), float(low), float(high)) for t, middle, low, high in lines],
        limit=None if math.isnan(limit[row]) else float(limit[row]),
    )


def _note(full_s: float) -> str:
    if math.isnan(full_s):
        return "size of the disk unknown"
    return f"full in {format_duration(full_s)}" if math.isfinite(full_s) else "never full, by this forecast"
