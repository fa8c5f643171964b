"""``disk``: bytes on a broker against what its volumes hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.errors import ConfigError
from kafkabal.model.capacity import broker_capacity_bytes, is_silent
from kafkabal.model.sizes import replica_bytes
from kafkabal.scoring.bands import RelativeBand
from kafkabal.scoring.protocol import Need, ScoreBase

if TYPE_CHECKING:
    from kafkabal.model.state import F64, ClusterState


class Disk(ScoreBase):
    """Bytes of the replicas against the total bytes of the broker's distinct volumes."""

    name = "disk"
    unit = "bytes"
    meaning = "bytes of the replicas on a broker, against the size of its volumes"
    needs = frozenset({Need.LOG_DIRS, Need.CAPACITY})
    band = RelativeBand()

    def replica_load(self, cluster: ClusterState) -> F64:
        """Bytes of each replica."""
        return replica_bytes(cluster).astype(np.float64)

    def capacity(self, cluster: ClusterState) -> F64:
        """Bytes of the volumes; equal for all where no broker tells; 1 for brokers that are dead or silent.

        Raises
        ------
        ConfigError
            If only some brokers tell.
        """
        known = broker_capacity_bytes(cluster)
        asked = cluster.brokers.is_live & ~is_silent(cluster)
        missing = asked & np.isnan(known)
        if missing.any() and not (missing == asked).all():
            ids = ", ".join(map(str, cluster.brokers.id[missing].tolist()))
            raise ConfigError(
                f"the capacity of broker {ids} is not known, that of others is",
                hint="state it in the profile, as in  capacity: {default: 4TiB, 7: {/d0: 2TiB}}",
            )
        return np.where(np.isnan(known), 1.0, known)


SCORE = Disk()
