"""``leaders``: how many partitions a broker leads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.scoring.bands import CountBand
from kafkabal.scoring.protocol import ScoreBase

if TYPE_CHECKING:
    from kafkabal.model.state import F64, ClusterState


class LeaderCount(ScoreBase):
    """Partitions led from a broker, all brokers bearing the same number."""

    name = "leaders"
    unit = "leaders"
    meaning = "number of partitions that a broker leads"
    band = CountBand()

    def leader_load(self, cluster: ClusterState) -> F64:
        """One for each leader."""
        return np.ones(len(cluster.partitions))


SCORE = LeaderCount()
