"""Bring single brokers into their bands, one replica or one exchange at a time, the worst broker first.

::

    repeat
        b = the broker furthest outside its bands that is not stuck
        step = of the replicas that b may give or take, near the size that is wanted, the one that takes most out of
               the violation, less its price for the bytes that it moves; where none helps, the same among all sizes
        else the best exchange of a replica of b with one of a dozen partners; or that, where it takes out more and all
        are compared
        take the step, or call b stuck
    until no holder is outside its band, or every one outside is stuck and the last turn gained little

Source: best-improvement local search in the shift and the swap neighbourhood of the generalised assignment problem
(M. Yagiura, T. Ibaraki, F. Glover, An Ejection Chain Approach for the GAP, INFORMS J. Computing 16, 2004, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.search.band_violation import LEAST_GAIN, Violation
from kafkabal.planner.search.grouped_array_operations import sorted_distinct
from kafkabal.planner.search.replica_index import ReplicaIndex, SampleSize
from kafkabal.planner.search.solution import Solution

_NEAREST = 24
"""Replicas of each broker that are considered, on either side of the wanted size: 12 change three of the 19 plans of
benchmarks/planner_constants.py, by 0.07% at most, 48 three by next to nothing."""
_CHECKED_AT_ONCE, _MORE_AT_ONCE = 64, 8
"""Affects time only: with 16 and with 256 these plans are the same."""
_PARTNERS = 12
"""With 6 single ones of these plans move up to 0.6% more; 24 change one in 19."""
_PRICE = 0.8
"""What a byte moved weighs against a byte outside its band: with 0.5 the plans of benchmarks/planner_constants.py move
as much in 1.2 times the time; with 1.2 they move 0.2% less, one of them 0.2% more, in nearly twice the time."""
_STEPS_A_BROKER = 200
"""A limit that is never reached: 20 give the same plans."""
_LEAST_PROGRESS = 1e-4
"""1e-5 and 1e-3 give the same plans where bands can be reached."""
_LEAST_PROGRESS_BY_EXCHANGE = 1e-2
"""Fraction of a broker's violation that a step must take away: less would go on forever where bands are out of
reach; 1e-3 and 0.1 give the same plans where they can be reached."""
_LEAST_PROGRESS_BY_TURN = 1e-2
"""Fraction of the whole violation that brokers which were stuck must have lost for another turn: 0.001 and 0.1 give the
same plans."""


_NARROW = SampleSize(replicas=512, pairs=1024, all_sizes=False)
"""Four times as many of each: 0.04% fewer bytes in 1.2 times the time."""
_WIDE = SampleSize(replicas=16384, pairs=65536, all_sizes=True)
"""Tried if the narrow sample finds nothing: a quarter of it changes one plan in 19, four times as much none."""


class SearchStep(NamedTuple):
    """Positions and where they go, one entry each."""

    p: I64
    k: I64
    target: I64


def search_locally(solution: Solution, convexity: float = 0.0, *, compare: bool = False) -> None:
    """Move or exchange single replicas until no broker gains by it; see :class:`Violation`.

    Parameters
    ----------
    compare
        Whether exchanges are compared with single moves, instead of tried only where no single move helps. If large
        brokers are full by their number of replicas, single moves pass bytes on from broker to broker.
    """
    violation = Violation(solution, convexity)
    index = ReplicaIndex(solution)
    stuck = np.zeros(solution.problem.n_brokers, np.bool_)
    stuck_since = np.zeros(len(stuck), np.int64)
    steps, before = 0, np.inf
    while steps < _STEPS_A_BROKER * len(stuck):
        now = np.where(stuck, 0.0, violation.now())
        worst = int(now.argmax())
        if now[worst] <= 0:
            left = float(violation.now().sum())
            # what others have done since may have made room; where nothing moved, a broker would be stuck again
            again = stuck & (stuck_since < steps)
            if not again.any() or left > before * (1 - _LEAST_PROGRESS_BY_TURN):
                return
            stuck[again], before = False, left
            continue
        step = _best_step(solution, violation, index, worst, float(now[worst]), compare=compare)
        if step is None:
            stuck[worst], stuck_since[worst] = True, steps
            continue
        stuck[solution.placement[step.p, step.k]] = False
        stuck[step.target] = False
        solution.move(step.p, step.k, step.target)
        steps += 1
        if steps % 512 == 0:
            index = ReplicaIndex(solution)


def _best_step(
    solution: Solution, violation: Violation, index: ReplicaIndex, broker: int, now: float, *, compare: bool
) -> SearchStep | None:
    violation.least_gain = max(LEAST_GAIN, _LEAST_PROGRESS * now)
    single = _best_single(solution, violation, index, broker)
    if single is not None and not compare:
        return single[1]
    violation.least_gain = max(LEAST_GAIN, _LEAST_PROGRESS_BY_EXCHANGE * now)
    exchange = _best_exchange(solution, violation, index, broker)
    return min((f for f in (single, exchange) if f), key=lambda f: f[0], default=(0.0, None))[1]


def _best_single(
    solution: Solution, violation: Violation, index: ReplicaIndex, broker: int
) -> tuple[float, SearchStep] | None:
    index.left_out = False
    for sample in (_NARROW, _WIDE):
        give = _give(solution, violation, index, broker, sample)
        take = _take(solution, violation, index, broker, sample)
        found = [f for f in (give, take) if f]
        if found:
            return min(found, key=lambda f: f[0])
        if not index.left_out:
            # a wide sample would be the same
            return None
    return None


def _give(
    solution: Solution, violation: Violation, index: ReplicaIndex, broker: int, sample: SampleSize
) -> tuple[float, SearchStep] | None:
    surplus = float(solution.used[broker] - solution.bands.high_bytes[broker])
    spare = int(solution.count[broker] - solution.bands.high_count[broker])
    if surplus <= 0 and spare <= 0:
        return None
    number = max(_NEAREST, sample.pairs // solution.problem.n_brokers)
    p, k = index.pick(np.array([broker]), max(surplus, 0.0) / max(spare, 1), number, sample)
    if not p.size:
        return None
    allowed = solution.may_go_anywhere(p, k)
    leaving = solution.load(p, k, np.full(len(p), broker))
    everyone = np.arange(solution.problem.n_brokers)
    arriving = solution.load(p[:, None], k[:, None], everyone)
    gain = violation.change(broker, -leaving, -1)[:, None]
    gain = gain + violation.change(everyone, arriving, 1)
    allowed &= (arriving <= solution.room_bytes()) & (gain < -violation.least_gain)
    allowed &= solution.count < solution.problem.limit_replicas
    gain += _price(solution, violation, p, k, broker)[:, None]
    # among equals, the target that is left with most room
    gain += 1e-6 * (violation.byte_shares(solution.used) + violation.count_shares(solution.count))
    gain[~allowed] = np.inf
    best = int(gain.argmin())
    row, target = divmod(best, solution.problem.n_brokers)
    if not allowed[row, target]:
        return None
    return float(gain[row, target]), SearchStep(p[row : row + 1], k[row : row + 1], np.array([target]))


def _take(
    solution: Solution, violation: Violation, index: ReplicaIndex, broker: int, sample: SampleSize
) -> tuple[float, SearchStep] | None:
    lack = float(solution.bands.low_bytes[broker] - solution.used[broker])
    short = int(solution.bands.low_count[broker] - solution.count[broker])
    full = solution.count[broker] >= solution.problem.limit_replicas[broker]
    if (lack <= 0 and short <= 0) or full or not solution.problem.takes[broker]:
        return None
    size = max(lack, 0.0) / max(short, 1)
    donors = _donors(solution, violation, broker)
    each = sample.replicas // max(1, len(donors))
    donors = donors[index.zone[donors] == index.zone[broker]]
    if not donors.size:
        return None
    p, k = index.pick(donors, size, each, sample)
    if not p.size:
        return None
    donor = solution.placement[p, k].astype(np.int64)
    gain = violation.change(donor, -solution.load(p, k, donor), -1)
    arriving = solution.load(p, k, np.full(len(p), broker))
    gain += violation.change(broker, arriving, 1)
    useful = (gain < -violation.least_gain) & (arriving <= solution.room_bytes()[broker])
    gain += _price(solution, violation, p, k, donor)
    by_gain = np.flatnonzero(useful)[np.argsort(gain[useful], kind="stable")]
    # usually one of the best is allowed: checking a few against the rules is enough, otherwise check more and more
    first, number = 0, _CHECKED_AT_ONCE
    while first < len(by_gain):
        best = by_gain[first : first + number]
        first, number = first + number, number * _MORE_AT_ONCE
        allowed = best[solution.may_go(p[best], k[best], np.full(len(best), broker))]
        if allowed.size:
            one = allowed[:1]
            return float(gain[one[0]]), SearchStep(p[one], k[one], np.array([broker]))
    return None


def _donors(solution: Solution, violation: Violation, broker: int) -> I64:
    """Brokers that can best spare replicas, in bytes and in number."""
    bands = solution.bands
    slack_bytes = violation.byte_shares(solution.used - bands.low_bytes)
    slack_count = violation.count_shares(solution.count - bands.low_count)
    slack = np.minimum(slack_bytes, slack_count)
    slack[~solution.problem.counted] = -np.inf
    slack[broker] = -np.inf
    donors = np.argsort(-slack, kind="stable")[: 2 * _PARTNERS]
    return donors[slack[donors] > -np.inf]


def _price(solution: Solution, violation: Violation, p: I64, k: I64, broker: I64 | int) -> F64:
    """Cost of moving positions off a broker: nothing if they have left their previous one already."""
    from_previous = solution.problem.previous[p, k] == broker
    return np.where(from_previous, _PRICE * solution.problem.arriving_bytes[p] * violation.per_byte[broker], 0.0)


def _best_exchange(
    solution: Solution, violation: Violation, index: ReplicaIndex, broker: int
) -> tuple[float, SearchStep] | None:
    """Exchange a replica of the broker with one of another broker."""
    need = _need(solution, broker)
    if not need or not solution.problem.takes[broker]:
        return None
    partners = _partners(solution, violation, broker, need)
    partners = partners[index.zone[partners] == index.zone[broker]]
    p1, k1 = _sample(index, np.array([broker]), max(0, -need))
    p2, k2 = _sample(index, partners, max(0, need))
    if not p1.size or not p2.size:
        return None
    partner = solution.placement[p2, k2].astype(np.int64)
    out1, in1 = _loads(solution, p1[:, None], k1[:, None], broker, partner)
    out2, in2 = _loads(solution, p2, k2, partner, broker)
    gain = violation.change(broker, in2 - out1, 0) + violation.change(partner, in1 - out2, 0)
    useful = gain < -violation.least_gain
    useful &= has_room(solution, broker, in2 - out1) & has_room(solution, partner, in1 - out2)
    rows, columns = np.flatnonzero(useful.any(1)), np.flatnonzero(useful.any(0))
    if not rows.size:
        return None
    # usually only a few of them gain by any exchange
    p1, k1, p2, k2, partner = p1[rows], k1[rows], p2[columns], k2[columns], partner[columns]
    gain, useful = gain[np.ix_(rows, columns)], useful[np.ix_(rows, columns)]
    partners = partners[np.isin(partners, partner)]
    useful &= _may_exchange_any(solution, (p1, k1), (p2, k2), broker, partners)
    if not useful.any():
        return None
    gain += _price(solution, violation, p1, k1, broker)[:, None] + _price(solution, violation, p2, k2, partner)
    gain[~useful] = np.inf
    # among equals, the exchange with the first partner
    first, second = np.nonzero(gain == gain.min())
    best = int(np.lexsort((second, first, _rank(partners, solution.problem.n_brokers)[partner[second]]))[0])
    a, b = first[best], second[best]
    step = SearchStep(np.array([p1[a], p2[b]]), np.array([k1[a], k2[b]]), np.array([partner[b], broker]))
    return float(gain[a, b]), step


def has_room(solution: Solution, broker: I64 | int, more_bytes: I64) -> Bools:
    """Whether each broker is below its limit with what an exchange brings."""
    return np.asarray(more_bytes <= solution.problem.limit_bytes[broker] - solution.used[broker])


def _need(solution: Solution, broker: int) -> int:
    """Bytes that the broker should gain (if negative, lose) to be inside its band."""
    used, bands = int(solution.used[broker]), solution.bands
    if used > bands.high_bytes[broker]:
        return int(bands.high_bytes[broker]) - used
    return max(0, int(bands.low_bytes[broker]) - used)


def _partners(solution: Solution, violation: Violation, broker: int, need: int) -> I64:
    share = violation.byte_shares(solution.used - solution.bands.low_bytes)
    if need < 0:
        share = violation.byte_shares(solution.bands.high_bytes - solution.used)
    share = np.where(solution.problem.takes, share, -np.inf)
    share[broker] = -np.inf
    partners = np.argsort(-share, kind="stable")[:_PARTNERS]
    return partners[share[partners] > -np.inf]


def _rank(partners: I64, n_brokers: int) -> I64:
    """int64, shape (n_brokers,): where each partner comes."""
    rank = np.zeros(n_brokers, np.int64)
    rank[partners] = np.arange(len(partners))
    return rank


def _may_exchange_any(
    solution: Solution, positions: tuple[I64, I64], others: tuple[I64, I64], broker: int, partners: I64
) -> Bools:
    """bool, shape (n, m): :func:`may_exchange` for positions of a broker and those of its partners, each with each."""
    (p1, k1), (p2, k2) = positions, others
    rank = _rank(partners, solution.problem.n_brokers)[solution.placement[p2, k2]]
    pair = np.repeat(p1, len(partners)), np.repeat(k1, len(partners)), np.tile(partners, len(p1))
    # a topic that crowds a broker may only be exchanged for itself
    there, there_for_one = (may.reshape(len(p1), -1)[:, rank] for may in _may_go(solution, *pair))
    here, here_for_one = _may_go(solution, p2, k2, np.full(len(p2), broker))
    topic = solution.problem.topic
    same_topic = topic[p1][:, None] == topic[p2]
    allowed = (there & here) | (same_topic & there_for_one & here_for_one)
    return np.asarray(allowed & (p1[:, None] != p2))


def _may_go(solution: Solution, p: I64, k: I64, target: I64) -> tuple[Bools, Bools]:
    """Whether each position may go to its target, and whether it may if one of its topic leaves that in return."""
    ruled = solution.rules_allow(p, k, target)
    return ruled & solution.topics_allow(p, target), ruled & solution.topics_allow(p, target, leaving=1)


def _loads(solution: Solution, p: I64, k: I64, current: I64 | int, target: I64 | int) -> tuple[I64, I64]:
    """Bytes of positions at their current brokers, and at their targets."""
    return solution.load(p, k, current), solution.load(p, k, target)


def _sample(index: ReplicaIndex, brokers: I64, size: float) -> tuple[I64, I64]:
    found = index.near(brokers, [size, 0.0], _NEAREST), index.spread(brokers, _NEAREST)
    cells = sorted_distinct(np.concatenate([p * index.solution.width + k for p, k in found]))
    return cells // index.solution.width, cells % index.solution.width


def may_exchange(solution: Solution, p1: I64, k1: I64, p2: I64, k2: I64) -> Bools:
    """Whether each first position may take the place of the second one, and vice versa."""
    b1, b2 = solution.placement[p1, k1], solution.placement[p2, k2]
    same_topic = solution.problem.topic[p1] == solution.problem.topic[p2]
    most = np.where(same_topic, 1, 0)
    return np.asarray(
        (p1 != p2) & solution.may_go(p1, k1, b2, leaving=most) & solution.may_go(p2, k2, b1, leaving=most)
    )
