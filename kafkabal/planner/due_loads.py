"""What each broker is due of bytes, replicas, leaders and replicas of topics, as far as the rules of a plan allow.

All are proportional to the fair loads (:mod:`kafkabal.scoring.due_under_rules`), and equal to the capacity if no rule
binds. Bytes are those at the end of the plan: a replica that has to leave a broker counts where it will go.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.model import F64, I32, I64, Bools
from kafkabal.planner.problem import Problem
from kafkabal.scoring import PlaceableLoads, Rules, due_of_factors, fair_shares, largest_sums

_LEAST = 0.01
"""Least fraction of a capacity that a broker counts as due when loads are divided by it; 0.001 and 0.1 give the same 19
plans of benchmarks/planner_constants.py."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DueLoads:
    """Proportions, not loads: with the same sum over the brokers that count as the capacities of the score."""

    bytes: F64
    """shape (n_brokers,), and the next two."""
    count: F64
    leaders: F64
    topic_kind: I32
    """shape (n_topics,): row of :attr:`of_topics` for each topic."""
    of_topics: F64
    """shape (n_kinds, n_brokers): parts of the replicas of a topic."""
    byte_weight: F64
    """shape (n_brokers,): divisor for bytes when brokers are compared: :attr:`bytes`, but never quite 0."""
    count_weight: F64
    """shape (n_brokers,): the same for replicas; 1.0 if no rule binds."""
    follows_bytes: bool
    """Whether due bytes change a little as replicas move, since copies of a partition differ in size."""

    def mean_bytes(self, bytes_: I64, rows: Bools) -> float:
        """Bytes per unit of :attr:`byte_weight` over some brokers, which makes their mean share 1."""
        return float(bytes_[rows].sum() / self.byte_weight[rows].sum()) if rows.any() else 0.0

    def byte_shares(self, bytes_: I64, rows: Bools) -> F64:
        """float64, shape (n_brokers,): bytes over fair bytes, as :func:`kafkabal.scoring.evaluate` gives them."""
        return fair_shares(bytes_, self.byte_weight, self.mean_bytes(bytes_, rows) or 1.0)


def due_loads(problem: Problem, placement: I32, *, bytes_agree: bool) -> DueLoads:
    """What brokers are due once every position is on a counted broker.

    Parameters
    ----------
    placement
        int32, shape (n_partitions, width): broker of each position, -1 if unplaced or padding.
    bytes_agree
        Whether every copy of a partition is as large as a new one would be.
    """
    n = problem.n_brokers
    ones = np.ones(n)
    of_bytes = (
        _due_bytes(problem, placement) if problem.has_score("disk") and problem.weighed.any() else problem.capacity
    )
    of_counts = _due_counts(problem) if problem.has_score("replicas") else ones
    count_capacity = _capacity(problem, "replicas") if problem.has_score("replicas") else ones
    kinds, kind = _due_of_topics(problem)
    return DueLoads(
        bytes=of_bytes,
        count=of_counts,
        leaders=_due_leaders(problem) if problem.has_score("leaders") else ones,
        topic_kind=kind,
        of_topics=kinds,
        byte_weight=_not_nothing(of_bytes, problem.capacity),
        count_weight=_not_nothing(of_counts, count_capacity) / count_capacity,
        follows_bytes=not bytes_agree and of_bytes is not problem.capacity,
    )


def bytes_due(problem: Problem, placement: I32, due: DueLoads) -> DueLoads:
    """The same for another placement."""
    if not due.follows_bytes:
        return due
    of_bytes = _due_bytes(problem, placement)
    return replace(due, bytes=of_bytes, byte_weight=_not_nothing(of_bytes, problem.capacity))


def _not_nothing(due: F64, capacity: F64) -> F64:
    # a broker without room is due nothing; what it holds must weigh a lot, but not infinitely
    return np.maximum(due, _LEAST * capacity)


