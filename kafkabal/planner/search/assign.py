"""Assign unplaced slots to brokers, the largest first, each where it helps most."""

from __future__ import annotations

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.move_cause import Why
from kafkabal.planner.search.grouped_arrays import is_first
from kafkabal.planner.search.load_targets import Targets, make_targets, zones
from kafkabal.planner.search.solution import State

_CELLS_AT_ONCE = 2**17
_MOST_AT_ONCE = 256
_LEAST_AT_ONCE = 24


def assign_unplaced(state: State) -> I64:
    """Put every waiting slot onto a broker that the rules allow.

    What has to leave its broker takes a place where its topic is crowded rather than none.

    Returns
    -------
    int64, shape (n,)
        Cells for which there is no broker; they remain unplaced.
    """
    left = _assign(state)
    urgent = state.why.reshape(-1)[left] > Why.TOPIC
    if not urgent.any() or state.topic_count is None:
        return left
    return _assign(state, crowding=True)


def _assign(state: State, *, crowding: bool = False) -> I64:
    problem = state.problem
    p, k = np.nonzero(state.is_slot & (state.place < 0))
    if not p.size:
        return np.empty(0, np.int64)
    order = np.lexsort((p, -problem.arriving_bytes[p]))
    p, k = p[order], k[order]
    bytes_ = problem.arriving_bytes[p]
    zone = zones(problem)
    waiting = (0, 0) if zone.any() else (int(bytes_.sum()), len(p))
    targets = make_targets(state, zone, *waiting)
    step = max(
        1, min(_MOST_AT_ONCE, _CELLS_AT_ONCE // problem.n_brokers, max(_LEAST_AT_ONCE, int(problem.takes.sum())))
    )
    kept = _Kept(state, p, k)
    left: list[I64] = []
    while p.size:
        now, again = _first_of_each(p[:step])
        placed, stuck = _assign_block(state, p[now], k[now], targets, kept, crowding=crowding)
        left.append(p[now][stuck] * state.width + k[now][stuck])
        again = np.sort(np.concatenate((again, now[~(placed | stuck)])))
        p, k = np.concatenate((p[again], p[step:])), np.concatenate((k[again], k[step:]))
    return np.concatenate(left)


def _first_of_each(p: I64) -> tuple[I64, I64]:
    """Positions of the first slot of each partition, and of the others, which wait for the next block."""
    first = is_first(p)
    return np.flatnonzero(first), np.flatnonzero(~first)


class _Kept:
    """Room that is kept on brokers for what was lifted there for its topic's sake, and may have to come back."""

    def __init__(self, state: State, p: I64, k: I64) -> None:
        self.state = state
        n = state.problem.n_brokers
        self.bytes: I64 = np.zeros(n, np.int64)
        self.count: I64 = np.zeros(n, np.int64)
        self._add(p, k, 1)

    def _add(self, p: I64, k: I64, sign: int) -> None:
        problem = self.state.problem
        returns = self.state.why[p, k] == Why.TOPIC
        p, k = p[returns], k[returns]
        np.add.at(self.bytes, problem.home[p, k], sign * problem.held_bytes[p, k])
        np.add.at(self.count, problem.home[p, k], sign)

    def release(self, p: I64, k: I64) -> None:
        """Keep no room any longer for slots that found a place."""
        self._add(p, k, -1)


def _assign_block(
    state: State, p: I64, k: I64, targets: Targets, kept: _Kept, *, crowding: bool
) -> tuple[Bools, Bools]:
    """Put each slot onto its best broker, one after the other; returns which were put, and which never can be."""
    allowed = state.may_go_anywhere(p, k)
    if crowding:
        urgent = state.why[p, k] > Why.TOPIC
        allowed[urgent] = state.may_go_anywhere(p[urgent], k[urgent], crowding=True)
    bytes_ = state.problem.arriving_bytes[p]
    room = state.problem.limit_bytes - state.used - kept.bytes
    places = state.problem.limit_replicas - state.count - kept.count
    allowed &= (bytes_[:, None] <= room) & (places > 0)
    may_fill_up = (room < bytes_.sum()) | (places < len(p))
    misfit = _misfit(state, bytes_, targets)
    if crowding and state.topic_count is not None:
        topic = state.problem.topic[p]
        everyone = np.arange(state.problem.n_brokers)
        crowd = state.topic_count[topic] + 1 - state.bands.topic_most(topic[:, None], everyone)
        misfit += 1e6 * np.maximum(crowd, 0)
    misfit[~allowed] = np.inf
    chosen = np.full(len(p), -1, np.int64)
    step = _step(state, bytes_, targets)
    for i in range(len(p)):
        best = int(misfit[i].argmin())
        if misfit[i, best] < np.inf:
            chosen[i] = best
            misfit[i + 1 :, best] += step[i, best]
            same_topic = np.flatnonzero(state.problem.topic[p[i + 1 :]] == state.problem.topic[p[i]]) + i + 1
            misfit[same_topic, best] = np.inf
            if may_fill_up[best]:
                room[best] -= bytes_[i]
                places[best] -= 1
                misfit[(bytes_ > room[best]) | (places[best] < 1), best] = np.inf
    found = chosen >= 0
    state.put(p[found], k[found], chosen[found])
    kept.release(p[found], k[found])
    return found, np.asarray(~allowed.any(1))


def _misfit(state: State, bytes_: I64, targets: Targets) -> F64:
    """How full each broker would be with each slot: against its targets, and far more so beyond its bands."""
    bands = state.bands
    unit_bytes, unit_count = _units(state, targets)
    over = np.maximum(state.used + bytes_[:, None] - bands.high_bytes, 0) / unit_bytes
    over_count = np.maximum(state.count + 1 - bands.high_count, 0) / unit_count
    need = (state.used - targets.bytes + bytes_[:, None]) / unit_bytes
    need_count = (state.count - targets.count + 1) / unit_count
    return np.asarray(np.maximum(need, need_count) + 1000 * (over + over_count))


def _step(state: State, bytes_: I64, targets: Targets) -> F64:
    unit_bytes, unit_count = _units(state, targets)
    return np.maximum(bytes_[:, None] / unit_bytes, 1 / unit_count)


def _units(state: State, targets: Targets) -> tuple[F64, F64]:
    """A fair share of bytes of each broker, and of replicas."""
    problem = state.problem
    mean = state.due.mean_bytes(targets.bytes, problem.weighed)
    fair_count = targets.count[problem.counted].mean() if problem.counted.any() else 1.0
    return np.maximum(mean * state.due.byte_weight, 1.0), max(float(fair_count), 1.0) * state.due.count_weight
