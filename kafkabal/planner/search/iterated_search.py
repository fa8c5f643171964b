"""For small clusters: continues from perturbed plans, since with few replicas a local optimum is a matter of chance.

::

    repeat
        take the last plan if it was near the best one, else the best, and send back a random half or more of its moves
        every second time, move up to three replicas that had stayed
        local search, then reduce cost, then joint moves where that came near the best plan
        the best plan is the one with least outside its bands, then with the fewest bytes
    until the plan is close to the bound, or not improved for long and either near the bound or outside its bands, or
    not for a while where counting shows that the bands are out of reach, or the rounds are used up

Source: H. R. Lourenço, O. C. Martin, T. Stützle, Iterated Local Search, in: Handbook of Metaheuristics (Kluwer 2003).
"""

from __future__ import annotations

import numpy as np

from kafkabal.model import Bools
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.search.band_violation import is_within_limits, merit_of
from kafkabal.planner.search.grouped_array_operations import is_first
from kafkabal.planner.search.joint_moves import move_jointly
from kafkabal.planner.search.local_search import search_locally
from kafkabal.planner.search.out_of_reach import is_out_of_reach
from kafkabal.planner.search.reduce_cost import reduce_cost
from kafkabal.planner.search.solution import Solution

FEW_CELLS = 400
"""Up to so many positions it is worth the time: with 100 eleven of the 24 small plans of
benchmarks/planner_constants.py move more, 0.12% in the mean and 2.3% at most, in 0.4 of the time; with 1,600 two
change by less than 0.01% (2026-11)."""
_MOST_ROUNDS = 120
"""About a second for 40 partitions on 10 brokers. Of 118 drawn clusters the worst is 1.7% above its optimum, 4.8%
with 80 rounds; a third more did not help ten that are hard to plan."""
_ROUNDS_A_MOVE = 12
"""Few moves have few subsets, which need no more rounds: 4 and 36 give the same small plans."""
_SENT_BACK = (0.5, 0.7, 0.9, 1.0)
"""Fractions of what moves. Those ten clusters end 1.2% above their optima in the mean, 1.4% with (0.3, 0.5, 0.7,
0.9), 1.6% with (0.7, 0.9, 1)."""
_MOST_FORCED = 3
"""Moves of replicas that had stayed, every second round: without them some clusters stay 2% above the optimum, with
them in every round others do. With 1 and with 9 one of the small plans moves 1.4% less and others up to 0.2% more:
no value stands out."""
CLOSE = 1.002
"""Bytes over the bound up to which a plan is as good as the best: with 1.0005 the small plans move 0.02% less, 0.14%
at best, in 2.3 times the time; with 1.01 they move 0.06% more, 0.8% at most, in 0.8 of it."""
_NEAR = 1.02
"""Bytes over those of the best plan up to which a plan is perturbed in its turn: with 1.005 one of the small plans
moves 0.01% more, with 1.06 three up to 0.2%."""
_JOINT_MOVES = 2400
"""Positions in all plans that are near, though not better, on which joint moves are tried. Twenty plans of 120
positions: 0.2% less in the mean, a fifth more time. With 200 they take as long as all other rounds for nothing."""
_MOVES_A_POSITION = 3
"""Where positions may go to more brokers than this, each try takes longer, and fewer are made: of 200 partitions of one
replica on 13 brokers all tries took 7 of 13 s, for 0.003% (2026-11)."""
_GIVE_UP_AFTER_ROUNDS = 40
"""Rounds without a better plan after which one that is near the bound, or cannot reach the bands, is left as it is: it
has little to gain. Plans inside the bands but further from the bound profit from late rounds."""
_GIVE_UP_OUT_OF_REACH = 20
"""The same where counting shows that the bands are out of reach. In 21 searches with up to 27 brokers, 40 take 1.2%
more out of what is outside in one, 0.1% in another, and nothing in the others; with 10, two plans move 15% more
(2026-11)."""


