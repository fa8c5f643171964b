"""``leader-bytes-in``: bytes per second written to the partitions that a broker leads."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.score_base_classes import NetworkScore


class LeaderBytesIn(NetworkScore):
    """Rate at which producers write to each partition, counted on its leader."""

    name = "leader-bytes-in"
    meaning = "bytes per second written by producers to the partitions that a broker leads"
    band = RelativeBand()

    def leader_load(self, cluster: ClusterState) -> F64:
        """Rate of each partition; an unsampled rate counts as 0."""
        return np.nan_to_num(cluster.partitions.in_bytes_per_s)


SCORE = LeaderBytesIn()
