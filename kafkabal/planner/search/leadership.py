"""Who leads each partition while leaders are assigned."""

from __future__ import annotations

import numpy as np

from kafkabal.model import I32, I64, Bools
from kafkabal.planner.problem import NONE, Problem
from kafkabal.planner.search.grouped_array_operations import any_of_row
from kafkabal.planner.search.solution import Solution

_FULL = np.iinfo(np.int64).max // 2
"""Larger than any count, without overflow if one is added."""


class Leadership:
    """Who leads each partition, who else may, and how many partitions each broker leads."""

    def __init__(self, solution: Solution) -> None:
        problem = solution.problem
        self.solution = solution
        there = solution.placement >= 0
        arrived = solution.moved()
        self.candidates: I32 = np.where(there & (problem.electable | arrived), solution.placement, NONE)
        self.candidates[~problem.counted[self.candidates] & (self.candidates >= 0)] = NONE
        self._leave_out_excluded(problem)
        self.preferred: I32 = np.where(self.candidates[:, :1] == problem.previous[:, :1], self.candidates[:, :1], NONE)
        """shape (n_partitions, 1): the candidate that Kafka prefers as the leader, before any change; -1 if none."""
        self.free: Bools = problem.movable.copy()
        limit = problem.options.max_leader_changes
        # with a limit, replicas of a drained broker may stay for later, and their leadership with them
        leads_on = problem.counted if limit is None else problem.state.brokers.is_live
        stays = (solution.placement == problem.leader[:, None]).any(1) & leads_on[problem.leader]
        self.leader: I32 = np.where(stays | ~self.free, problem.leader, NONE)
        self.free &= (self.candidates >= 0).any(1)
        self.leader[~self.free & (self.leader < 0)] = problem.leader[~self.free & (self.leader < 0)]
        led = self.leader[self.leader >= 0]
        self.count: I64 = np.bincount(led, minlength=problem.n_brokers).astype(np.int64)
        self.changes_left = len(self.leader) if limit is None else max(0, limit - int((self.leader < 0).sum()))

    def _leave_out_excluded(self, problem: Problem) -> None:
        """An excluded broker keeps its leadership, and becomes leader only where no other broker can lead."""
        if problem.rules.may_lead_more.all():
            return
        may_lead_more = np.append(problem.rules.may_lead_more, False)
        keeps = may_lead_more[self.candidates] | (self.candidates == problem.leader[:, None])
        others = np.where(keeps, self.candidates, NONE)
        self.candidates = np.where(any_of_row(others >= 0)[:, None], others, self.candidates)

    def change(self, p: I64, broker: I32 | I64) -> None:
        """Change the leaders of partitions."""
        old = self.leader[p]
        np.subtract.at(self.count, old[old >= 0], 1)
        np.add.at(self.count, broker, 1)
        self.leader[p] = broker

    def least_loaded(self, p: I64, candidates: I32) -> I32:
        """Of these candidates of each partition, of which there is one at least, that which leads the fewest."""
        load = np.append(self.count, _FULL)[candidates[p]]
        return np.asarray(candidates[p, load.argmin(1)])
