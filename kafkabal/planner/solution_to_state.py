"""The cluster as it will be once a placement is applied."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.model import I32, I64, Bools, ClusterState, Replicas, freeze
from kafkabal.plan import with_free_space
from kafkabal.planner.problem import NONE
from kafkabal.planner.search.solution import Solution


def solution_to_state(solution: Solution, leader: I32, log_dir: I32) -> ClusterState:
    """The cluster after the plan; copies on their way between log dirs are not carried over.

    Parameters
    ----------
    leader
        shape (n_partitions,): broker that is to lead each partition.
    log_dir
        shape (n_partitions, width): row of the log dir of each slot, -1 where it is not known.
    """
    problem, before = solution.problem, solution.problem.cluster
    source = _source_rows(solution)
    new_leader = leader != problem.leader
    arrives = (source < 0) & (solution.place >= 0)
    shelved = (source >= 0) & (log_dir != before.replicas.log_dir[np.maximum(source, 0)])
    # of every partition that is listed, for whatever reason, the first replica is to lead
    changed = new_leader | (arrives | shelved).any(1) | _lost(solution)
    order = _leader_first(solution.place, np.where(changed, leader, NONE))
    row = np.arange(len(order))[:, None]
    place, log_dir, source = solution.place[row, order], log_dir[row, order], source[row, order]
    filled = place >= 0
    partition = np.nonzero(filled)[0].astype(np.int32)
    source, stays = source[filled], source[filled] >= 0
    r = before.replicas
    arriving = np.where(problem.size_known, problem.arriving_bytes, NONE)[partition]
    replicas = Replicas(
        partition=partition,
        broker=place[filled],
        log_dir=log_dir[filled],
        size_bytes=np.where(stays, r.size_bytes[source], arriving),
        in_sync=r.in_sync[source] | ~stays,
        adding=r.adding[source] & stays,
        removing=r.removing[source] & stays,
    )
    first = np.concatenate(([0], np.cumsum(filled.sum(1)))).astype(np.int64)
    leads = np.where(changed, leader, before.partitions.leader).astype(np.int32)
    partitions = replace(before.partitions, first=first, leader=leads)
    freeze(first, leads, *(getattr(replicas, name) for name in Replicas.__slots__))
    # a search that goes on from here would else fill what has just been filled a second time
    return with_free_space(before, before.replace(partitions=partitions, replicas=replicas))


def _source_rows(solution: Solution) -> I64:
    """Row of the present replica that stays in each slot, -1 where another one comes or none is."""
    problem = solution.problem
    slot = np.arange(problem.width)
    rows = problem.cluster.partitions.first[:-1, None] + slot
    return np.where(solution.at_home(), rows, NONE)


def _lost(solution: Solution) -> Bools:
    """Partitions that end with fewer replicas than they have."""
    return np.asarray((solution.place >= 0).sum(1) < solution.problem.cluster.replication_factor)


def _leader_first(place: I32, leader: I32) -> I64:
    """Order of the slots: the leader's first, where there is one, and the others as they stand."""
    return np.argsort(place != leader[:, None], axis=1, kind="stable")
