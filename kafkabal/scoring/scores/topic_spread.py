"""``topic-spread``: how many replicas of one topic a broker holds."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, ClusterState
from kafkabal.scoring.bands import SpreadBand
from kafkabal.scoring.score_base_classes import CountScore


class TopicSpread(CountScore):
    """Replicas of one topic on a broker, within each topic."""

    name = "topic-spread"
    unit = "replicas of a topic"
    meaning = "number of replicas of one topic on a broker, within each topic"
    band = SpreadBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """One for each replica."""
        return np.ones(len(cluster.replicas))

    def group(self, cluster: ClusterState) -> I32:
        """The topic of each replica."""
        return cluster.partitions.topic[cluster.replicas.partition]


SCORE = TopicSpread()
