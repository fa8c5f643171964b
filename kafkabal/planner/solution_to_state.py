"""The cluster after a placement has been applied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.model import I32, I64, Bools, ClusterState, Replicas, freeze
from kafkabal.plan import with_free_space
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.solution import Solution


def solution_to_state(solution: Solution, leader: I32, log_dir: I32) -> ClusterState:
    """The cluster after the plan; drops copies in flight between log dirs.

    Parameters
    ----------
    leader
        shape (n_partitions,): broker that is to lead each partition.
    log_dir
        shape (n_partitions, width): row of the log dir of each position; -1 if unknown.
    """
    problem, before = solution.problem, solution.problem.state
    previous = _previous_rows(solution)
    new_leader = leader != problem.leader
    arrives = (previous < 0) & (solution.placement >= 0)
    changes_dir = (previous >= 0) & (log_dir != before.replicas.log_dir[np.maximum(previous, 0)])
    # the first replica of every listed partition is to lead, whatever the reason for listing it
    changed = new_leader | (arrives | changes_dir).any(1) | _lost(solution)
    order = _leader_first(solution.placement, np.where(changed, leader, NONE))
    row = np.arange(len(order))[:, None]
    placement, log_dir, previous = solution.placement[row, order], log_dir[row, order], previous[row, order]
    filled = placement >= 0
    partition = np.nonzero(filled)[0].astype(np.int32)
    previous, stays = previous[filled], previous[filled] >= 0
    r = before.replicas
    arriving = np.where(problem.size_known, problem.arriving_bytes, NONE)[partition]
    replicas = Replicas(
        partition=partition,
        broker=placement[filled],
        log_dir=log_dir[filled],
        size_bytes=np.where(stays, r.size_bytes[previous], arriving),
        in_sync=r.in_sync[previous] | ~stays,
        adding=r.adding[previous] & stays,
        removing=r.removing[previous] & stays,
    )
    first = np.concatenate(([0], np.cumsum(filled.sum(1)))).astype(np.int64)
    leads = np.where(changed, leader, before.partitions.leader).astype(np.int32)
    partitions = replace(before.partitions, first=first, leader=leads)
    freeze(first, leads, *(getattr(replicas, name) for name in Replicas.__slots__))
    # otherwise a search that continues from here would fill the same space a second time
    return with_free_space(before, before.replace(partitions=partitions, replicas=replicas))


def _previous_rows(solution: Solution) -> I64:
    """Row of the current replica that stays in each position; -1 if another one replaces it or there is none."""
    problem = solution.problem
    position = np.arange(problem.width)
    rows = problem.state.partitions.first[:-1, None] + position
    return np.where(solution.stays(), rows, NONE)


def _lost(solution: Solution) -> Bools:
    """Partitions that end with fewer replicas than they have."""
    return np.asarray((solution.placement >= 0).sum(1) < solution.problem.state.replication_factor)


def _leader_first(placement: I32, leader: I32) -> I64:
    """Order of the positions: the leader's first, if there is one, then the others in their order."""
    return np.argsort(placement != leader[:, None], axis=1, kind="stable")
