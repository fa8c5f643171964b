"""``bytes-out``: bytes per second that a broker sends to followers and consumers."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.score_base_classes import NetworkScore


class BytesOut(NetworkScore):
    """What a leader sends: one copy to each follower, and what consumer groups read.

    Reads without committed offsets, and reads from followers (KIP-392), are not seen.
    """

    name = "bytes-out"
    meaning = "bytes per second sent by a broker to followers and to consumers that commit offsets"
    band = RelativeBand()

    def leader_load(self, cluster: ClusterState) -> F64:
        """``rate x (RF - 1) + consumed rate`` of each partition; an unsampled rate counts as 0."""
        p = cluster.partitions
        replicated = np.nan_to_num(p.in_bytes_per_s) * (cluster.replication_factor - 1)
        return replicated + np.nan_to_num(p.out_bytes_per_s)


SCORE = BytesOut()
