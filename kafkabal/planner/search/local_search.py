"""Bring single brokers into their bands, one replica or one exchange at a time, the worst broker first.

::

    repeat
        b = the broker furthest outside its bands that is not stuck
        step = of the replicas that b may give or take, near the size that is wanted, the one that takes most out of
               the violation, less its price for the bytes that it moves; where none helps, the same among all sizes
        else the best exchange of a replica of b with one of a dozen partners
        take the step, or call b stuck
    until no holder is outside its band, or every one outside is stuck and the last turn gained little

Source: best-improvement local search in the shift and the swap neighbourhood of the generalised assignment problem
(M. Yagiura, T. Ibaraki, F. Glover, An Ejection Chain Approach for the GAP, INFORMS J. Computing 16, 2004, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kafkabal.model import F64, I64, Bools
from kafkabal.planner.search.group_size_keys import SizeKeys
from kafkabal.planner.search.grouped_arrays import sorted_distinct, stable_order
from kafkabal.planner.search.solution import Solution

CONVEXITY = 4.0
"""Where bands are out of reach: brokers that are outside by a tenth of a fair share more than others are evened with
them, since a byte moved, at its price of 0.8, then takes as much from the squares."""
_NEAREST = 24
"""Replicas of each broker that are looked at, on either side of the size that is wanted."""
_HALVINGS = 6
"""Sizes on the ladder: with 3 and with 12 the 19 plans of benchmarks/planner_constants.py move 0.04 % more, 2026-11."""
_CHECKED_AT_ONCE = 64
"""A matter of time only: with 16 and with 256 these plans are the same."""
_PARTNERS = 12
"""With 6 single ones of these plans move up to 0.6 % more; 24 change one in 19."""
_EXCHANGES = 48
"""Of a pair of brokers, the best that the rules are asked about: 12 change no plan in 19, 192 one."""
_PRICE = 0.8
"""What a byte moved weighs against a byte outside its band."""
_LEAST_GAIN = 1e-13
"""Above what the rounding of float64 can pretend; 1e-10 gives the same plans."""
_STEPS_A_BROKER = 200
"""An end that is not reached: 20 give the same plans."""
_LEAST_PROGRESS = 1e-4
"""1e-5 and 1e-3 give the same plans where bands can be reached."""
_LEAST_PROGRESS_BY_EXCHANGE = 1e-2
"""Share of a broker's violation that a step must take away: less would go on forever where bands are out of reach."""
_LEAST_PROGRESS_BY_TURN = 1e-2
"""Share of the whole violation that brokers which were stuck must have lost for another turn."""


class _Look(NamedTuple):
    """How hard to look for a replica: near the size that is wanted, or among all."""

    replicas: int
    pairs: int
    all_sizes: bool


_NARROW = _Look(replicas=512, pairs=1024, all_sizes=False)
"""Four times as many of each: 0.04 % fewer bytes in 1.2 times the time."""
_WIDE = _Look(replicas=16384, pairs=65536, all_sizes=True)
"""Tried where the narrow look finds nothing: a quarter of it changes one plan in 19, four times as much none."""


class SearchStep(NamedTuple):
    """Slots and where they go, one entry each."""

    p: I64
    k: I64
    target: I64


class Violation:
    """How far brokers are outside their bands, in fair shares, weighted by the scores.

    Parameters
    ----------
    convexity
        What the square counts beside it: above 0 two brokers that are outside by the same are better than one that is
        outside by twice as much, so that where bands are out of reach the largest excess is made small first.
    """

    def __init__(self, solution: Solution, convexity: float = 0.0) -> None:
        problem = solution.problem
        self.solution = solution
        self.convexity = convexity
        self.least_gain = _LEAST_GAIN
        """What a step has to take away from the violation."""
        rows = problem.weighed
        mean = solution.due.mean_bytes(solution.used, rows)
        self.fair_bytes: F64 = np.maximum(mean * solution.due.byte_weight, 1.0)
        mean_count = max(1.0, float(solution.count[problem.counted].mean())) if problem.counted.any() else 1.0
        self.fair_count: F64 = mean_count * solution.due.count_weight
        weight = {s.score.name: s.weight for s in problem.scores}
        self.per_byte: F64 = weight.get("disk", 1.0) / self.fair_bytes
        self.per_replica: F64 = weight.get("replicas", 1.0) / self.fair_count

    def of(self, broker: I64 | int, bytes_: I64, count: I64) -> F64:
        """Violation of brokers that would hold so much."""
        bands = self.solution.bands
        out = np.maximum(bytes_ - bands.high_bytes[broker], 0) + np.maximum(bands.low_bytes[broker] - bytes_, 0)
        miss = np.maximum(count - bands.high_count[broker], 0) + np.maximum(bands.low_count[broker] - count, 0)
        outside = out * self.per_byte[broker] + miss * self.per_replica[broker]
        if self.convexity:
            outside = outside + self.convexity * outside**2
        return np.where(self.solution.problem.counted[broker], outside, 0.0)

    def now(self) -> F64:
        """Violation of every broker as it stands."""
        everyone = np.arange(len(self.fair_bytes))
        return self.of(everyone, self.solution.used, self.solution.count)

    def change(self, broker: I64 | int, bytes_: I64, count: I64 | int) -> F64:
        """What coming (or, negative, leaving) bytes and replicas change."""
        used, number = self.solution.used[broker], self.solution.count[broker]
        return self.of(broker, used + bytes_, number + count) - self.of(broker, used, number)


