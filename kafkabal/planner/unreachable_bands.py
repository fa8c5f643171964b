"""Where bands are out of reach: go on as long as it helps, and move nothing that does not."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, ClusterState
from kafkabal.planner.candidate import Draft, search
from kafkabal.planner.move_cause import Why
from kafkabal.planner.plan_listener import PlanListener
from kafkabal.planner.plan_options import Mode
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.planner.search.solution import State
from kafkabal.planner.shortfall import shortfall, warnings_of

_MOST_REPEATS = 8
_LEAST_HELP = 0.01


def falls_short(draft: Draft) -> bool:
    """Whether the search went as far as it could and still left something outside its band."""
    options = draft.state.problem.options
    if options.mode is not Mode.FULL or options.replication_factor is not None:
        return False
    return bool(warnings_of(draft.state, draft.leader, draft.unplaced))


def persist(start: State, draft: Draft, listener: PlanListener) -> tuple[Draft, ClusterState]:
    """Go on from the result as long as it helps, so that a later run finds nothing.

    What mends no rule and helps less than :data:`_LEAST_HELP` is not worth a single byte.

    Returns
    -------
    Draft, ClusterState
        Where it ends, and the cluster once that is applied.
    """
    problem = start.problem
    if not is_worth_it(start, draft):
        return draft._replace(state=start, leader=problem.leader), problem.cluster
    after = draft.outcome()
    for _ in range(_MOST_REPEATS):
        again = search(State(build_problem(after, problem.options)), listener, once=True)
        if not _helps(again, shortfall(draft.state, draft.leader)) or not _may_lead(problem, again.leader):
            break
        after = again.outcome()
        draft.state.adopt(after)
        led = after.partitions.leader
        draft = draft._replace(leader=np.where(led >= 0, led, draft.leader).astype(np.int32))
    return draft, after


def _may_lead(problem: Problem, leader: I32) -> bool:
    """Whether no more leaders change than may, and none to a copy that is out of sync: it left, and came back later."""
    changes = leader != problem.leader
    stale = ((problem.home == leader[:, None]) & ~problem.electable).any(1)
    most, had = problem.options.max_leader_changes, problem.cluster.partitions.leader >= 0
    return not (changes & stale).any() and (most is None or int((changes & had).sum()) <= most)


def is_worth_it(start: State, draft: Draft, share: float = 1.0) -> bool:
    """Whether a plan that does not reach the bands mends a rule, or helps enough.

    Parameters
    ----------
    share
        How much of a plan the draft is, by its bytes; so much less it has to help.
    """
    return _mends(draft) or _helps(draft, shortfall(start, start.problem.leader), share)


def _mends(draft: Draft) -> bool:
    """Whether something moves for the sake of a rule."""
    return bool((draft.state.moved() & (draft.state.why >= Why.RACK)).any())


def _helps(draft: Draft, before: float, share: float = 1.0) -> bool:
    return shortfall(draft.state, draft.leader) < before * (1 - _LEAST_HELP * share)
