"""``latency``: how long a broker takes to respond to producers."""

from __future__ import annotations

from kafkabal.model import F64, PRODUCE_LATENCY, ClusterState
from kafkabal.scoring.score_protocol import Need, ScoreBase


class Latency(ScoreBase):
    """Mean produce latency as measured by clients; a broker that none of them wrote to has no fair share."""

    name = "latency"
    unit = "s"
    meaning = "mean latency of produce requests to a broker, as measured by clients"
    needs = frozenset({Need.TELEMETRY})

    def base_load(self, cluster: ClusterState) -> F64:
        """Seconds; NaN if not measured."""
        return cluster.measured_by_broker(PRODUCE_LATENCY)


SCORE = Latency()
