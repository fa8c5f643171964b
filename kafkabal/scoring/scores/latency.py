"""``latency``: how long a broker takes to answer producers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.model.state import PRODUCE_LATENCY
from kafkabal.scoring.protocol import Need, ScoreBase

if TYPE_CHECKING:
    from kafkabal.model.state import F64, ClusterState


class Latency(ScoreBase):
    """Mean produce latency as clients measured it; a broker that none of them wrote to has no fair share."""

    name = "latency"
    unit = "s"
    meaning = "mean time that a produce request to a broker takes, as clients measure it"
    needs = frozenset({Need.TELEMETRY})

    def base_load(self, cluster: ClusterState) -> F64:
        """Seconds; NaN where nobody measured."""
        return cluster.measured.get(PRODUCE_LATENCY, np.full(len(cluster.brokers), np.nan))


SCORE = Latency()
