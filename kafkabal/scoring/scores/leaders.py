"""``leaders``: how many partitions a broker leads."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.bands import CountBand
from kafkabal.scoring.score_base_classes import CountScore


class LeaderCount(CountScore):
    """Partitions led from a broker."""

    name = "leaders"
    unit = "leaders"
    meaning = "number of partitions led by a broker"
    band = CountBand()

    def leader_load(self, cluster: ClusterState) -> F64:
        """One for each leader."""
        return np.ones(len(cluster.partitions))


SCORE = LeaderCount()
