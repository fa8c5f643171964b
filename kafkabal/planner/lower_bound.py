"""A proved lower bound on the bytes that any plan reaching the same bands under the same rules must move.

It is the Lagrangian dual of a relaxation: give each broker a potential, charge every move with the fall in potential
between its ends, and what remains can only cost. Any potentials give a valid bound; a subgradient method looks for good
ones. Where that is not close to a plan, each replica on a broker gets a potential too
(:mod:`~kafkabal.planner.relaxation_by_count`). ``docs/planner.md`` has the proof.
"""

from __future__ import annotations

import math

import numpy as np

from kafkabal.model import F64
from kafkabal.planner.dual_ascent import Ascent, ascend
from kafkabal.planner.indivisible_bound import indivisible_bound
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.relaxation_by_count import RelaxationByCount
from kafkabal.planner.sampled_partitions import sampled_partitions
from kafkabal.planner.search.iterated_search import CLOSE
from kafkabal.planner.search.solution import AscentFound, Guidance, Solution

_NUMBERS_TO_SPEND = 1_500_000
"""Numbers read in all evaluations if sizes agree, and twice as many if they differ: less than a tenth of the time of a
search, from 40 brokers to 1,000."""
_MOST_EVALUATIONS = 200
"""Of 600 drawn clusters of 3 to 12 brokers, 60 evaluations leave 18 bounds up to 11% below those with 400, 120 five,
200 none, by 0.1% or more."""
_MOST_WHERE_SIZES_DIFFER = 120
"""With 100 bounds of heavy clusters whose followers differ by 30% are within 0.1% of the linear program."""
_SAMPLE_ABOVE = 20_000
"""Replicas that may move; of fewer, all are evaluated: for 9,400 of a heavy cluster a sample would save 0.1 s of 1.4 s
and lower the bound by 0.04%."""
_FEWEST_SAMPLED, _SAMPLED_A_BROKER = 8_000, 80
"""Replicas in a sample. Of 40 and 100 brokers whose followers differ by 30%, 4,000 give bounds lower by 0.1% at most
in 0.7 of the time, 16,000 higher by 0.04% at most in 1.5 of it; of 200 brokers 8,000 give 0.8% less than 16,000 at
9%, and as much at 2%."""
_EVALUATIONS_A_BROKER = 3
"""Evaluations of a sample: of 100 brokers, 2 give 0.03 to 0.05% less in 0.8 of the time, 6 give 0.01 to 0.06% more in
1.7 of it."""
_NUMBERS_TO_SPEND_ON_SAMPLE = 24_000_000
"""Numbers read in all evaluations of a sample: a second for 200 brokers; from about 180 on there are fewer than three
evaluations a broker."""
_NUMBERS_BY_COUNT, _MOST_BY_COUNT = 40_000_000, 120
"""Numbers read in all evaluations, and most evaluations, if replicas have potentials too. Of 18 clusters of 10 to 15
brokers with disks of 1 : 2 : 4 or unequal racks, planned at 9% and 2%, 100 evaluations give bounds of 0.97 to 1.00 of
the linear program, without these potentials 0.92 to 1.00; 1,000 raise none of them by more than 0.1%."""
_FEWEST_EVALUATIONS = 3
"""Besides the corners, one of which is nearly optimal if the cluster is large."""
_ROUNDING = 1e-12
"""Fraction of the bound by which its sums may be off: it must never exceed the truth."""
_SUM_ROUNDING = 1e-13
"""Fraction of a total by which sums of its parts may differ."""
_ROUNDING_BYTES = 1e-6
"""Keeps a whole number of bytes from being rounded up to the next."""
_CLOSE = 5e-4
"""Fraction of the bytes moved: a bound this close is not worth another evaluation. 5e-5 and 5e-3 give the same 19 plans
of benchmarks/planner_constants.py."""


def bound_bytes(start: Solution, moved_bytes: int) -> int:
    """Bytes that every plan must move to bring the state before the plan inside its bands.

    Parameters
    ----------
    start
        The state before anything was moved.
    moved_bytes
        Bytes that a known plan moves; a bound close to that is not improved any further.
    """
    enough = moved_bytes * (1 - _CLOSE)
    best = start.guidance.bound if start.guidance is not None else _ascended(start, enough).value
    divided = max(0, math.ceil(best * (1 - _ROUNDING) - _ROUNDING_BYTES))
    if not start.sizes_agree():
        return divided
    # a plan may end outside the exact bands by what a score forgives
    return max(divided, indivisible_bound(start), min(_plain_bound(start), moved_bytes))


def _ascended(start: Solution, enough: float) -> AscentFound:
    """An ascent up to a sufficient value; one that ended below its goal is not repeated."""
    found = start.ascent_found
    if found is None or found.asked <= found.value < enough:
        relaxation = Relaxation(start)
        end = ascend(relaxation, _evaluations(relaxation), enough)
        found = AscentFound(enough, end.value, np.concatenate((end.potential, np.zeros(len(end.potential)))))
        # a plan that is as good as the best anyway is not worth the slower evaluations
        if end.value < enough / CLOSE:
            found = _raised_by_count(start, found)
        start.ascent_found = found
    return found


