"""Slots that have to leave their broker, whatever the loads: what is dead or drained, racks, topics."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.planner.move_cause import Why
from kafkabal.planner.search.solution import State

_SIZES_TRIED = 10
_MOST_RACK_STEPS = 400


def lift_leaving(state: State) -> None:
    """Lift every slot on a dead or drained broker, and every one in an offline log dir."""
    p, k = np.nonzero(state.must_leave())
    state.lift(p, k, Why.LEAVES)


def drop_surplus(state: State) -> None:
    """Drop replicas where fewer were asked for: off dead or drained brokers, then from crowded racks, then the fullest.

    The leader stays.
    """
    problem = state.problem
    while True:
        rows = np.flatnonzero((state.place >= 0).sum(1) > problem.slots)
        if not rows.size:
            return
        places = state.place[rows]
        priority = np.append(_fullness(state), -1.0)[places]
        priority += np.where(problem.leaves[places], 1e6, 0.0) + np.where(_shares_rack(state.rack[places]), 1e3, 0.0)
        priority[(places < 0) | (places == problem.leader[rows][:, None])] = -1.0
        state.drop(rows, priority.argmax(1))


def lift_for_racks(state: State) -> None:
    """Lift one of two replicas in one rack, where the partition could be in more racks.

    The largest partitions choose first; each lifts the replica whose topic is crowded on its broker, or whose broker is
    fullest by then.
    """
    rows = _lacking_racks(state)
    while rows.size:
        rows = rows[np.lexsort((rows, -state.problem.arriving_bytes[rows]))]
        step = max(1, state.problem.n_brokers // 2, len(rows) // _MOST_RACK_STEPS)
        for i in range(0, len(rows), step):
            _lift_from_racks(state, rows[i : i + step])
        left = _lacking_racks(state)
        if left.size == rows.size:
            return
        rows = left


def _lacking_racks(state: State) -> I64:
    """Partitions that could be in more racks, and have a replica that may go for it."""
    empty = (state.is_slot & (state.place < 0)).sum(1)
    lacking = state.required_racks - state.distinct_racks(state.place) - empty
    return np.flatnonzero((lacking > 0) & state.problem.movable)


def _lift_from_racks(state: State, rows: I64) -> None:
    places = state.place[rows]
    priority = np.append(_fullness(state), -1.0)[places]
    if state.topic_count is not None:
        topic = state.problem.topic[rows]
        crowded = state.topic_count[topic[:, None], places] > state.bands.topic_most(topic[:, None], places)
        priority = priority + np.where(crowded & (places >= 0), 1.0, 0.0)
    in_crowd = _shares_rack(state.rack[places])
    best = np.where(in_crowd, priority, -2.0).argmax(1)
    found = in_crowd[np.arange(len(rows)), best]
    state.lift(rows[found], best[found], Why.RACK)


def lift_for_topics(state: State) -> bool:
    """Lift what a broker holds too many of one topic.

    The replicas nearest to one size are taken from all topics of a broker, and that size is chosen so that they sum up
    to their share of what the broker has to shed, or to as little as possible where it has nothing to shed. Where the
    copies of a partition differ in size, those that a linear program would move first are taken instead. What was
    lifted before and found no other place is left alone.

    Returns
    -------
    bool
        Whether any was lifted.
    """
    crowd = _Crowd(state)
    if not len(crowd):
        return False
    if state.guidance is not None:
        chosen = crowd.cheapest(state.guidance.price * np.maximum(state.problem.arriving_bytes, 1)[:, None])
    else:
        number = crowd.to_lose
        share = number / np.maximum(np.maximum(state.count - state.bands.high_count, number), 1)
        chosen = crowd.fitting(np.maximum(state.used - state.bands.high_bytes, 0) * share, number)
    state.lift(chosen // state.width, chosen % state.width, Why.TOPIC)
    return bool(len(chosen))


class _Crowd:
    """Replicas of (topic, broker) pairs that hold too many, of which each pair has to lose a number."""

    def __init__(self, state: State) -> None:
        problem = state.problem
        cells, surplus = _crowded(state)
        p, k = cells // state.width, cells % state.width
        broker = state.place[p, k]
        pair = problem.topic[p].astype(np.int64) * problem.n_brokers + broker
        order = np.lexsort((cells, pair))
        self.cells, self.pair, self.broker = cells[order], pair[order], broker[order]
        self.bytes: I64 = problem.held_bytes[p, k][order]
        self.quota: I64 = surplus[order]
        first = np.searchsorted(self.pair, self.pair)
        self.rank: I64 = np.arange(len(pair)) - first
        lose = np.where(self.rank == 0, np.minimum(self.quota, np.bincount(first, minlength=len(first))[first]), 0)
        self.to_lose: I64 = np.bincount(self.broker, lose, problem.n_brokers).astype(np.int64)

    def __len__(self) -> int:
        return len(self.cells)

    def fitting(self, to_shed: F64, number: I64) -> I64:
        """Cells to be taken so that each broker sheds about as many bytes as it has to."""
        wanted = to_shed / np.maximum(number, 1)
        best = np.full(len(to_shed), np.inf)
        best_wanted = wanted.copy()
        for _ in range(_SIZES_TRIED):
            shed = np.bincount(self.broker, np.where(self._nearest(wanted), self.bytes, 0), len(to_shed))
            miss = np.where(shed > to_shed, 2.0 * (shed - to_shed), to_shed - shed)
            better = miss < best
            best[better], best_wanted[better] = miss[better], wanted[better]
            wanted = wanted * np.clip(to_shed / np.maximum(shed, 1), 0.5, 2.0)
        return self.cells[self._nearest(best_wanted)]

    def cheapest(self, price: F64) -> I64:
        """Cells to be taken by the price of their moves."""
        return self.cells[self._least(price.reshape(-1)[self.cells])]

    def _nearest(self, wanted: F64) -> Bools:
        """The replicas of each pair that are nearest the size its broker wants to part with."""
        return self._least(np.abs(self.bytes - wanted[self.broker]))

    def _least(self, misfit: F64) -> Bools:
        """As many replicas of each pair as it has to lose, those of the least misfit."""
        order = np.lexsort((misfit, self.pair))
        taken = np.empty(len(order), np.bool_)
        taken[order] = self.rank < self.quota[order]
        return taken


def _crowded(state: State) -> tuple[I64, I64]:
    """Cells of slots that may leave a (topic, broker) pair which holds too many, and by how many it does."""
    problem = state.problem
    if state.topic_count is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    free = (state.place >= 0) & (state.why != Why.TOPIC) & problem.loose
    p, k = np.nonzero(free)
    broker, topic = state.place[p, k], problem.topic[p]
    surplus = (state.topic_count[topic, broker] - state.bands.topic_most(topic, broker)).astype(np.int64)
    over = (surplus > 0) & problem.counted[broker]
    return p[over] * state.width + k[over], surplus[over]


def _fullness(state: State) -> F64:
    """Bytes against the fair share; brokers that have none count as empty."""
    rows = state.problem.weighed
    return np.where(rows & (state.used[rows].sum() > 0), state.due.byte_shares(state.used, rows), 0.0)


def _shares_rack(racks: I32) -> Bools:
    crowded = np.zeros(racks.shape, np.bool_)
    for i in range(racks.shape[1]):
        for j in range(racks.shape[1]):
            if i != j:
                crowded[:, i] |= (racks[:, i] == racks[:, j]) & (racks[:, i] >= 0)
    return crowded
