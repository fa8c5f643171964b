"""Paths from broker to broker, along which partitions can be handed on."""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import I64, Bools


def shortest_broker_path(may: Bools, sources: Bools, sinks: Bools) -> list[tuple[int, int]]:
    """Steps (from, to) between brokers that lead from a source to a sink; empty without a path.

    Parameters
    ----------
    may
        bool, shape (n_brokers, n_brokers): whether the one of the row may hand on to the one of the column.
    sources, sinks
        bool, shape (n_brokers,): where a path may begin and end.
    """
    came_from = np.full(len(sources), -1, np.int64)
    seen = sources.copy()
    frontier = np.flatnonzero(sources)
    while frontier.size:
        reach = may[frontier] & ~seen
        fresh = np.flatnonzero(reach.any(0))
        came_from[fresh] = frontier[reach[:, fresh].argmax(0)]
        seen[fresh] = True
        found = fresh[sinks[fresh]]
        if found.size:
            return _walk_back(came_from, int(found[0]))
        frontier = fresh
    return []


def _walk_back(came_from: I64, end: int) -> list[tuple[int, int]]:
    path = []
    while came_from[end] >= 0:
        start = int(came_from[end])
        path.append((start, end))
        end = start
    return path[::-1]
