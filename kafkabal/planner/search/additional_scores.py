"""Bring the scores beyond the usual ones into their bands: by leadership, which costs no bytes, then by exchanges.

One step at a time for the broker that is furthest outside: the change that takes most out of the violation of all
these scores together, among those that leave every other score inside its band.

::

    repeat
        b = the broker furthest outside one of these scores that is not stuck
        by leadership: of the partitions that b leads or could lead, the handover (or a pair of opposite ones) that
            takes most out of the violation
        by placement: of about a hundred replicas of b and as many of each of a dozen partners, the exchange that does,
            less the price of its bytes
        take it where it is worth it, else call b stuck
    until no holder is outside its band, or every one outside is stuck

Source: as :mod:`~kafkabal.planner.search.local_search`, with the scores as the objective and the usual bands as
constraints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.search.additional_loads import AdditionalLoads
from kafkabal.planner.search.leadership import Leadership
from kafkabal.planner.search.local_search import may_exchange
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares

_STEPS_A_BROKER = 50
"""A limit that is never reached: 10 give the same plans of 20 brokers with rates, as 250 do."""
_LEAST_GAIN = 1e-9
"""Larger than rounding errors in sums of rates."""
_LEAST_PROGRESS = 1e-3
"""Fraction of a broker's violation that a step must take away: 1e-4 and 1e-2 give the same 24 plans of
``benchmarks/planner_constants.py --worlds rated`` (2026-11)."""
_SAMPLE = 96
"""Partitions or replicas of a broker that are considered for an exchange, evenly picked over their loads: with 24 these
plans move 0.25% more, 3% at most, in the same time; 384 give the same plans."""
_PARTNERS = 12
"""4 and 36 give the same plans there."""
_ASKED = 48
"""Exchanges that are checked against the rules: 12 and 192 give the same plans there."""
_PRICE = 0.8
"""What a byte moved, in fair shares of a broker, weighs against what is outside a band: with 0.2 and 0.4 these plans
move 0.1% more, 2 to 4% at most, in 1.2 to 1.4 times the time; with 1.6 0.3% less, 1.4% more at most."""


class _Handover(NamedTuple):
    """Partitions and who is to lead them."""

    p: I64
    broker: I64


class _Swap(NamedTuple):
    """Positions and where they go."""

    p: I64
    k: I64
    target: I64


def balance_by_leadership(leadership: Leadership, loads: AdditionalLoads) -> None:
    """Change leaders where that balances the loads; every count of leaders stays inside its band."""

    def step(broker: int, least: float) -> bool:
        found = _best_handover(leadership, loads, broker, least)
        if found is None or len(found.p) > leadership.changes_left:
            return False
        leadership.change(found.p, found.broker)
        loads.lead(found.p, found.broker)
        leadership.changes_left -= len(found.p)
        return True

    _step_by_step(loads, step)


def balance_by_exchanges(solution: Solution, loads: AdditionalLoads) -> None:
    """Exchange replicas of similar size if leadership alone was not enough; bytes and counts stay in band."""

    def step(broker: int, least: float) -> bool:
        found = _best_swap(solution, loads, broker, least)
        if found is not None:
            loads.move(*found)
        return found is not None

    _step_by_step(loads, step)


def _step_by_step(loads: AdditionalLoads, step: Callable[[int, float], bool]) -> None:
    """Improve the broker that is furthest outside, again and again, until none can be improved."""
    stuck = np.zeros(loads.load.shape[1], np.bool_)
    for _ in range(_STEPS_A_BROKER * len(stuck)):
        now = np.where(stuck, 0.0, loads.violation())
        worst = int(now.argmax())
        if now[worst] <= _LEAST_GAIN:
            return
        if step(worst, max(_LEAST_GAIN, _LEAST_PROGRESS * float(now[worst]))):
            stuck[:] = False
        else:
            stuck[worst] = True


# -- leadership ----------------------------------------------------------------------------------------------------


def _best_handover(leadership: Leadership, loads: AdditionalLoads, broker: int, least: float) -> _Handover | None:
    p, new = _proposals(leadership, broker)
    if not p.size:
        return None
    old = leadership.leader[p].astype(np.int64)
    led = loads.led[:, p]
    gain = loads.change(old, -led) + loads.change(new, led)
    bands, counted = leadership.solution.bands, leadership.solution.problem.counted
    fits = (leadership.count[new] < bands.high_leaders[new]) & (
        (leadership.count[old] > bands.low_leaders[old]) | ~counted[old]
    )
    alone = np.where(fits, gain, np.inf)
    best = int(alone.argmin())
    if alone[best] < -least:
        return _Handover(p[best : best + 1], new[best : best + 1])
    return _best_trade(leadership, loads, broker, least)


def _proposals(leadership: Leadership, broker: int) -> tuple[I64, I64]:
    """Partitions that the broker may hand over and partitions that it may take over, with their new leaders."""
    led = np.flatnonzero((leadership.leader == broker) & leadership.free)
    candidates = leadership.candidates[led]
    row, column = np.nonzero((candidates >= 0) & (candidates != broker))
    able = (leadership.candidates == broker).any(1) & leadership.free & (leadership.leader >= 0)
    take = np.flatnonzero(able & (leadership.leader != broker))
    p = np.concatenate((led[row], take))
    new = np.concatenate((candidates[row, column], np.full(len(take), broker)))
    return p, new.astype(np.int64)


def _best_trade(leadership: Leadership, loads: AdditionalLoads, broker: int, least: float) -> _Handover | None:
    """Two partitions that swap leaders, so that no count changes."""
    best, found = -least, None
    for partner in _partners(loads, broker):
        mine = _sample(loads, _led_by(leadership, broker, partner))
        theirs = _sample(loads, _led_by(leadership, partner, broker))
        if not mine.size or not theirs.size:
            continue
        net = loads.led[:, theirs][:, None, :] - loads.led[:, mine][:, :, None]
        gain = loads.change(broker, net) + loads.change(partner, -net)
        i, j = np.unravel_index(int(gain.argmin()), gain.shape)
        if gain[i, j] < best:
            best, found = float(gain[i, j]), _Handover(np.array([mine[i], theirs[j]]), np.array([partner, broker]))
    return found


def _led_by(leadership: Leadership, leader: int, candidate: int) -> I64:
    able = (leadership.candidates == candidate).any(1)
    return np.flatnonzero((leadership.leader == leader) & able & leadership.free)


def _partners(loads: AdditionalLoads, broker: int) -> list[int]:
    """Brokers whose loads differ most from the broker's, in fair shares."""
    difference = np.abs((loads.load - loads.load[:, broker : broker + 1]) * loads.price).sum(0)
    difference[broker] = -1.0
    return [b for b in np.argsort(-difference, kind="stable")[:_PARTNERS].tolist() if difference[b] > 0]


