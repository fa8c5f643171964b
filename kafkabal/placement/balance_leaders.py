"""Balances the leaders of one new topic among the brokers that hold it."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, shortest_broker_path
from kafkabal.placement.running_scores import RunningScores

_LEAST_GAIN = 1e-9
"""Relative gain below which two costs are equal: rounding must not hand leaders back and forth."""


def balance_leaders(brokers: I32, leader: I32, first_partition: int, board: RunningScores) -> None:
    """Change leaders until no path of hand-overs reduces the scores any more; no replica moves.

    Partitions that get their leaders one by one leave the last ones no choice: 12 partitions on four empty brokers in
    three racks were led by 2, 3, 3 and 4. All partitions of a new topic have the same load, so that only the two ends
    of a path change theirs::

        repeat
            for each broker, the one with the most expensive leader first:
                search a shortest path to a broker that another leader costs less than this one
                if there is one: hand over along it; repeat
        until there is none

    An assignment from which no such path leads is optimal for convex costs.

    Parameters
    ----------
    brokers
        int32, shape (n_partitions, replication_factor): rows of brokers.
    leader
        int32, shape (n_partitions,): the row of each leader; changed in place.
    first_partition
        Row of the topic's partition 0 in the draft that the board was created from.

    References
    ----------
    N. Harvey, R. Ladner, L. Lovasz, T. Tamir: Semi-matchings for bipartite graphs and load balancing, WADS 2003.
    """
    for _ in range(len(brokers)):
        path = _reducing_path(brokers, leader, first_partition, board)
        if not path:
            return
        for giver, taker in path:
            partition = np.flatnonzero((leader == giver) & (brokers == taker).any(1))[0]
            leader[partition] = taker
            board.hand_over(first_partition, giver, taker)


def _reducing_path(brokers: I32, leader: I32, first_partition: int, board: RunningScores) -> list[tuple[int, int]]:
    """Hand-overs (giver, taker) that reduce the scores; empty if there are none."""
    held, column = np.unique(brokers, return_inverse=True)
    row = np.searchsorted(held, leader)
    may = np.zeros((len(held), len(held)), np.bool_)
    may[row[:, None], column.reshape(brokers.shape)] = True
    over_more, lift_more = (cost[held] for cost in board.cost_of_leading(first_partition))
    over_last, lift_last = (cost[held] for cost in board.cost_of_leading(first_partition, is_last=True))
    leads = np.unique(row)
    for start in leads[np.lexsort((lift_last[leads], over_last[leads]))][::-1]:
        # first by what overshoots the bands, then by the rise of the scores
        least_over, least_lift = over_last[start] * (1 - _LEAST_GAIN), lift_last[start] * (1 - _LEAST_GAIN)
        most_over = over_last[start] * (1 + _LEAST_GAIN)
        cheaper = (over_more < least_over) | ((over_more <= most_over) & (lift_more < least_lift))
        if cheaper.any() and (path := shortest_broker_path(may, np.arange(len(held)) == start, cheaper)):
            return [(int(held[giver]), int(held[taker])) for giver, taker in path]
    return []
