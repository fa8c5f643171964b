"""Leadership by what is measured of brokers: one that takes twice as long to answer is to lead half as many partitions.

A score such as ``latency`` is a load that no replica carries, so that nothing can be moved to make it even. Leaders are
what can be: they are due in inverse proportion to its share, within limits::

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
"""One bad sample must not take all leadership from a broker, or it would never be measured again."""


class MeasuredLeaders(ScoreBase):
    """Leaders, due in inverse proportion to measured scores."""

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
    """The same scores, with leaders due by those among them that are measured of brokers, if there are any."""
    measured = [w for w in scores if w.score.band is None and w.score.needs & {Need.TELEMETRY, Need.PROMETHEUS}]
    if not measured:
        return tuple(scores)
    rest = [w for w in scores if w not in measured and w.score.name != MeasuredLeaders.name]
    return (*rest, WeightedScore(MeasuredLeaders(measured)))


def _share(measured: F64, cluster: ClusterState) -> F64:
    known = cluster.brokers.is_live & ~np.isnan(measured)
    mean = float(measured[known].mean()) if known.any() else 0.0
    return fair_shares(np.where(known, measured, mean), mean) if mean > 0 else np.ones(len(measured))