def _raised_by_count(start: Solution, found: AscentFound) -> AscentFound:
    """An ascent continued with potentials of replicas, where the cluster is small enough."""
    by_count = RelaxationByCount(start, found.potential[: start.problem.n_brokers])
    most = _evaluations_by_count(by_count)
    if not most:  # a single evaluation compares every replica with every broker: 9 GB on 1,000 brokers
        return found
    higher = ascend(by_count, most, found.asked)
    return AscentFound(found.asked, max(found.value, higher.value), higher.potential)


def guidance_of(start: Solution) -> Guidance:
    """Prices of moves at the potentials where the bound is highest; a linear program would make those below 0."""
    relaxation = Relaxation(start)
    potential, bound = _highest(relaxation)
    copied = np.maximum(start.problem.arriving_bytes, 1)[:, None]
    return Guidance(potential, relaxation.prices(potential) / copied, bound)


def guidance_where_sizes_agree(start: Solution) -> Guidance:
    """The same at the potentials of the bound that plans are compared with."""
    found = _ascended(start, math.inf)
    n, copied = start.problem.n_brokers, np.maximum(start.problem.arriving_bytes, 1)[:, None]
    prices = RelaxationByCount(start, found.potential[:n]).prices(found.potential)
    return Guidance(found.potential[:n], prices / copied, found.value)


def _highest(relaxation: Relaxation) -> Ascent:
    """Where the bound is highest, as far as ascents find it."""
    found = _found_by_sample(relaxation) if relaxation.n_cells > _SAMPLE_ABOVE else _found_by_all(relaxation)
    return max((Ascent(x, relaxation.evaluate(x).value) for x in found), key=lambda end: end.value)


def _found_by_sample(relaxation: Relaxation) -> list[F64]:
    """Where an ascent of a sample ends, and the best corner."""
    solution = relaxation.solution
    replicas = np.bincount(relaxation.p, minlength=len(solution.placement))
    each = relaxation.n_cells / max(1, int((replicas > 0).sum()))
    number = max(_FEWEST_SAMPLED, _SAMPLED_A_BROKER * len(relaxation.used)) / each
    bytes_ = (solution.problem.arriving_bytes * replicas).astype(np.float64)
    sample = sampled_partitions(bytes_, int(number))
    represented = Relaxation(solution, sample)
    found = ascend(represented, _evaluations_of_sample(represented), math.inf)
    return [found.potential, ascend(relaxation, 0, math.inf).potential]


def _found_by_all(relaxation: Relaxation) -> list[F64]:
    """Where ascents end that look at every replica."""
    found = [ascend(relaxation, _evaluations(relaxation), math.inf).potential]
    if relaxation.reach is not None and relaxation.topic_groups.rows.size:
        # of 20 brokers in four racks by all scores the first ascent ends 1.2% below the linear program, this one
        # 0.1%; of 12 brokers it is the other way round
        relaxation.all_crowded_move = True
        found.append(ascend(relaxation, _evaluations(relaxation), math.inf).potential)
        relaxation.all_crowded_move = False
    return found


def _evaluations(relaxation: Relaxation) -> int:
    """How often the relaxation is evaluated at most."""
    agree = relaxation.solution.sizes_agree()
    most = _MOST_EVALUATIONS if agree else _MOST_WHERE_SIZES_DIFFER
    numbers = _NUMBERS_TO_SPEND if agree else 2 * _NUMBERS_TO_SPEND
    return int(np.clip(numbers // _numbers_read(relaxation), _FEWEST_EVALUATIONS, most))


def _evaluations_by_count(relaxation: RelaxationByCount) -> int:
    """How often the relaxation with potentials of replicas is evaluated at most."""
    if not relaxation.has_band.any() or relaxation.n_cells > _SAMPLE_ABOVE:
        return 0
    return int(np.clip(_NUMBERS_BY_COUNT // relaxation.numbers_read, _FEWEST_EVALUATIONS, _MOST_BY_COUNT))


def _evaluations_of_sample(represented: Relaxation) -> int:
    """How often a sample is evaluated at most."""
    most = max(_MOST_WHERE_SIZES_DIFFER, _EVALUATIONS_A_BROKER * len(represented.used))
    return int(np.clip(_NUMBERS_TO_SPEND_ON_SAMPLE // _numbers_read(represented), _FEWEST_EVALUATIONS, most))


def _numbers_read(relaxation: Relaxation) -> int:
    # besides the replicas, a step looks at the dilated space of the brokers
    return max(1, relaxation.n_cells + len(relaxation.used) ** 2)


def _plain_bound(start: Solution) -> int:
    """Load above the exact upper edges or on brokers to be emptied, or load missing below the lower edges.

    Valid if the copies of a partition are equal in size, so that moves do not change the total.
    """
    problem, tolerance = start.problem, start.problem.options.tolerance
    leaving = int(problem.arriving_bytes[np.nonzero(start.must_leave())[0]].sum())
    rows = problem.weighed
    if not problem.has_score("disk") or not rows.any():
        return leaving
    used, capacity = start.used[rows].astype(np.float64), start.due.bytes[rows]
    mean = (float(used.sum()) + leaving) / float(capacity.sum())
    above = float(np.maximum(used - mean * (1 + tolerance) * capacity, 0).sum()) + leaving
    below = float(np.maximum(mean * (1 - tolerance) * capacity - used, 0)[~problem.is_limited[rows]].sum())
    noise = _SUM_ROUNDING * float(used.sum()) + _ROUNDING_BYTES
    return max(0, math.ceil(max(above, below) - noise))
