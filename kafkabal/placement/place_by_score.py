"""Place each replica where the chosen scores rise least."""

from __future__ import annotations

import numpy as np

from kafkabal.errors import LimitExceededError
from kafkabal.model import I32, Bools
from kafkabal.placement.eligible_brokers import EligibleBrokers, apart
from kafkabal.placement.placement_request import PlacementRequest
from kafkabal.placement.running_scores import RunningScores
from kafkabal.units import format_bytes


def place_by_score(
    request: PlacementRequest, first_partition: int, board: RunningScores, sites: EligibleBrokers
) -> tuple[I32, I32]:
    """Place a topic, partition by partition, the leader first.

    Parameters
    ----------
    first_partition
        Row of the topic's partition 0 in the draft that the board was made for.

    Returns
    -------
    int32, int32, each of shape (n_partitions, replication_factor)
        Rows of brokers and of their log dirs; the first broker of each partition leads.

    Raises
    ------
    LimitExceededError
        If no broker that racks allow has room.
    """
    brokers = np.empty((request.partitions, request.replication_factor), np.int32)
    dirs = np.empty_like(brokers)
    for p in range(request.partitions):
        chosen: list[int] = []
        for slot in range(request.replication_factor):
            candidates = _candidates(request, sites, chosen)
            broker = _least(board, first_partition + p, candidates, leads=slot == 0)
            board.put(first_partition + p, broker, leads=slot == 0)
            dirs[p, slot] = sites.put(broker, request.partition_bytes)
            chosen.append(broker)
        brokers[p] = chosen
    return brokers, dirs


def _candidates(request: PlacementRequest, sites: EligibleBrokers, chosen: list[int]) -> Bools:
    """Brokers that may take the next replica: on a rack without one first, then wherever there is room."""
    roomy = sites.with_room(request.partition_bytes)
    widest = apart(sites.rack, chosen, sites.takes)
    if (widest & roomy).any():
        return np.asarray(widest & roomy)
    is_rack_free = not np.isin(sites.rack[widest], sites.rack[chosen]).any()
    narrower = roomy.copy()
    narrower[chosen] = False
    if is_rack_free or not narrower.any():
        raise LimitExceededError(
            f"topic {request.spec.name}: no broker{' in another rack' if chosen and is_rack_free else ''} "
            f"has room for a partition of {format_bytes(request.partition_bytes)}",
            hint="add disks or brokers, or lower the expected partition size",
        )
    return apart(sites.rack, chosen, narrower)


def _least(board: RunningScores, partition: int, candidates: Bools, *, leads: bool) -> int:
    """The candidate that overshoots its bands least, then lifts the scores least, then has the lowest id."""
    rows = np.flatnonzero(candidates)
    over, lift = board.rise(partition, leads=leads)
    within = rows[over[rows] <= over[rows].min()]
    return int(within[np.argmin(lift[within])])
