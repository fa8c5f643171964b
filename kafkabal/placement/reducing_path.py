"""Finds a chain of brokers along which a new topic's replicas or leaders can be handed on to reduce the scores."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, Bools, shortest_broker_path

_LEAST_GAIN = 1e-9
"""Relative gain below which two costs are equal: rounding must not hand loads back and forth."""


def reducing_path(may: Bools, more: tuple[F64, F64], last: tuple[F64, F64]) -> list[tuple[int, int]]:
    """Steps (giver, taker) from broker to broker that reduce the scores; empty if there are none.

    All replicas of a new topic have the same load, and so have all its leaders: of a path, only the two ends change
    theirs::

        for each broker that may give, the one with the most expensive load first:
            search a shortest path to a broker on which that load costs less

    An assignment from which no such path leads is optimal for convex costs.

    Parameters
    ----------
    may
        bool, shape (n_brokers, n_brokers): whether the one of the row may hand on to the one of the column.
    more, last
        What one more costs on each broker, and what the last one costs that it has: by how much its bands are
        overshot, which decides, and the rise of the scores.

    References
    ----------
    N. Harvey, R. Ladner, L. Lovasz, T. Tamir: Semi-matchings for bipartite graphs and load balancing, WADS 2003.
    """
    (over_more, lift_more), (over_last, lift_last) = more, last
    givers = np.flatnonzero(may.any(1))
    for giver in givers[np.lexsort((lift_last[givers], over_last[givers]))][::-1]:
        least_over, least_lift = over_last[giver] * (1 - _LEAST_GAIN), lift_last[giver] * (1 - _LEAST_GAIN)
        most_over = over_last[giver] * (1 + _LEAST_GAIN)
        cheaper = (over_more < least_over) | ((over_more <= most_over) & (lift_more < least_lift))
        if cheaper.any() and (path := shortest_broker_path(may, np.arange(len(may)) == giver, cheaper)):
            return path
    return []
