"""Make a placement cheaper without leaving any band.

A replica that has moved may go home where its old broker has room for it, alone or in exchange for another one: for a
smaller one that was still there, or for one that had come there and now goes on to where the first one was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kafkabal.planner.search.groups import stable_order
from kafkabal.planner.search.size_keys import SizeKeys
from kafkabal.planner.why import Why

if TYPE_CHECKING:
    from kafkabal.model.state import I32, I64, Bools
    from kafkabal.planner.search.state import State

_LARGEST = 256
"""Moved replicas of a broker that are looked at, the largest first."""
_NEAR = 6
_CHECKED = 64
_LEAST_SAVING = 1e-5
"""Savings below this share of a broker's fair bytes are not worth a step."""


class _Trade(NamedTuple):
    """Slots that go home, and those that take their places (-1 where none does)."""

    p: I64
    k: I64
    other_p: I64
    other_k: I64
    saving: I64


def improve(state: State, rounds: int = 4) -> None:
    """Send replicas home, alone or in exchange, broker after broker, until little is gained."""
    problem = state.problem
    fair = float(state.used[problem.counted].mean()) if problem.counted.any() else 0.0
    least = max(1, int(fair * _LEAST_SAVING))
    for _ in range(rounds):
        before = state.moved_bytes()
        brokers = _worth_a_look(state, least)
        away, here = _slots_from(state, brokers), _slots_on(state, brokers)
        for broker in np.flatnonzero(brokers).tolist():
            _improve_broker(state, broker, away[broker], here[broker], least)
        if before - state.moved_bytes() < least:
            return


def _worth_a_look(state: State, least: int) -> Bools:
    """Brokers that have room for what they sent away, or took something although they sent something away."""
    problem = state.problem
    arrived = np.bincount(state.place[state.moved()], minlength=problem.n_brokers)
    roomy = state.bands.high_bytes - state.used >= least
    return np.asarray(~problem.leaves & (roomy | (arrived > 0)))