class Index:
    """Replicas that may move, by broker and size. Entries that have moved since are skipped."""

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        self.solution = solution
        p, k = np.nonzero((solution.placement >= 0) & problem.loose)
        broker = solution.placement[p, k].astype(np.int64)
        bytes_ = solution.load(p, k, broker)
        self.keys = SizeKeys(bytes_)
        # moved ones first: to move them on costs nothing more
        shelf = 2 * broker + (problem.previous[p, k] == broker)
        key = self.keys.of(shelf, bytes_)
        order = stable_order(key)
        self.p, self.k, self.key = p[order], k[order], key[order]
        self.first = self.keys.ends(self.key, 2 * problem.n_brokers)

    def pick(self, brokers: I64, size: float, number: int, look: _Look) -> tuple[I64, I64]:
        """Slots on each broker, near a size or of all sizes."""
        return self.spread(brokers, number) if look.all_sizes else self.ladder(brokers, size, number)

    def ladder(self, brokers: I64, size: float, number: int) -> tuple[I64, I64]:
        """Slots on each broker nearest a size, its half, its quarter and so on, and the smallest."""
        rungs = [size / 2**i for i in range(_HALVINGS)] + [0.0] if size > 0 else [0.0]
        return self.near(brokers, rungs, max(2, number // len(rungs)))

    def near(self, brokers: I64, sizes: list[float], number: int) -> tuple[I64, I64]:
        """Slots on each broker nearest each of some sizes: so many on either side, moved and unmoved ones."""
        shelf = _shelves(brokers)[:, None]
        at = np.searchsorted(self.key, self.keys.at_least(shelf, np.array(sizes)))
        around = at[:, :, None] + np.arange(-number, number)
        inside = (around >= self.first[shelf][:, :, None]) & (around < self.first[shelf + 1][:, :, None])
        return self._still(sorted_distinct(around[inside]))

    def spread(self, brokers: I64, number: int) -> tuple[I64, I64]:
        """Slots on each broker, evenly picked over their sizes."""
        shelf = _shelves(brokers)[:, None]
        first, last = self.first[shelf], self.first[shelf + 1] - 1
        at = first + np.arange(number) * (last - first) // max(1, number - 1)
        return self._still(sorted_distinct(at[np.broadcast_to(last >= first, at.shape)]))

    def _still(self, at: I64) -> tuple[I64, I64]:
        p, k = self.p[at], self.k[at]
        here = self.solution.placement[p, k] == self.keys.group_of(self.key[at]) // 2
        return p[here], k[here]


def _shelves(brokers: I64) -> I64:
    return np.concatenate((2 * brokers, 2 * brokers + 1))


def search_locally(solution: Solution, convexity: float = 0.0) -> None:
    """Move single replicas, or exchange two, until no broker gains by it; see :class:`Violation`."""
    violation = Violation(solution, convexity)
    index = Index(solution)
    stuck = np.zeros(solution.problem.n_brokers, np.bool_)
    steps, before = 0, np.inf
    while steps < _STEPS_A_BROKER * len(stuck):
        now = np.where(stuck, 0.0, violation.now())
        worst = int(now.argmax())
        if now[worst] <= 0:
            left = float(violation.now().sum())
            if not stuck.any() or left > before * (1 - _LEAST_PROGRESS_BY_TURN):
                return
            # what others did since may have made room
            stuck[:], before = False, left
            continue
        violation.least_gain = max(_LEAST_GAIN, _LEAST_PROGRESS * float(now[worst]))
        step = _best_single(solution, violation, index, worst, _NARROW) or _best_single(
            solution, violation, index, worst, _WIDE
        )
        if step is None:
            violation.least_gain = max(_LEAST_GAIN, _LEAST_PROGRESS_BY_EXCHANGE * float(now[worst]))
            step = _best_exchange(solution, violation, index, worst)
        if step is None:
            stuck[worst] = True
            continue
        stuck[solution.placement[step.p, step.k]] = False
        stuck[step.target] = False
        solution.move(step.p, step.k, step.target)
        steps += 1
        if steps % 512 == 0:
            index = Index(solution)


def _best_single(solution: Solution, violation: Violation, index: Index, broker: int, look: _Look) -> SearchStep | None:
    found = [
        f
        for f in (_give(solution, violation, index, broker, look), _take(solution, violation, index, broker, look))
        if f
    ]
    if not found:
        return None
    return min(found, key=lambda f: f[0])[1]


def _give(
    solution: Solution, violation: Violation, index: Index, broker: int, look: _Look
) -> tuple[float, SearchStep] | None:
    surplus = float(solution.used[broker] - solution.bands.high_bytes[broker])
    spare = int(solution.count[broker] - solution.bands.high_count[broker])
    if surplus <= 0 and spare <= 0:
        return None
    number = max(_NEAREST, look.pairs // solution.problem.n_brokers)
    p, k = index.pick(np.array([broker]), max(surplus, 0.0) / max(spare, 1), number, look)
    if not p.size:
        return None
    allowed = solution.may_go_anywhere(p, k)
    leaving = solution.load(p, k, np.full(len(p), broker))
    everyone = np.arange(solution.problem.n_brokers)
    arriving = solution.load(p[:, None], k[:, None], everyone)
    gain = violation.change(broker, -leaving, -1)[:, None]
    gain = gain + violation.change(everyone, arriving, 1)
    allowed &= (solution.used + arriving <= solution.problem.limit_bytes) & (gain < -violation.least_gain)
    allowed &= solution.count < solution.problem.limit_replicas
    gain += _price(solution, violation, p, k, broker)[:, None]
    # of equals, the one that is left with most room
    gain += 1e-6 * (solution.used / violation.fair_bytes + solution.count / violation.fair_count)
    gain[~allowed] = np.inf
    best = int(gain.argmin())
    row, target = divmod(best, solution.problem.n_brokers)
    if not allowed[row, target]:
        return None
    return float(gain[row, target]), SearchStep(p[row : row + 1], k[row : row + 1], np.array([target]))


def _take(
    solution: Solution, violation: Violation, index: Index, broker: int, look: _Look
) -> tuple[float, SearchStep] | None:
    lack = float(solution.bands.low_bytes[broker] - solution.used[broker])
    short = int(solution.bands.low_count[broker] - solution.count[broker])
    full = solution.count[broker] >= solution.problem.limit_replicas[broker]
    if (lack <= 0 and short <= 0) or full or not solution.problem.takes[broker]:
        return None
    size = max(lack, 0.0) / max(short, 1)
    donors = _donors(solution, violation, broker)
    if not donors.size:
        return None
    p, k = index.pick(donors, size, look.replicas // len(donors), look)
    if not p.size:
        return None
    donor = solution.placement[p, k].astype(np.int64)
    gain = violation.change(donor, -solution.load(p, k, donor), -1)
    arriving = solution.load(p, k, np.full(len(p), broker))
    gain += violation.change(broker, arriving, 1)
    useful = (gain < -violation.least_gain) & (solution.used[broker] + arriving <= _limit(solution, broker))
    gain += _price(solution, violation, p, k, donor)
    by_gain = np.flatnonzero(useful)[np.argsort(gain[useful], kind="stable")]
    # most may go: to ask the rules about a few of the best is enough
    for best in np.split(by_gain, range(_CHECKED_AT_ONCE, len(by_gain), _CHECKED_AT_ONCE)):
        allowed = best[solution.may_go(p[best], k[best], np.full(len(best), broker))]
        if allowed.size:
            first = allowed[:1]
            return float(gain[first[0]]), SearchStep(p[first], k[first], np.array([broker]))
    return None


def _limit(solution: Solution, broker: int) -> int:
    return int(solution.problem.limit_bytes[broker])


def _donors(solution: Solution, violation: Violation, broker: int) -> I64:
    """Brokers that can best spare something, in bytes and in number."""
    bands = solution.bands
    slack_bytes = (solution.used - bands.low_bytes) / violation.fair_bytes
    slack_count = (solution.count - bands.low_count) / violation.fair_count
    slack = np.minimum(slack_bytes, slack_count)
    slack[~solution.problem.counted] = -np.inf
    slack[broker] = -np.inf
    donors = np.argsort(-slack, kind="stable")[: 2 * _PARTNERS]
    return donors[slack[donors] > -np.inf]


def _price(solution: Solution, violation: Violation, p: I64, k: I64, broker: I64 | int) -> F64:
    """What it costs to move slots off a broker: nothing where they have left their previous one already."""
    from_previous = solution.problem.previous[p, k] == broker
    return np.where(from_previous, _PRICE * solution.problem.arriving_bytes[p] * violation.per_byte[broker], 0.0)


def _best_exchange(solution: Solution, violation: Violation, index: Index, broker: int) -> SearchStep | None:
    """Exchange a replica of the broker with one of another broker."""
    best: tuple[float, SearchStep] | None = None
    need = _need(solution, broker)
    for partner in _partners(solution, violation, broker, need):
        found = _exchange(solution, violation, index, broker, int(partner), need)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return best[1] if best else None


def _need(solution: Solution, broker: int) -> int:
    """Bytes that the broker should gain (negative: lose) to be inside its band."""
    used, bands = int(solution.used[broker]), solution.bands
    if used > bands.high_bytes[broker]:
        return int(bands.high_bytes[broker]) - used
    return max(0, int(bands.low_bytes[broker]) - used)


def _partners(solution: Solution, violation: Violation, broker: int, need: int) -> I64:
    share = (solution.used - solution.bands.low_bytes) / violation.fair_bytes
    if need < 0:
        share = (solution.bands.high_bytes - solution.used) / violation.fair_bytes
    share = np.where(solution.problem.takes, share, -np.inf)
    share[broker] = -np.inf
    return np.argsort(-share, kind="stable")[:_PARTNERS]


def _exchange(
    solution: Solution, violation: Violation, index: Index, broker: int, partner: int, need: int
) -> tuple[float, SearchStep] | None:
    if not need or not solution.problem.takes[broker] or not solution.problem.takes[partner]:
        return None
    p1, k1 = _sample(index, broker, max(0, -need))
    p2, k2 = _sample(index, partner, max(0, need))
    if not p1.size or not p2.size:
        return None
    out1, in1 = _loads(solution, p1, k1, broker, partner)
    out2, in2 = _loads(solution, p2, k2, partner, broker)
    gain = violation.change(broker, in2[None, :] - out1[:, None], 0)
    gain = gain + violation.change(partner, in1[:, None] - out2[None, :], 0)
    useless = gain >= -violation.least_gain
    gain += _price(solution, violation, p1, k1, broker)[:, None] + _price(solution, violation, p2, k2, partner)[None, :]
    gain[useless] = np.inf
    order = np.argsort(gain, axis=None, kind="stable")[:_EXCHANGES]
    i, j = np.unravel_index(order, gain.shape)
    good = gain[i, j] < np.inf
    i, j = i[good], j[good]
    if not i.size:
        return None
    fits = may_exchange(solution, p1[i], k1[i], p2[j], k2[j])
    if not fits.any():
        return None
    a, b = i[fits][0], j[fits][0]
    step = SearchStep(np.array([p1[a], p2[b]]), np.array([k1[a], k2[b]]), np.array([partner, broker]))
    return float(gain[a, b]), step


def _loads(solution: Solution, p: I64, k: I64, current: int, target: int) -> tuple[I64, I64]:
    """Bytes of slots where they are, and where they would go."""
    return solution.load(p, k, np.full(len(p), current)), solution.load(p, k, np.full(len(p), target))


def _sample(index: Index, broker: int, size: float) -> tuple[I64, I64]:
    one = np.array([broker])
    found = index.near(one, [size, 0.0], _NEAREST), index.spread(one, _NEAREST)
    cells = sorted_distinct(np.concatenate([p * index.solution.width + k for p, k in found]))
    return cells // index.solution.width, cells % index.solution.width


def may_exchange(solution: Solution, p1: I64, k1: I64, p2: I64, k2: I64) -> Bools:
    """Whether each first slot may take the place of the second one and the other way round."""
    b1, b2 = solution.placement[p1, k1], solution.placement[p2, k2]
    same_topic = solution.problem.topic[p1] == solution.problem.topic[p2]
    most = np.where(same_topic, 1, 0)
    return np.asarray(
        (p1 != p2) & solution.may_go(p1, k1, b2, forgiven=most) & solution.may_go(p2, k2, b1, forgiven=most)
    )
