"""Make a placement cheaper without leaving any band.

A replica that has moved may go back where its previous broker has room for it, alone or in exchange for another one:
for a smaller one that was still there, or for one that had come there and now goes on to where the first one was.

::

    repeat, up to 4 times
        for each broker that has room, or both sent away and took
            repeat
                trades = replicas that left it x (nothing, or one that is there and next to it in size)
                take the trade that saves the most bytes of those after which both brokers are inside their bands
            until no trade saves anything
    until a round saves little

Source: the swap neighbourhood of :mod:`~kafkabal.planner.search.local_search`, with the bytes moved as the objective
and the bands as constraints.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64, Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.grouped_array_operations import stable_order
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search.sort_keys_by_group_and_size import SizeKeys

_ROUNDS = 4
"""A limit: rounds end once one saves little."""
_LARGEST = 256
"""Moved replicas of a broker that are considered, the largest first. With 64 the plans of
benchmarks/planner_constants.py move 0.13% more, one of them 1.2%; 1024 save 0.01%."""
_NEIGHBOURS = 6
"""With 3 and with 12 the plans of benchmarks/planner_constants.py move within 0.5% of these, the same in the mean."""
_BETWEEN = (0.25, 0.5, 0.75)
"""Further sizes to consider, between the smallest that may take the place and that of the returning replica."""
_CHECKED = 64
"""With 16 these plans move 0.08% more, 0.9% at most; 256 save nothing."""
_LEAST_SAVING = 1e-5
"""Savings below this fraction of a broker's fair bytes are not worth a step: 1e-6 and 1e-4 change the bytes of the 19
plans of benchmarks/planner_constants.py by -0.2 to 0.03%, in the same time."""


class _Trade(NamedTuple):
    """Positions that return, and those that take their places (-1 if none does)."""

    p: I64
    k: I64
    other_p: I64
    other_k: I64
    saving: I64


def reduce_cost(solution: Solution) -> None:
    """Send replicas back, alone or in exchange, broker after broker, until little is gained."""
    problem = solution.problem
    fair = float(solution.used[problem.counted].mean()) if problem.counted.any() else 0.0
    least = max(1, int(fair * _LEAST_SAVING))
    for _ in range(_ROUNDS):
        before = solution.moved_bytes()
        brokers = _may_reduce_cost(solution, least)
        away, here = _positions_from(solution, brokers), _positions_on(solution, brokers)
        for broker in np.flatnonzero(brokers).tolist():
            _improve_broker(solution, broker, away[broker], here[broker], least)
        if before - solution.moved_bytes() < least:
            return


def _may_reduce_cost(solution: Solution, least: int) -> Bools:
    """Brokers that have room for what they sent away, or that both sent and received replicas."""
    problem = solution.problem
    arrived = np.bincount(solution.placement[solution.moved()], minlength=problem.n_brokers)
    roomy = solution.most_bytes() - solution.used >= least
    return np.asarray(~problem.leaves & (roomy | (arrived > 0)))


def _positions_from(solution: Solution, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    """Positions that have left each broker and may return, the largest first."""
    problem = solution.problem
    p, k = np.nonzero(solution.moved() & problem.size_known[:, None] & (solution.why != MoveCause.RACK))
    previous = problem.previous[p, k]
    wanted = brokers[previous] & (previous >= 0)
    p, k, previous = p[wanted], k[wanted], previous[wanted]
    order = np.lexsort((p, -problem.arriving_bytes[p], previous))
    return _by_broker(previous[order], p[order], k[order], brokers)


def _positions_on(solution: Solution, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    """Positions on each broker that may move, by size."""
    problem = solution.problem
    p, k = np.nonzero((solution.placement >= 0) & brokers[solution.placement] & problem.movable_positions)
    broker = solution.placement[p, k]
    load = solution.load(p, k, broker)
    order = stable_order(SizeKeys(load).of(broker, load))
    return _by_broker(broker[order], p[order], k[order], brokers)


def _by_broker(broker: I32, p: I64, k: I64, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    rows = np.flatnonzero(brokers)
    first, end = np.searchsorted(broker, rows), np.searchsorted(broker, rows, side="right")
    return {int(b): (p[i:j], k[i:j]) for b, i, j in zip(rows, first, end, strict=True)}


def _improve_broker(solution: Solution, broker: int, away: tuple[I64, I64], here: tuple[I64, I64], least: int) -> None:
    (p, k), (here_p, here_k) = away, here
    for _ in range(len(p)):
        gone = solution.placement[p, k] != broker
        p, k = p[gone], k[gone]
        still = solution.placement[here_p, here_k] == broker
        here_p, here_k = here_p[still], here_k[still]
        trade = _best_trade(solution, broker, p, k, here_p, here_k, least)
        if trade is None:
            return
        _apply(solution, trade)


def _apply(solution: Solution, trade: _Trade) -> None:
    current = solution.placement[trade.p, trade.k]
    other = trade.other_p >= 0
    solution.lift(trade.p, trade.k, MoveCause.BALANCE)
    solution.move(trade.other_p[other], trade.other_k[other], current[other])
    solution.put(trade.p, trade.k, solution.problem.previous[trade.p, trade.k])


def _best_trade(solution: Solution, broker: int, p: I64, k: I64, here_p: I64, here_k: I64, least: int) -> _Trade | None:
    if not p.size:
        return None
    alone = _alone(solution, broker, p, k)
    if not here_p.size:
        return _first_allowed(solution, alone, least)
    away, here = _away(solution, broker, p[:_LARGEST], k[:_LARGEST]), _here(solution, broker, here_p, here_k)
    near = _in_exchange(solution, broker, away, here, *_nearest(away, here))
    found = _first_allowed(solution, _Trade(*map(np.concatenate, zip(alone, near, strict=True))), least)
    if found is None:
        far = _in_exchange(solution, broker, away, here, *_farther(solution, away, here, least))
        found = _first_allowed(solution, far, least)
    return found


def _first_allowed(solution: Solution, trades: _Trade, least: int) -> _Trade | None:
    """The trade that saves most among those that the rules allow."""
    order = np.argsort(-trades.saving, kind="stable")
    order = order[trades.saving[order] >= least][:_CHECKED]
    if not order.size:
        return None
    trades = _Trade(*(column[order] for column in trades))
    good = np.flatnonzero(_allowed(solution, trades))
    return _Trade(*(column[good[:1]] for column in trades)) if good.size else None


def _alone(solution: Solution, broker: int, p: I64, k: I64) -> _Trade:
    """Replicas that fit on their previous broker again, and that their new one can spare."""
    bands = solution.bands
    current = solution.placement[p, k]
    held, arrived = solution.problem.held_bytes[p, k], solution.problem.arriving_bytes[p]
    fits = (solution.used[broker] + held <= solution.most_bytes()[broker]) & (
        solution.count[broker] < bands.high_count[broker]
    )
    fits &= (solution.used[current] - arrived >= bands.low_bytes[current]) & (
        solution.count[current] > bands.low_count[current]
    )
    p, k = p[fits], k[fits]
    none = np.full(len(p), -1, np.int64)
    return _Trade(p, k, none, none, arrived[fits])


class _Away(NamedTuple):
    """Positions that have left a broker."""

    p: I64
    k: I64
    bytes: I64
    """Bytes of each on its previous broker once it has returned."""
    room: I64
    """By how much its replacement may be smaller."""


class _Here(NamedTuple):
    """Positions on a broker, by size."""

    p: I64
    k: I64
    bytes: I64
    unmoved: Bools


def _away(solution: Solution, broker: int, p: I64, k: I64) -> _Away:
    bands, current = solution.bands, solution.placement[p, k]
    room = np.minimum(
        solution.most_bytes()[broker] - solution.used[broker], solution.used[current] - bands.low_bytes[current]
    )
    return _Away(p, k, solution.problem.held_bytes[p, k], np.maximum(room, 0))


def _here(solution: Solution, broker: int, p: I64, k: I64) -> _Here:
    return _Here(p, k, solution.load(p, k, np.full(len(p), broker)), solution.problem.previous[p, k] == broker)


def _nearest(away: _Away, here: _Here) -> tuple[I64, I64]:
    """For each position away, the smallest that may take its place, and those next to it in size."""
    wanted = away.bytes - away.room
    rows = np.arange(len(wanted))
    return _joined(_near(rows, wanted, here.bytes, np.flatnonzero(g)) for g in (here.unmoved, ~here.unmoved))


def _farther(solution: Solution, away: _Away, here: _Here, least: int) -> tuple[I64, I64]:
    """Replicas of the same topic, which may be all that the previous broker can spare, and some of sizes in between."""
    topic = solution.problem.topic
    roomy = np.flatnonzero(away.room >= least)
    row, same = np.nonzero(topic[away.p[roomy], None] == topic[here.p])
    unmoved = np.flatnonzero(here.unmoved)
    smallest = np.maximum(away.bytes - away.room, 0)[roomy]
    wanted = [smallest + (share * (away.bytes[roomy] - smallest)).astype(np.int64) for share in _BETWEEN]
    return _joined([(roomy[row], same), *(_near(roomy, w, here.bytes, unmoved) for w in wanted)])


def _near(rows: I64, wanted: I64, bytes_: I64, among: I64) -> tuple[I64, I64]:
    """Pairs of each row with entries, sorted by size, that are about as large as wanted."""
    at = np.searchsorted(bytes_[among], wanted)[:, None] + np.arange(-1, _NEIGHBOURS)
    row, column = np.nonzero((at >= 0) & (at < len(among)))
    return rows[row], among[at[row, column]]


def _joined(pairs: Iterable[tuple[I64, I64]]) -> tuple[I64, I64]:
    rows, others = zip(*pairs, strict=True)
    return np.concatenate(rows), np.concatenate(others)


def _in_exchange(solution: Solution, broker: int, away: _Away, here: _Here, row: I64, other: I64) -> _Trade:
    """Replicas that return while another one takes their place, so that both brokers stay inside their bands."""
    problem, bands = solution.problem, solution.bands
    p, k, op, ok = away.p[row], away.k[row], here.p[other], here.k[other]
    current, arrived = solution.placement[p, k], problem.arriving_bytes[p]
    used = solution.used[broker] + away.bytes[row] - here.bytes[other]
    used_away = solution.used[current] - arrived + problem.arriving_bytes[op]
    most = solution.most_bytes()
    fits = (used <= most[broker]) & (used >= bands.low_bytes[broker]) & (op != p)
    fits &= (used_away >= bands.low_bytes[current]) & (used_away <= most[current])
    saving = arrived - np.where(here.unmoved[other], problem.arriving_bytes[op], 0)
    return _Trade(*(column[fits] for column in (p, k, op, ok, saving)))


def _allowed(solution: Solution, trades: _Trade) -> Bools:
    """Whether the rules allow both moves of each trade."""
    problem = solution.problem
    current, previous = solution.placement[trades.p, trades.k], problem.previous[trades.p, trades.k]
    exchanged = trades.other_p >= 0
    other_p, other_k = np.maximum(trades.other_p, 0), np.maximum(trades.other_k, 0)
    same_topic = np.where(exchanged & (problem.topic[trades.p] == problem.topic[other_p]), 1, 0)
    good = solution.may_go(trades.p, trades.k, previous, leaving=same_topic)
    return np.asarray(good & (~exchanged | solution.may_go(other_p, other_k, current, leaving=same_topic)))
