"""Growth by broker, log dir and topic: bytes per day, an interval, and when it is full or steady."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkabal.history.history_point import HistoryPoint
from kafkabal.history.partition_growth import PartitionGrowth
from kafkabal.history.replica_forecast import FARTHEST_FULL_S, Forecast, forecast_cluster
from kafkabal.history.topic_retention_limits import Retention
from kafkabal.model import F64, I32, I64, ClusterState, LogDirState, log_bytes, replica_bytes

# two-sided 90% quantiles of Student's t by degrees of freedom (number of spans minus one)
_QUANTILES: Final = (np.nan, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HolderGrowth:
    """One value per broker or log dir; NaN if unknown, infinite for never."""

    written: F64
    """Bytes per second written to its replicas."""
    low: F64
    high: F64
    """Ends of the 90% interval of :attr:`written`."""
    net: F64
    """Bytes per second by which its logs have grown or shrunk: a linear trend."""
    steady_bytes: F64
    """Bytes at which its replicas become steady."""
    full_s: F64
    """Seconds until its volume is full (for a broker: the first of its volumes)."""
    full_low_s: F64
    full_high_s: F64
    """The same at the ends of the interval of what is written."""
    straight_full_s: F64
    """The same by the linear trend, for comparison."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicGrowth:
    """One value per topic."""

    written: F64
    """Bytes per second written to all its replicas."""
    low: F64
    high: F64
    bytes: I64
    steady_bytes: F64
    """Bytes at which all its replicas become steady; infinite if nothing limits them."""
    steady_s: F64
    """Seconds until it neither grows nor shrinks any more; 0 if it already does not."""
    limit: tuple[str, ...]
    """``time``, ``bytes``, ``none`` or ``compaction``."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Futures:
    """The forecast, and the forecasts at the ends of the interval for the whole cluster."""

    middle: Forecast
    slow: Forecast
    fast: Forecast


def dir_growth(
    state: ClusterState, growth: PartitionGrowth, retention: Retention, oldest: HistoryPoint, now_s: float
) -> HolderGrowth:
    """Growth of every log dir.

    Parameters
    ----------
    oldest
        The point at which the linear trend starts.
    """
    holder, n = state.replicas.log_dir, len(state.log_dirs)
    written, low, high = _interval(growth, state.replicas.partition, holder, n)
    futures = futures_of(state, growth, retention)
    net = _net(state, oldest, now_s)
    return HolderGrowth(
        written=written,
        low=low,
        high=high,
        net=net,
        steady_bytes=np.where(
            state.log_dirs.state == LogDirState.OFFLINE, np.nan, _sum(holder, futures.middle.steady_bytes(), n)
        ),
        full_s=futures.middle.full_after_s(),
        full_low_s=futures.fast.full_after_s(),
        full_high_s=futures.slow.full_after_s(),
        straight_full_s=_straight(state, net),
    )


def broker_growth(state: ClusterState, by_dir: HolderGrowth, growth: PartitionGrowth) -> HolderGrowth:
    """Growth of every broker, from its log dirs: it is full as soon as its first volume is."""
    broker, n = state.log_dirs.broker, len(state.brokers)
    written, low, high = _interval(growth, state.replicas.partition, state.replicas.broker, n)

    def where_known(found: F64, values: F64) -> F64:
        return np.where(np.bincount(broker[~np.isnan(values)], minlength=n) > 0, found, np.nan)

    def total(values: F64) -> F64:
        return where_known(_sum(broker, np.nan_to_num(values, nan=0.0, posinf=np.inf), n), values)

    def soonest(values: F64) -> F64:
        found = np.full(n, np.inf)
        np.fmin.at(found, broker, values)
        return where_known(found, values)

    return HolderGrowth(
        written=written,
        low=low,
        high=high,
        net=total(by_dir.net),
        steady_bytes=total(by_dir.steady_bytes),
        full_s=soonest(by_dir.full_s),
        full_low_s=soonest(by_dir.full_low_s),
        full_high_s=soonest(by_dir.full_high_s),
        straight_full_s=soonest(by_dir.straight_full_s),
    )


def topic_growth(state: ClusterState, growth: PartitionGrowth, retention: Retention) -> TopicGrowth:
    """Growth of every topic."""
    n, topic = len(state.topics), state.partitions.topic
    of_replica = topic[state.replicas.partition]
    written, low, high = _interval(growth, state.replicas.partition, of_replica, n)
    forecast = forecast_cluster(state, growth, retention)
    changing_s = np.where(forecast.slope != 0, forecast.until_s, 0.0)
    steady_s = np.zeros(n)
    np.maximum.at(steady_s, of_replica, changing_s)
    first = np.searchsorted(topic, np.arange(n))
    has_rows = np.bincount(topic, minlength=n) > 0
    fastest = np.zeros(n)
    np.maximum.at(fastest, topic, growth.mean)
    return TopicGrowth(
        written=written,
        low=low,
        high=high,
        bytes=_sum(of_replica, replica_bytes(state).astype(np.float64), n).astype(np.int64),
        steady_bytes=_sum(of_replica, forecast.steady_bytes(), n),
        steady_s=steady_s,
        limit=tuple(
            _limit(retention, row, rate) if known else "none"
            for row, rate, known in zip(first.tolist(), fastest.tolist(), has_rows.tolist(), strict=True)
        ),
    )


def soonest_full_s(state: ClusterState, growth: PartitionGrowth, retention: Retention) -> float | None:
    """Seconds until the first volume of the cluster is full; infinite for never, None if no size is known."""
    full = forecast_cluster(state, growth, retention).full_after_s()
    known = full[~np.isnan(full)]
    return float(known.min()) if known.size else None


def _limit(retention: Retention, row: int, bytes_per_s: float) -> str:
    """What limits a partition into which so many bytes are written."""
    if retention.is_compacted[row]:
        return "compaction"
    keep_s, keep_bytes = float(retention.keep_s[row]), float(retention.keep_bytes[row])
    if math.isinf(keep_s):
        return "none" if math.isinf(keep_bytes) else "bytes"
    return "bytes" if keep_bytes < bytes_per_s * keep_s else "time"


def futures_of(state: ClusterState, growth: PartitionGrowth, retention: Retention) -> Futures:
    """Forecasts at the ends of the interval for what is written to the whole cluster.

    The load of a cluster rises and falls as a whole, so its overall variation matters; variations of single partitions
    cancel out on a disk that holds hundreds.
    """
    all_of_it = np.zeros(len(state.replicas), np.int32)
    written, low, high = (float(a[0]) for a in _interval(growth, state.replicas.partition, all_of_it, 1))
    slow, fast = (low / written, high / written) if written > 0 and not np.isnan(low) else (1.0, 1.0)

    def make(factor: float) -> Forecast:
        return forecast_cluster(state, growth, retention, rate_factor=factor)

    middle = make(1.0)
    return Futures(
        middle=middle, slow=middle if slow == 1 else make(max(slow, 0.0)), fast=middle if fast == 1 else make(fast)
    )


def _interval(growth: PartitionGrowth, partition: I32, holder: I32, n: int) -> tuple[F64, F64, F64]:
    """Bytes per second by holder, and the ends of the 90% interval, which are NaN with a single span."""
    mean = _sum(holder, growth.mean[partition], n)
    spans = len(growth.span_s)
    if spans < 2:
        return mean, np.full(n, np.nan), np.full(n, np.nan)
    each = np.vstack([_sum(holder, np.nan_to_num(rates)[partition], n) for rates in growth.rates])
    weight = growth.span_s / growth.span_s.sum()
    spread = np.sqrt((weight[:, np.newaxis] * (each - mean) ** 2).sum(axis=0) * spans / (spans - 1))
    margin = spread / np.sqrt(spans) * _QUANTILES[min(spans - 1, len(_QUANTILES) - 1)]
    return mean, np.maximum(mean - margin, 0.0), mean + margin


def _net(state: ClusterState, oldest: HistoryPoint, now_s: float) -> F64:
    """float64, shape (n_dirs,): bytes per second by which the logs of each dir have grown; NaN for one that is new, or
    is or was offline."""
    dirs, used = state.log_dirs, log_bytes(state.log_dirs, state.replicas)
    ids = state.brokers.id[dirs.broker].tolist()
    before = [oldest.used_bytes.get((broker, path)) for broker, path in zip(ids, dirs.path, strict=True)]
    elapsed_s = max(now_s - oldest.at_s, 1e-9)
    past = np.array([np.nan if held is None else held for held in before], np.float64)
    return np.where(dirs.state == LogDirState.OFFLINE, np.nan, (used - past) / elapsed_s)


def _straight(state: ClusterState, net: F64) -> F64:
    dirs = state.log_dirs
    free = np.where(dirs.usable_bytes >= 0, dirs.usable_bytes, np.nan)
    on_volume = np.bincount(dirs.volume, np.nan_to_num(net))[dirs.volume] if len(dirs) else np.empty(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        full_s = np.where(np.isnan(free), np.nan, np.where(on_volume > 0, free / on_volume, np.inf))
    return np.where(full_s > FARTHEST_FULL_S, np.inf, full_s)


def _sum(holder: I32 | I64, values: F64, n: int) -> F64:
    """float64, shape (n,): sums by holder; -1 stands for no holder."""
    rows = holder >= 0
    return np.asarray(np.bincount(holder[rows], values[rows], n), np.float64)