def search_iteratively(solution: Solution, bound_bytes: int) -> Solution:
    """The best placement found from a local optimum; all rules stay kept.

    Parameters
    ----------
    bound_bytes
        What every plan has to move; a placement inside all bands that is :data:`CLOSE` to it is left as it is.
    """
    best, merit = solution, merit_of(solution)
    current, joint_left, since = best, _joint_tries(solution), 0
    random = np.random.default_rng(solution.problem.options.seed)
    rounds = min(_MOST_ROUNDS, _ROUNDS_A_MOVE * int(solution.moved().sum()))
    give_up_after = _GIVE_UP_OUT_OF_REACH if is_out_of_reach(solution) else _GIVE_UP_AFTER_ROUNDS
    improved: dict[bytes, Solution] = {}
    for i in range(rounds):
        if _is_enough(merit, bound_bytes, since, give_up_after):
            break
        since += 1
        found = current.copy()
        _send_back(found, random.random(found.placement.shape) < _SENT_BACK[i % len(_SENT_BACK)])
        for _ in range(int(random.random() * (_MOST_FORCED + 1)) if i % 2 else 0):
            _move_any(found, random)
        search_locally(found)
        reduce_cost(found)
        outside, moved = merit_of(found)
        if outside > merit[0] or moved > merit[1] * _NEAR or not is_within_limits(found, solution):
            current = best
            continue
        current = found
        if outside <= 0 and ((outside, moved) < merit or joint_left > 0):
            joint_left -= 1
            current = found = _moved_jointly(found, improved)
        if merit_of(found) < merit:
            best, merit, since = found, merit_of(found), 0
    return best


def _joint_tries(solution: Solution) -> int:
    """On how many plans that are not better joint moves are tried."""
    p, k = np.nonzero((solution.placement >= 0) & solution.problem.movable_positions)
    moves = int(solution.may_go_anywhere(p, k).sum())
    return -(-_JOINT_MOVES // max(solution.placement.size, moves // _MOVES_A_POSITION))


def _moved_jointly(solution: Solution, improved: dict[bytes, Solution]) -> Solution:
    """The placement after joint moves, which take most of the time: the smallest clusters have few local optima, and a
    search comes to each of them several times (11 in 71 rounds with 6 brokers and 20 partitions)."""
    optimum = solution.placement.tobytes()
    if optimum not in improved:
        move_jointly(solution)
        improved[optimum] = solution
    return improved[optimum]


def _is_enough(merit: tuple[float, int], bound_bytes: int, rounds: int, give_up_after: int) -> bool:
    """Whether to stop, with a best plan that this many rounds have not improved.

    Parameters
    ----------
    give_up_after
        Rounds after which a plan outside its bands is left as it is.
    """
    outside, moved = merit
    if rounds >= give_up_after and outside > 0:
        return True
    return outside <= 0 and moved <= bound_bytes * (CLOSE if rounds < _GIVE_UP_AFTER_ROUNDS else _NEAR)


def _send_back(solution: Solution, chosen: Bools) -> None:
    """Undo moves that no rule requires."""
    p, k = np.nonzero(solution.moved() & (solution.why < MoveCause.RACK) & chosen & (solution.problem.previous >= 0))
    previous = solution.problem.previous[p, k]
    allowed = solution.may_go(p, k, previous)
    # each is allowed by itself: of one partition, and of one topic on a broker, only one goes at a time
    allowed &= is_first(p) & is_first(
        solution.problem.topic[p].astype(np.int64) * solution.problem.n_brokers + previous
    )
    solution.move(p[allowed], k[allowed], previous[allowed])


def _move_any(solution: Solution, random: np.random.Generator) -> None:
    """Move a replica that is still on its previous broker to any broker that may receive it."""
    p, k = np.nonzero(solution.stays() & solution.problem.movable_positions & ~solution.must_leave())
    if not p.size:
        return
    one = int(random.random() * len(p))
    p, k = p[one : one + 1], k[one : one + 1]
    allowed = solution.may_go_anywhere(p, k)[0] & (solution.problem.arriving_bytes[p] <= solution.room_bytes())
    allowed[solution.placement[p, k]] = False
    targets = np.flatnonzero(allowed)
    if targets.size:
        solution.move(p, k, targets[[int(random.random() * len(targets))]])
