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
    """One chart for each of the disks that are full first, or else for the fullest ones.

    Log dirs on one volume share its room, and so a chart.
    """
    state = growth.state
    dirs = state.log_dirs
    used = _on_volumes(growth, dir_figures(state).bytes.astype(np.float64))
    full_s = forecast_cluster(state, growth.partitions, growth.retention).full_after_s()
    limit = np.where((dirs.usable_bytes >= 0) & ~np.isnan(full_s), used + dirs.usable_bytes, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        fullness = np.nan_to_num(used / limit)
    order = np.lexsort((-fullness, np.where(np.isnan(full_s), np.inf, full_s)))
    _, first = np.unique(dirs.volume[order], return_index=True)
    shown = order[np.sort(first)][:_MOST_CHARTS]
    after_s = np.linspace(0.0, _horizon_s(growth, full_s[shown]), _MOMENTS)
    forecast = forecast_log_dirs(state, growth.partitions, growth.retention, after_s)
    return [_chart(growth, int(row), used, limit, full_s, after_s, forecast) for row in shown.tolist()]


def _on_volumes(growth: MeasuredGrowth, values: F64) -> F64:
    """The sum of the values of all dirs on the volume of each."""
    volume = growth.state.log_dirs.volume
    return np.asarray(np.bincount(volume, values)[volume] if len(volume) else values, np.float64)


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
    on_it = np.flatnonzero(dirs.volume == dirs.volume[row]).tolist()
    broker, paths = int(growth.state.brokers.id[dirs.broker[row]]), [dirs.path[each] for each in on_it]
    recorded = ((point.at_s, [point.used_bytes.get((broker, path)) for path in paths]) for point in growth.past)
    futures = (each[on_it].sum(axis=0) for each in (forecast.bytes, forecast.low, forecast.high))
    lines = zip(after_s.tolist(), *futures, strict=True)
    return LineChart(
        title=f"{', '.join(paths)} of broker {broker}",
        note=_note(float(full_s[row])),
        past=[
            *(
                (at_s, float(sum(filter(None, held))))
                for at_s, held in recorded
                if None not in held and at_s < growth.now_s
            ),
            (growth.now_s, float(used[row])),
        ],
        future=[(growth.now_s + t, float(middle), float(low), float(high)) for t, middle, low, high in lines],
        limit=None if math.isnan(limit[row]) else float(limit[row]),
    )


def _note(full_s: float) -> str:
    if math.isnan(full_s):
        return "size of the disk unknown"
    return f"full in {format_duration(full_s)}" if math.isfinite(full_s) else "never full, by this forecast"
