"""Space up to the limit of each volume, below 0 where a volume is beyond it.

A run starts a copy only where it fits below the limit while all other replicas are still there. So a broker beyond its
limit receives nothing until so much has left it that the copy fits: an exchange against a larger replica is not enough.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.model import I64, ClusterState, volume_room_bytes


def volume_headroom_bytes(state: ClusterState, limit: float) -> I64:
    """int64, shape (n_dirs,): bytes that may be added to the volume of each dir; if negative, that have to leave it."""
    dirs = state.log_dirs
    # room is never below 0: with its own size on top of what is usable, no volume is beyond its limit
    more = np.where((dirs.total_bytes >= 0) & (dirs.usable_bytes >= 0), dirs.total_bytes, 0)
    roomy = state.replace(log_dirs=replace(dirs, usable_bytes=dirs.usable_bytes + more))
    return np.asarray(volume_room_bytes(roomy, limit) - more)
