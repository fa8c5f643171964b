"""Makes up for what equally fast brokers got too little of lately.

::

    part of a broker     its part of what the equally fast brokers got in the last ten seconds
    its weight           times 1 + 20 x (1 - part / even part), from 2/3 to 3/2

A broker that is held back for a moment, or measured as slow once, gets less than the others. When it is as fast as they
are again it gets more, until all have got the same lately. What it got less of while it was slow for long is not made
up for: it would be busy with that long after it has recovered.

Source: M. Shreedhar and G. Varghese, Efficient Fair Queueing using Deficit Round Robin, SIGCOMM 1995.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.routing.recent_bytes import RecentBytes
from kafkabal.routing.routing_view import fitted_to

_MEMORY_S: Final = 10.0
"""Seconds after which a byte counts a third."""
_HORIZON: Final = 1 / 20
"""Fraction of the bytes that count within which deficits are made up for; the horizon of the policy `score`."""
_MOST: Final = 1.5
"""Largest change of a weight, so that a broker is not flooded; the largest change between two views."""


class Deficits:
    """Bytes of the brokers of one topic lately; used by one thread at a time.

    Parameters
    ----------
    clock
        Seconds.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._sent = RecentBytes(clock, _MEMORY_S)
        self._since_bytes = 0.0

    @property
    def is_due(self) -> bool:
        """Whether so much was sent since the last :meth:`made_up_for` that it has changed."""
        return self._since_bytes > _HORIZON / 2 * float(self._sent.by_partition.sum())

    def count(self, sent: I64 | F64) -> None:
        """Take notice of what was sent.

        Parameters
        ----------
        sent
            shape (n_partitions,): bytes since the start.
        """
        self._since_bytes += self._sent.count(sent)

    def made_up_for(self, weights: F64, due: F64, leader: I32, is_fast: Bools) -> F64:
        """The weights, float64, shape (n_partitions,), with more for the equally fast brokers that lack most.

        Parameters
        ----------
        weights
            float64, shape (n_partitions,), summing to 1; > 0 for all that is fast.
        due
            float64, shape (n_partitions,): weights under which all get what they are due.
        leader
            int32, shape (n_partitions,): broker that leads it, -1 if none does.
        is_fast
            bool, shape (n_partitions,): whether that is one of the equally fast brokers; the weights of others stay.
        """
        self._since_bytes = 0.0
        row = leader.astype(np.intp) + 1
        lately = np.bincount(row, fitted_to(self._sent.by_partition, len(leader)) * is_fast)
        due_of = np.bincount(row, due * is_fast)
        if not lately.any() or not due_of.any():
            return weights
        even = due_of * (lately.sum() / due_of.sum())
        part = np.divide(lately, even, out=np.ones(len(lately)), where=even > 0)
        factors = np.clip(1 + (1 - part) / _HORIZON, 1 / _MOST, _MOST)
        tilted = weights * factors[row] * is_fast
        made_up: F64 = np.where(is_fast, tilted * (weights[is_fast].sum() / tilted.sum()), weights)
        return made_up
