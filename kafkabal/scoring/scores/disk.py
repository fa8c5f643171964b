"""``disk``: bytes on a broker relative to the size of its volumes."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, ClusterState, replica_bytes
from kafkabal.scoring.bands import DiskBand
from kafkabal.scoring.score_capacities import disk_capacity
from kafkabal.scoring.score_protocol import Need, ScoreBase


class Disk(ScoreBase):
    """Bytes of the replicas relative to the total size of the broker's distinct volumes."""

    name = "disk"
    unit = "bytes"
    meaning = "bytes of the replicas on a broker, relative to the size of its volumes"
    needs = frozenset({Need.LOG_DIRS, Need.CAPACITY})
    band = DiskBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """Bytes of each replica."""
        return replica_bytes(cluster).astype(np.float64)

    def capacity(self, cluster: ClusterState) -> F64:
        """See :func:`~kafkabal.scoring.score_capacities.disk_capacity`."""
        return disk_capacity(cluster)


SCORE = Disk()
