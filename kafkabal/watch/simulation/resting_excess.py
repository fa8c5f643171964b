"""Whether a watch has to leave a broker outside its band, because what it holds may not move again within the day.

::

    resting[b] = bytes of the replicas that arrived on broker b within the last day
    fair[b]    = bytes of all replicas x capacity[b] / capacity of all brokers

No plan that leaves those replicas in place brings a broker with resting > (1 + outer tolerance) x fair inside the outer
band: moves do not change how many bytes there are in all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafkabal.model import ClusterState, replica_bytes
from kafkabal.plan import Plan
from kafkabal.planner import kept_replicas
from kafkabal.scoring import disk_capacity


def exceeds_by_resting(state: ClusterState, plans_of_day: Sequence[Plan], outer_tolerance: float) -> bool:
    """Whether some broker is outside the outer band of the score ``disk`` by resting replicas alone."""
    rests, bytes_, capacity = kept_replicas(state, plans_of_day), replica_bytes(state), disk_capacity(state)
    resting = np.bincount(state.replicas.broker[rests], bytes_[rests], len(capacity))
    return bool((resting > (1 + outer_tolerance) * bytes_.sum() * capacity / capacity.sum()).any())
