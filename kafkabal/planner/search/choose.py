"""Slots that have to leave their broker, whatever the loads: what is dead or drained, racks, topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kafkabal.planner.why import Why

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I64, Bools
    from kafkabal.planner.search.state import State


def lift_leaving(state: State) -> None:
    """Lift every slot on a dead or drained broker."""
    problem = state.problem
    lift = state.is_slot & (state.place >= 0) & problem.leaves[state.place] & problem.movable[:, None]
    p, k = np.nonzero(lift)
    state.lift(p, k, Why.LEAVES)


def lift_for_racks(state: State) -> None:
    """Lift one of two replicas in one rack, where the partition could lie in more racks, off the fuller broker."""
    problem = state.problem
    share = np.append(_fullness(state), -1.0)
    while True:
        empty = (state.is_slot & (state.place < 0)).sum(1)
        lacking = state.required_racks - state.distinct_racks(state.place) - empty
        rows = np.flatnonzero((lacking > 0) & problem.movable)
        if not rows.size:
            return
        places = state.place[rows]
        crowded = _shares_rack(state.rack[places])
        best = np.where(crowded, share[places], -2.0).argmax(1)
        found = crowded[np.arange(len(rows)), best]
        if not found.any():
            return
        state.lift(rows[found], best[found], Why.RACK)


def lift_for_topics(state: State) -> None:
    """Lift what a broker holds too many of one topic: the replicas nearest to the size that it has to shed."""
    problem = state.problem
    over = state.topic_count > state.bands.topic_most[:, None].astype(np.int64)
    over &= problem.counted
    if not over.any():
        return
    wanted = _size_to_shed(state)
    cells = _candidates(state, over)
    p, k = cells // state.width, cells % state.width
    broker = state.place[p, k]
    topic = problem.topic[p].astype(np.int64)
    pair = topic * problem.n_brokers + broker
    misfit = np.abs(problem.held_bytes[p, k] - wanted[broker])
    order = np.lexsort((cells, misfit, pair))
    pair, cells = pair[order], cells[order]
    first = np.flatnonzero(np.append(True, pair[1:] != pair[:-1]))
    rank = np.arange(len(pair)) - np.repeat(first, np.diff(np.append(first, len(pair))))
    t, b = pair // problem.n_brokers, pair % problem.n_brokers
    surplus = state.topic_count[t, b].astype(np.int64) - state.bands.topic_most[t]
    chosen = cells[rank < surplus]
    state.lift(chosen // state.width, chosen % state.width, Why.TOPIC)


def _candidates(state: State, over: Bools) -> I64:
    """Cells of slots that may leave a (topic, broker) pair."""
    problem = state.problem
    rows = np.flatnonzero(over.any(1)[problem.topic] & problem.movable & problem.size_known)
    places = state.place[rows]
    hit = (places >= 0) & over[problem.topic[rows][:, None], places]
    r, k = np.nonzero(hit)
    return rows[r] * state.width + k


def _fullness(state: State) -> F64:
    """Bytes against the fair share; brokers that have none count as empty."""
    problem = state.problem
    rows = problem.weighed
    fair = state.used[rows].sum() / problem.capacity[rows].sum() if rows.any() else 0.0
    return np.where(rows & (fair > 0), state.used / problem.capacity / (fair or 1.0), 0.0)


def _size_to_shed(state: State) -> F64:
    """Mean size of the replicas that a broker has to shed to come into both its bands."""
    bands = state.bands
    surplus = np.maximum(state.used - bands.high_bytes, 0)
    number = np.maximum(state.count - bands.high_count, 1)
    return surplus / number


def _shares_rack(racks: I64) -> Bools:
    crowded = np.zeros(racks.shape, np.bool_)
    for i in range(racks.shape[1]):
        for j in range(racks.shape[1]):
            if i != j:
                crowded[:, i] |= (racks[:, i] == racks[:, j]) & (racks[:, i] >= 0)
    return crowded
