"""``replicas``: how many replicas a broker holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.scoring.bands import CountBand
from kafkabal.scoring.protocol import ScoreBase

if TYPE_CHECKING:
    from kafkabal.model.state import F64, ClusterState


class ReplicaCount(ScoreBase):
    """Replicas on a broker, all brokers bearing the same number."""

    name = "replicas"
    unit = "replicas"
    meaning = "number of replicas on a broker"
    band = CountBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """One for each replica."""
        return np.ones(len(cluster.replicas))


SCORE = ReplicaCount()
