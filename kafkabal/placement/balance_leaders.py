"""Balances the leaders of one new topic among the brokers that hold it."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32
from kafkabal.placement.reducing_path import reducing_path
from kafkabal.placement.running_scores import RunningScores


def balance_leaders(brokers: I32, leader: I32, first_partition: int, board: RunningScores) -> None:
    """Change leaders until no path of hand-overs reduces the scores any more; no replica moves.

    Partitions that get their leaders one by one leave the last ones no choice: 12 partitions on four empty brokers in
    three racks were led by 2, 3, 3 and 4.

    Parameters
    ----------
    brokers
        int32, shape (n_partitions, replication_factor): rows of brokers.
    leader
        int32, shape (n_partitions,): the row of each leader; changed in place.
    first_partition
        Row of the topic's partition 0 in the draft that the board was created from.
    """
    for _ in range(len(brokers)):
        more = board.cost_of_leading(first_partition)
        may = np.zeros((len(more[0]),) * 2, np.bool_)
        may[leader[:, None], brokers] = True
        path = reducing_path(may, more, board.cost_of_leading(first_partition, is_last=True))
        if not path:
            return
        for giver, taker in path:
            partition = np.flatnonzero((leader == giver) & (brokers == taker).any(1))[0]
            leader[partition] = taker
            board.hand_over(first_partition, giver, taker)
