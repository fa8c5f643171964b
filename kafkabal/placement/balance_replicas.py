"""Balances the followers of one new topic among all brokers that may hold them."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, Bools
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.reducing_path import reducing_path
from kafkabal.placement.running_scores import RunningScores


def balance_replicas(
    brokers: I32,
    dirs: I32,
    leader: I32,
    *,
    first_partition: int,
    size_bytes: int,
    board: RunningScores,
    sites: EligibleBrokers,
) -> None:
    """Replace followers until no path of replacements reduces the scores any more; no leader changes.

    A broker that leads too few partitions is given more replicas, though followers could be fewer instead: 12
    partitions on seven empty brokers in three racks put 7 and 5 replicas on the two brokers of one rack.

    Parameters
    ----------
    brokers, dirs
        int32, shape (n_partitions, replication_factor): rows of brokers and of their log dirs; changed in place.
    leader
        int32, shape (n_partitions,): the row of each leader.
    first_partition
        Row of the topic's partition 0 in the draft that the board was created from.
    size_bytes
        Expected size of each partition.
    """
    ways = np.zeros((len(sites.rack),) * 2, np.int32)
    _count_replacements(ways, brokers, leader, sites, 1)
    for _ in range(brokers.size):
        more = board.rise(first_partition, leads=False)
        last = board.rise(first_partition, leads=False, is_last=True)
        path = reducing_path((ways > 0) & sites.with_room(size_bytes), more, last)
        if not path:
            return
        # all chosen before the first is made: two replacements in one partition cannot forbid each other, since that
        # would allow a shorter path
        steps = [(*_fullest_replica(brokers, dirs, leader, *step, sites), *step) for step in path]
        changed = np.unique([partition for partition, *_ in steps])
        _count_replacements(ways, brokers[changed], leader[changed], sites, -1)
        # from the end of the path, so that a broker gives a replica, and its room, before it takes one
        for partition, position, giver, taker in reversed(steps):
            sites.release(int(dirs[partition, position]), size_bytes)
            brokers[partition, position] = taker
            dirs[partition, position] = sites.put(taker, size_bytes)
            board.replace(first_partition, giver, taker)
        _count_replacements(ways, brokers[changed], leader[changed], sites, 1)


def _count_replacements(ways: I32, brokers: I32, leader: I32, sites: EligibleBrokers, sign: int) -> None:
    """Add to a matrix, for each pair of brokers, how many followers on the first one may be replaced by the second."""
    for holder in brokers.T:
        follows = holder != leader
        np.add.at(ways, holder[follows], sign * _takers(brokers[follows], holder[follows], sites).astype(np.int32))


def _fullest_replica(
    brokers: I32, dirs: I32, leader: I32, giver: int, taker: int, sites: EligibleBrokers
) -> tuple[int, int]:
    """Partition and position of the follower on a broker, in its fullest log dir, that another broker may replace."""
    rows, positions = np.nonzero((brokers == giver) & (leader != giver)[:, None])
    may = _takers(brokers[rows], brokers[rows, positions], sites)[:, taker]
    rows, positions = rows[may], positions[may]
    fullest = sites.fullest(dirs[rows, positions])
    return int(rows[fullest]), int(positions[fullest])


def _takers(brokers: I32, holder: I32, sites: EligibleBrokers) -> Bools:
    """bool, shape (n_partitions, n_brokers): may replace a holder of each partition: it is in a rack with no more
    other replicas, so that the spread over racks stays."""
    each = np.arange(len(brokers))
    in_rack = np.zeros((len(brokers), int(sites.rack.max()) + 1), np.int32)
    np.add.at(in_rack, (each[:, None], sites.rack[brokers]), 1)
    in_rack[each, sites.rack[holder]] -= 1
    takers = (in_rack <= in_rack[each, sites.rack[holder]][:, None])[:, sites.rack]
    takers[each[:, None], brokers] = False
    return takers
