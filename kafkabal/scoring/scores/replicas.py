"""``replicas``: how many replicas a broker holds."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.bands import CountBand
from kafkabal.scoring.score_base_classes import CountScore


class ReplicaCount(CountScore):
    """Replicas on a broker."""

    name = "replicas"
    unit = "replicas"
    meaning = "number of replicas on a broker"
    band = CountBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """One for each replica."""
        return np.ones(len(cluster.replicas))


SCORE = ReplicaCount()