def _due_bytes(problem: Problem, placement: I32) -> F64:
    rules, rows = problem.rules, problem.weighed
    on_counted = np.append(rows, False)[placement]
    coming = (placement < 0) & (np.arange(problem.width) < problem.positions[:, None]) | np.append(
        problem.leaves, False
    )[placement]
    coming &= problem.movable[:, None]
    load = np.where(placement == problem.previous, problem.held_bytes, problem.arriving_bytes[:, None])
    load = np.where(on_counted, load, np.where(coming, problem.arriving_bytes[:, None], 0))
    fixed = np.zeros(problem.n_brokers)
    p, k = np.nonzero(on_counted & ~rules.movable[:, None])
    np.add.at(fixed, placement[p, k], load[p, k].astype(np.float64))
    most = np.where(rules.takes | ~rows, np.inf, 0.0)
    p, k = np.nonzero(np.append(rows & ~rules.takes, False)[problem.previous] & rules.movable[:, None])
    np.add.at(most, problem.previous[p, k], problem.held_bytes[p, k].astype(np.float64))
    most = np.minimum(most, np.maximum(rules.room_bytes - fixed, 0.0))
    asked = None
    if rules.asked is not None:
        asked = largest_sums(load.max(1, initial=0)[rules.movable].astype(np.float64), rules.asked.replicas)
        asked = np.minimum(asked, np.maximum(rules.asked.bytes - fixed, 0.0))
    stuck = (placement >= 0) & ~on_counted & ~coming
    # partitions that are repaired but not balanced find a place anywhere, one replica at a time
    factor = np.where(rules.movable, np.maximum(rules.factor - stuck.sum(1), 0), 1)
    load[on_counted & ~rules.movable[:, None]] = 0
    sums = np.bincount(factor, load.sum(1).astype(np.float64))
    nothing = np.zeros(problem.n_brokers)
    return _due(problem, problem.capacity, rows, _each(sums, int(rows.sum())), fixed, most, nothing, asked)


def _due_counts(problem: Problem) -> F64:
    rules, rows = problem.rules, problem.counted
    fixed = np.where(rows, _on_brokers(problem, ~rules.movable & ~rules.ignored), 0.0)
    on_top = np.where(rows, _on_brokers(problem, rules.ignored), 0.0)
    most = np.where(rules.takes, np.inf, _on_brokers(problem, rules.movable))
    factor = np.where(rules.movable, rules.factor, 0)
    sums = np.bincount(factor) * np.arange(int(factor.max(initial=0)) + 1)
    each = _each(sums, int(rows.sum()))
    return _due(problem, _capacity(problem, "replicas"), rows, each, fixed, most, on_top, _asked_replicas(rules))


def _due_leaders(problem: Problem) -> F64:
    rules, rows = problem.rules, problem.counted
    fixed = np.where(rows, _led_on_brokers(problem, ~rules.movable & ~rules.ignored), 0.0)
    on_top = np.where(rows, _led_on_brokers(problem, rules.ignored), 0.0)
    most = np.where(rules.takes, np.inf, _on_brokers(problem, rules.movable))
    most = np.where(rules.may_lead_more, most, _led_on_brokers(problem, rules.movable))
    each = {1: float(rules.movable.sum())}
    return _due(problem, _capacity(problem, "leaders"), rows, each, fixed, most, on_top, _asked_replicas(rules))


def _asked_replicas(rules: Rules) -> F64 | None:
    return None if rules.asked is None else rules.asked.replicas


def _led_on_brokers(problem: Problem, partitions: Bools) -> F64:
    """float64, shape (n_brokers,): how many of some partitions each broker leads."""
    leader = problem.state.partitions.leader
    return np.bincount(leader[partitions & (leader >= 0)], minlength=problem.n_brokers).astype(np.float64)


def _due_of_topics(problem: Problem) -> tuple[F64, I32]:
    """One row per replication factor of topics, and one for topics that may not move."""
    capacity = _capacity(problem, "topic-spread") if problem.has_score("topic-spread") else np.ones(problem.n_brokers)
    if not problem.has_score("topic-spread"):
        return capacity[None, :], np.zeros(problem.n_topics, np.int32)
    by_factor = due_of_factors(capacity, problem.counted, problem.rules)
    factor = np.zeros(problem.n_topics, problem.rules.factor.dtype)
    movable = np.flatnonzero(problem.rules.movable)
    np.maximum.at(factor, problem.topic[movable], problem.rules.factor[movable])
    distinct = sorted(by_factor)
    kind = np.searchsorted([0, *distinct], factor).astype(np.int32)
    return np.array([capacity, *(by_factor[f] for f in distinct)]), kind


def _due(
    problem: Problem,
    capacity: F64,
    counted: Bools,
    each: Mapping[int, float],
    fixed: F64,
    most: F64,
    on_top: F64,
    asked: F64 | None,
) -> F64:
    rack = problem.rules.rack
    return PlaceableLoads(
        capacity=capacity, counted=counted, rack=rack, each=each, fixed=fixed, most=most, on_top=on_top, asked=asked
    ).due()


def _capacity(problem: Problem, score: str) -> F64:
    return problem.score(score).capacity(problem.state)


def _on_brokers(problem: Problem, partitions: Bools) -> F64:
    """Replicas of some partitions on each broker before the plan."""
    previous = problem.previous[partitions]
    return np.bincount(previous[previous >= 0], minlength=problem.n_brokers).astype(np.float64)


def _each(sums: I64 | F64, n: int) -> dict[int, float]:
    """By replication factor: load of one replica of each partition, from the loads of all replicas."""
    return {factor: float(sums[factor]) / min(factor, n) for factor in range(1, len(sums)) if sums[factor] > 0}
