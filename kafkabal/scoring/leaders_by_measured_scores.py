"""Leadership by measurement: a broker that takes twice as long to respond should lead half as many partitions.

No replica carries the load of a score such as ``latency``, so moving replicas cannot balance it. Moving leadership can:
brokers are due leaders in inverse proportion to their share of it, within limits::

    slowness = sum of weight x share of the measured scores / sum of the weights        1 where nothing was measured
    capacity = 1 / slowness, from a quarter to four times that of a broker at the mean
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.bands import CountBand
from kafkabal.scoring.registry import WeightedScore
from kafkabal.scoring.score_protocol import Need, ScoreBase
from kafkabal.scoring.shares import fair_shares

_MOST: Final = 4.0
"""Bounds the effect of one bad sample: a broker without any leaders would never be measured again."""


class MeasuredLeaders(ScoreBase):
    """Number of leaders, due in inverse proportion to measured scores."""

    name = "leaders"
    unit = "leaders"
    meaning = "number of partitions led by a broker, in proportion to how well it responds"
    band = CountBand()

    def __init__(self, measured: Sequence[WeightedScore]) -> None:
        self._measured = tuple(measured)

    def leader_load(self, cluster: ClusterState) -> F64:
        """One for each leader."""
        return np.ones(len(cluster.partitions))

    def capacity(self, cluster: ClusterState) -> F64:
        """1 for a broker at the mean, and for one that was not measured."""
        total = sum(w.weight for w in self._measured)
        slowness = sum(
            (w.weight / total * _share(w.score.base_load(cluster), cluster) for w in self._measured),
            start=np.zeros(len(cluster.brokers)),
        )
        return np.asarray(1 / np.clip(slowness, 1 / _MOST, _MOST), np.float64)


def leaders_by_measurement(scores: Sequence[WeightedScore]) -> tuple[WeightedScore, ...]:
    """Replace the leader score by one that follows the measured scores among these, if there are any."""
    measured = [w for w in scores if w.score.band is None and w.score.needs & {Need.TELEMETRY, Need.PROMETHEUS}]
    if not measured:
        return tuple(scores)
    rest = [w for w in scores if w not in measured and w.score.name != MeasuredLeaders.name]
    return (*rest, WeightedScore(MeasuredLeaders(measured)))


def _share(measured: F64, cluster: ClusterState) -> F64:
    known = cluster.brokers.is_live & ~np.isnan(measured)
    mean = float(measured[known].mean()) if known.any() else 0.0
    return fair_shares(np.where(known, measured, mean), mean) if mean > 0 else np.ones(len(measured))
