"""Forecasts the bytes of the logs in every log dir at given times, with their interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.history.growth_figures import futures_of
from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.replica_forecast import Forecast
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import F64, ClusterState


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LogDirForecast:
    """float64, shape (n_dirs, n_times): bytes that each log dir will hold."""

    bytes: F64
    low: F64
    """At the lower end of the 90% interval of what is written."""
    high: F64


def forecast_log_dirs(
    state: ClusterState, growth: PartitionGrowth, retention: Retention, after_s: F64
) -> LogDirForecast:
    """Forecast what every log dir will hold.

    Parameters
    ----------
    after_s
        float64, shape (n_times,): seconds from now.
    """
    futures = futures_of(state, growth, retention)
    middle, slow, fast = (_by_dir(each, after_s) for each in (futures.middle, futures.slow, futures.fast))
    return LogDirForecast(bytes=middle, low=np.minimum(slow, middle), high=np.maximum(fast, middle))


def _by_dir(forecast: Forecast, after_s: F64) -> F64:
    held, n = forecast.state.replicas.log_dir, len(forecast.state.log_dirs)
    rows = np.flatnonzero(held >= 0)
    found = np.empty((n, len(after_s)))
    for column, moment_s in enumerate(after_s.tolist()):
        found[:, column] = np.bincount(held[rows], forecast.replica_bytes_at(moment_s)[rows], n)
    return found