def _slots_from(state: State, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    """Slots that have left each broker and may come back, the largest first."""
    problem = state.problem
    p, k = np.nonzero(state.moved() & problem.size_known[:, None] & (state.why != Why.RACK))
    home = problem.home[p, k]
    wanted = brokers[home] & (home >= 0)
    p, k, home = p[wanted], k[wanted], home[wanted]
    order = np.lexsort((p, -problem.arriving_bytes[p], home))
    return _by_broker(home[order], p[order], k[order], brokers)


def _slots_on(state: State, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    """Slots on each broker that may move, by size."""
    problem = state.problem
    p, k = np.nonzero((state.place >= 0) & brokers[state.place] & (problem.movable & problem.size_known)[:, None])
    broker = state.place[p, k]
    load = state.load(p, k, broker)
    order = stable_order(SizeKeys(load).of(broker, load))
    return _by_broker(broker[order], p[order], k[order], brokers)


def _by_broker(broker: I32, p: I64, k: I64, brokers: Bools) -> dict[int, tuple[I64, I64]]:
    rows = np.flatnonzero(brokers)
    first, end = np.searchsorted(broker, rows), np.searchsorted(broker, rows, side="right")
    return {int(b): (p[i:j], k[i:j]) for b, i, j in zip(rows, first, end, strict=True)}


def _improve_broker(state: State, broker: int, away: tuple[I64, I64], here: tuple[I64, I64], least: int) -> None:
    (p, k), (here_p, here_k) = away, here
    for _ in range(len(p)):
        gone = state.place[p, k] != broker
        p, k = p[gone], k[gone]
        still = state.place[here_p, here_k] == broker
        here_p, here_k = here_p[still], here_k[still]
        trade = _best_trade(state, broker, p, k, here_p, here_k, least)
        if trade is None:
            return
        _carry_out(state, trade)


def _carry_out(state: State, trade: _Trade) -> None:
    away = state.place[trade.p, trade.k]
    other = trade.other_p >= 0
    state.lift(trade.p, trade.k, Why.BALANCE)
    state.move(trade.other_p[other], trade.other_k[other], away[other])
    state.put(trade.p, trade.k, state.problem.home[trade.p, trade.k])


def _best_trade(state: State, broker: int, p: I64, k: I64, here_p: I64, here_k: I64, least: int) -> _Trade | None:
    if not p.size:
        return None
    found = [_alone(state, broker, p, k)]
    if here_p.size:
        found.append(_in_exchange(state, broker, p, k, here_p, here_k))
    trades = _Trade(*(np.concatenate(column) for column in zip(*found, strict=True)))
    order = np.argsort(-trades.saving, kind="stable")
    order = order[trades.saving[order] >= least][:_CHECKED]
    if not order.size:
        return None
    trades = _Trade(*(column[order] for column in trades))
    good = np.flatnonzero(_allowed(state, trades))
    return _Trade(*(column[good[:1]] for column in trades)) if good.size else None


def _alone(state: State, broker: int, p: I64, k: I64) -> _Trade:
    """Replicas that fit on their old broker again, and that their new one can do without."""
    bands = state.bands
    away = state.place[p, k]
    held, arrived = state.problem.held_bytes[p, k], state.problem.arriving_bytes[p]
    fits = (state.used[broker] + held <= bands.high_bytes[broker]) & (state.count[broker] < bands.high_count[broker])
    fits &= (state.used[away] - arrived >= bands.low_bytes[away]) & (state.count[away] > bands.low_count[away])
    p, k = p[fits], k[fits]
    none = np.full(len(p), -1, np.int64)
    return _Trade(p, k, none, none, arrived[fits])


def _in_exchange(state: State, broker: int, p: I64, k: I64, here_p: I64, here_k: I64) -> _Trade:
    """Replicas whose place another one of the broker takes, so that both brokers stay inside their bands."""
    problem, bands = state.problem, state.bands
    p, k = p[:_LARGEST], k[:_LARGEST]
    away = state.place[p, k]
    held, arrived = problem.held_bytes[p, k], problem.arriving_bytes[p]
    room = np.minimum(bands.high_bytes[broker] - state.used[broker], state.used[away] - bands.low_bytes[away])
    unmoved = problem.home[here_p, here_k] == broker
    candidates = []
    for group in (np.flatnonzero(unmoved), np.flatnonzero(~unmoved)):
        size = state.load(here_p[group], here_k[group], np.full(len(group), broker))
        at = np.searchsorted(size, held - np.maximum(room, 0))[:, None] + np.arange(-1, _NEAR)
        row, column = np.nonzero((at >= 0) & (at < len(group)))
        candidates.append((row, group[at[row, column]]))
    row = np.concatenate([c[0] for c in candidates])
    other = np.concatenate([c[1] for c in candidates])
    op, ok = here_p[other], here_k[other]
    leaving = state.load(op, ok, np.full(len(op), broker))
    used = state.used[broker] + held[row] - leaving
    used_away = state.used[away[row]] - arrived[row] + problem.arriving_bytes[op]
    fits = (used <= bands.high_bytes[broker]) & (used >= bands.low_bytes[broker]) & (op != p[row])
    fits &= (used_away >= bands.low_bytes[away[row]]) & (used_away <= bands.high_bytes[away[row]])
    row, other, op, ok = row[fits], other[fits], op[fits], ok[fits]
    price = np.where(unmoved[other], problem.arriving_bytes[op], 0)
    return _Trade(p[row], k[row], op, ok, arrived[row] - price)


def _allowed(state: State, trades: _Trade) -> Bools:
    """Whether the rules let both replicas of each trade go where they should."""
    problem = state.problem
    away, home = state.place[trades.p, trades.k], problem.home[trades.p, trades.k]
    exchanged = trades.other_p >= 0
    other_p, other_k = np.maximum(trades.other_p, 0), np.maximum(trades.other_k, 0)
    same_topic = np.where(exchanged & (problem.topic[trades.p] == problem.topic[other_p]), 1, 0)
    good = state.may_go(trades.p, trades.k, home, forgiven=same_topic)
    return np.asarray(good & (~exchanged | state.may_go(other_p, other_k, away, forgiven=same_topic)))
