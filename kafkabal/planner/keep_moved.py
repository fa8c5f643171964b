"""Replicas that earlier plans have brought to their brokers, and that are to stay there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import I32, Bools, ClusterState
from kafkabal.plan import Plan, partition_rows


def kept_slots(cluster: ClusterState, plans: Sequence[Plan], previous: I32) -> Bools:
    """Slots that one of the plans has filled; what was planned and never applied leaves no trace.

    Parameters
    ----------
    previous
        shape (n_partitions, width): broker of each slot, -1 where there is none.

    Returns
    -------
    bool, shape (n_partitions, width)

    Raises
    ------
    UsageError
        If a plan was made for another cluster.
    """
    kept = np.zeros(previous.shape, np.bool_)
    for plan in plans:
        if plan.cluster_id not in {None, cluster.cluster_id}:
            raise UsageError(f"plan {plan.plan_id} is for another cluster: {plan.cluster_id}, not {cluster.cluster_id}")
        adding = {change.name: change.adding for change in plan.partitions}
        for name, row in partition_rows(cluster, adding):
            brokers = [b for b in map(cluster.brokers.index_of, adding[name]) if b >= 0]
            kept[row] |= np.isin(previous[row], brokers)
    return kept