def _sample(loads: AdditionalLoads, p: I64) -> I64:
    """Some of the partitions, from the lightest to the heaviest to lead."""
    return p if len(p) <= _SAMPLE else p[_spread_over(loads.led[:, p], loads)]


# -- placement -----------------------------------------------------------------------------------------------------


class _Cells(NamedTuple):
    """Replicas on one broker, with their load there and elsewhere."""

    p: I64
    k: I64
    bytes_here: I64
    load_here: F64
    load_there: F64


def _best_swap(solution: Solution, loads: AdditionalLoads, broker: int, least: float) -> _Swap | None:
    best, found = 0.0, None
    if not solution.problem.takes[broker]:
        return None
    mine = _cells(solution, loads, broker)
    for partner in _partners(loads, broker):
        if not solution.problem.takes[partner]:
            continue
        price, swap = _swap_with(solution, loads, broker, mine, partner, least)
        if swap is not None and price < best:
            best, found = price, swap
    return found


def _cells(solution: Solution, loads: AdditionalLoads, broker: int) -> _Cells:
    problem = solution.problem
    p, k = np.nonzero(problem.movable_positions & (solution.placement == broker))
    leads = loads.leader[p] == broker
    led = np.where(leads, loads.led[:, p], 0.0)
    here = loads.of_positions(p, k, np.full(len(p), broker)) + led
    at = _spread_over(here, loads)
    there = loads.arriving[:, p] + led
    return _Cells(p[at], k[at], solution.load(p, k, np.full(len(p), broker))[at], here[:, at], there[:, at])


def _spread_over(load: F64, loads: AdditionalLoads) -> I64:
    """Indexes from the lightest to the heaviest, at most so many, evenly picked."""
    weight = (load * loads.price.max(1)[:, None]).sum(0)
    order = np.argsort(weight, kind="stable")
    number = min(len(order), _SAMPLE)
    return order[np.arange(number) * (len(order) - 1) // max(1, number - 1)]


def _swap_with(
    solution: Solution, loads: AdditionalLoads, broker: int, mine: _Cells, partner: int, least: float
) -> tuple[float, _Swap | None]:
    theirs = _cells(solution, loads, partner)
    if not mine.p.size or not theirs.p.size:
        return 0.0, None
    gain = loads.change(broker, theirs.load_there[:, None, :] - mine.load_here[:, :, None])
    gain = gain + loads.change(partner, mine.load_there[:, :, None] - theirs.load_here[:, None, :])
    arriving = solution.problem.arriving_bytes
    fits = _stays_inside(solution, broker, arriving[theirs.p][None, :] - mine.bytes_here[:, None])
    fits &= _stays_inside(solution, partner, arriving[mine.p][:, None] - theirs.bytes_here[None, :])
    price = gain + _moving_price(solution, mine, broker)[:, None] + _moving_price(solution, theirs, partner)[None, :]
    price[~fits | (gain > -least)] = np.inf
    order = np.argsort(price, axis=None, kind="stable")[:_ASKED]
    i, j = np.unravel_index(order, price.shape)
    allowed = (price[i, j] < 0) & may_exchange(solution, mine.p[i], mine.k[i], theirs.p[j], theirs.k[j])
    if not allowed.any():
        return 0.0, None
    a, b = int(i[allowed][0]), int(j[allowed][0])
    swap = _Swap(np.array([mine.p[a], theirs.p[b]]), np.array([mine.k[a], theirs.k[b]]), np.array([partner, broker]))
    return float(price[a, b]), swap


def _stays_inside(solution: Solution, broker: int, more_bytes: I64) -> Bools:
    """Whether a broker is below its limit and stays in its band of bytes, or at least gets no further outside."""
    bands, used = solution.bands, solution.used[broker]
    high = min(max(int(bands.high_bytes[broker]), int(used)), int(solution.problem.limit_bytes[broker]))
    low = min(int(bands.low_bytes[broker]), int(used))
    return np.asarray((used + more_bytes <= high) & (used + more_bytes >= low))


def _moving_price(solution: Solution, cells: _Cells, broker: int) -> F64:
    """Cost of moving replicas off a broker, in fair shares: nothing if they have moved there."""
    problem = solution.problem
    rows = problem.weighed
    fair = max(1.0, float(solution.used[rows].mean())) if rows.any() else 1.0
    from_previous = problem.previous[cells.p, cells.k] == broker
    price: F64 = _PRICE * problem.arriving_bytes[cells.p].astype(np.float64)
    return np.where(from_previous, fair_shares(price, fair), 0.0)
