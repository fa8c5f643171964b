"""``prometheus``: any figure that monitoring keeps of the brokers."""

from __future__ import annotations

from kafkabal.model import F64, PROMETHEUS_VALUE, ClusterState
from kafkabal.scoring.score_protocol import Need, ScoreBase


class Prometheus(ScoreBase):
    """The value of the configured query; a broker that it does not name has no fair share."""

    name = "prometheus"
    unit = "as configured"
    meaning = "value of a Prometheus query with a broker label"
    needs = frozenset({Need.PROMETHEUS})

    def base_load(self, cluster: ClusterState) -> F64:
        """The value of each broker; NaN where the query has none."""
        return cluster.measured_by_broker(PROMETHEUS_VALUE)


SCORE = Prometheus()
