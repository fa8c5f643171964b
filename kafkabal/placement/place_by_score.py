"""Places each replica where it increases the selected scores least."""

from __future__ import annotations

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.errors import LimitExceededError
from kafkabal.model import I32, I64, Bools, in_emptiest_racks
from kafkabal.placement.balance_leaders import balance_leaders
from kafkabal.placement.balance_replicas import balance_replicas
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.placement_request import PlacementRequest
from kafkabal.placement.room_reserve import RoomReserve
from kafkabal.placement.running_scores import RunningScores
from kafkabal.units import format_bytes, percent_as_option


def place_by_score(
    request: PlacementRequest, first_partition: int, board: RunningScores, sites: EligibleBrokers
) -> tuple[I32, I32]:
    """Place a topic, partition by partition; the broker that may lead first.

    Parameters
    ----------
    first_partition
        Row of the topic's partition 0 in the draft that the board was created from.

    Returns
    -------
    int32, int32, each of shape (n_partitions, replication_factor)
        Rows of brokers and of their log dirs; the first broker of each partition leads.

    Raises
    ------
    LimitExceededError
        If no broker that the rack rule allows has room.
    """
    brokers = np.empty((request.partitions, request.replication_factor), np.int32)
    dirs = np.empty_like(brokers)
    leader = np.empty(request.partitions, np.int32)
    is_tight = bool((sites.slots(request.partition_bytes, request.partitions)[sites.takes] < request.partitions).any())
    for p in range(request.partitions):
        chosen: list[int] = []
        reserve = RoomReserve(request, sites, request.partitions - p) if is_tight else None
        for position in range(request.replication_factor):
            candidates = _candidates(request, sites, chosen)
            if reserve is not None:
                candidates = reserve.kept(candidates, chosen)
            broker = _least(board, first_partition + p, candidates, leads=position == 0)
            board.put(first_partition + p, broker)
            dirs[p, position] = sites.put(broker, request.partition_bytes)
            chosen.append(broker)
        brokers[p] = chosen
        leader[p] = board.elect(first_partition + p, chosen)
    balance_replicas(
        brokers,
        dirs,
        leader,
        first_partition=first_partition,
        size_bytes=request.partition_bytes,
        board=board,
        sites=sites,
    )
    balance_leaders(brokers, leader, first_partition, board)
    position = (brokers == leader[:, None]).argmax(1)
    return _led_by_first(brokers, position), _led_by_first(dirs, position)


def _led_by_first(table: I32, position: I64) -> I32:
    """A copy of a table in which the entry of the leader has changed places with the first one."""
    each = np.arange(len(table))
    swapped = table.copy()
    swapped[each, position] = table[:, 0]
    swapped[:, 0] = table[each, position]
    return swapped


def _candidates(request: PlacementRequest, sites: EligibleBrokers, chosen: list[int]) -> Bools:
    """Brokers with room for the next replica, in the racks with the fewest replicas of the partition.

    An empty one fits on full brokers, too, but goes there only if no other can take it.
    """
    factor = request.replication_factor
    candidates = in_emptiest_racks(sites.with_room(request.partition_bytes), sites.rack, chosen)
    if not request.partition_bytes and _falls_short(candidates, sites, chosen, factor):
        candidates = in_emptiest_racks(sites.takes, sites.rack, chosen)
    if _falls_short(candidates, sites, chosen, factor):
        other = "other broker" if chosen else "broker"
        who = "broker in another rack" if chosen and sites.missing_racks(chosen, factor) else other
        raise LimitExceededError(
            f"topic {request.spec.name}: no {who} has room for a partition of {format_bytes(request.partition_bytes)} "
            f"below {percent_as_option(DEFAULT_LOG_DIR_LIMIT)} of a log dir's volume",
            hint="add disks or brokers, or lower the expected partition size",
        )
    return candidates


def _falls_short(candidates: Bools, sites: EligibleBrokers, chosen: list[int], factor: int) -> bool:
    """Whether no broker can take the replica, or only brokers in racks that the partition is in, and it needs more."""
    # if a rack that is taken already is the emptiest, no other one has a broker with room
    is_shared = (sites.rack[chosen] == sites.rack[candidates.argmax()]).any()
    return not candidates.any() or bool(is_shared and sites.missing_racks(chosen, factor))


def _least(board: RunningScores, partition: int, candidates: Bools, *, leads: bool) -> int:
    """The candidate that overshoots its bands least by it, then the smallest rise of the scores, then the fewest
    replicas placed so far, then the lowest id.

    An empty replica does not raise the disk score anywhere.
    """
    rows = np.flatnonzero(candidates)
    over, lift = board.rise(partition, leads=leads)
    within = rows[over[rows] <= over[rows].min()]
    equal = within[lift[within] <= lift[within].min()]
    return int(equal[np.argmin(board.placed[equal])])
