"""``prometheus``: any per-broker figure that Prometheus knows."""

from __future__ import annotations

from kafkabal.model import F64, PROMETHEUS_VALUE, ClusterState
from kafkabal.scoring.score_protocol import Need, ScoreBase


class Prometheus(ScoreBase):
    """The value of the configured query; a broker that it does not return has no fair share."""

    name = "prometheus"
    unit = "as configured"
    meaning = "value of a Prometheus query with a broker label"
    needs = frozenset({Need.PROMETHEUS})

    def base_load(self, cluster: ClusterState) -> F64:
        """The value of each broker; NaN if the query returned none."""
        return cluster.measured_by_broker(PROMETHEUS_VALUE)


SCORE = Prometheus()
