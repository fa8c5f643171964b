"""Fair utilisation against linear programs without polymatroids, and against a search of all sets of holders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, csr_array, vstack

from kafkabal.scoring.fair_utilisation import HolderColumns, fair_utilisation
from kafkabal.testing.brute_force_fair_utilisation import brute_force_fair

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
SHORT, LONG = 60, 1000
TOO_FULL = (27, 606, 2894)
"""Clusters of a few terabytes that exceed their limits by two bytes."""
TIGHT = 3e-7
"""What a program leaves open of a utilisation that cannot be lower."""
SLACK = 1e-8
"""What settled utilisations are given so that rounding leaves the next program a solution."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Partitions, and their possible holders."""

    holders: HolderColumns
    replicas: I64
    size: F64

    @property
    def placed(self) -> I64:
        """Replicas of each partition that can be on distinct holders."""
        return np.minimum(self.replicas, len(self.holders.rack))

    def mean(self) -> float:
        """Utilisation if all were equal."""
        load = float((self.placed * self.size).sum() + self.holders.fixed.sum())
        return load / float(self.holders.capacity.sum())

    def in_units_of(self, load: float) -> Case:
        """The same, with loads in another unit."""
        h = self.holders
        return Case(
            holders=HolderColumns(rack=h.rack, capacity=h.capacity, fixed=h.fixed / load, most=h.most / load),
            replicas=self.replicas,
            size=self.size / load,
        )

    def fair(self) -> F64:
        """The product's result."""
        each: dict[int, float] = {}
        for replicas, size in zip(self.replicas.tolist(), self.size.tolist(), strict=True):
            each[replicas] = each.get(replicas, 0.0) + size
        found = fair_utilisation(self.holders, each)
        return np.full(len(self.holders.rack), self.mean()) if found is None else found


class Programs:
    """Linear programs over the fraction of each partition's replica on each holder, and the peak utilisation."""

    def __init__(self, case: Case) -> None:
        self.holders = case.holders
        n, p = len(case.holders.rack), len(case.size)
        self.n, self.p = n, p
        cells = np.arange(p * n).reshape(p, n)
        racks = np.unique(case.holders.rack)
        self.replicas = case.placed.astype(np.float64)
        self.whole = self._rows(list(cells))
        self.of_racks = self._rows([row[case.holders.rack == z] for row in cells for z in racks])
        # with as many racks as replicas no rack holds two; with more replicas each rack holds one or more
        self.sign = np.where(np.repeat(self.replicas <= len(racks), len(racks)), 1.0, -1.0)
        at = (np.tile(np.arange(n), p), np.arange(p * n))
        self.load = coo_array((np.repeat(case.size, n), at), shape=(n, p * n + 1)).tocsr()

    def _rows(self, cells: list[I64]) -> csr_array:
        row = np.repeat(np.arange(len(cells)), [len(c) for c in cells])
        at = (row, np.concatenate(cells))
        return coo_array((np.ones(len(row)), at), shape=(len(cells), self.p * self.n + 1)).tocsr()

    def lowest_peak(self, settled: F64) -> float | None:
        """The least peak of the holders not yet settled; None if no placement satisfies the rules."""
        cost = np.zeros(self.p * self.n + 1)
        cost[-1] = 1.0
        return self._solve(cost, settled, (0.0, None))

    def least(self, holder: int, settled: F64, level: float) -> float:
        """The least utilisation of a holder while no other is above the level."""
        capacity = self.holders.capacity[holder]
        cost = self.load[[holder]].toarray()[0] / capacity
        found = self._solve(cost, settled, (level, level * (1 + SLACK) + SLACK))
        assert found is not None
        return found + float(self.holders.fixed[holder] / capacity)

    def _solve(self, cost: F64, settled: F64, peak: tuple[float, float | None]) -> float | None:
        h, cells = self.holders, self.p * self.n
        open_ = np.isnan(settled)
        below_peak = np.zeros((self.n, cells + 1))
        below_peak[:, -1] = -np.where(open_, h.capacity, 0.0)
        ceiling = np.where(open_, 0.0, settled * h.capacity * (1 + SLACK) + SLACK) - h.fixed
        limited = np.flatnonzero(np.isfinite(h.most))
        found = linprog(
            cost,
            A_ub=vstack(
                [self.of_racks.multiply(self.sign[:, None]), self.load + csr_array(below_peak), self.load[limited]]
            ),
            b_ub=np.concatenate((self.sign, ceiling, h.most[limited])),
            A_eq=self.whole,
            b_eq=self.replicas,
            bounds=[(0.0, 1.0)] * cells + [peak],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        return float(found.fun) if found.success else None


def leximin(case: Case) -> F64 | None:
    """Minimise the largest utilisation, settle the holders that cannot get below it, continue with the others.

    In units of the mean: the solver's tolerance is absolute, and may exceed the distance of two low levels."""
    mean = case.mean()
    programs = Programs(case.in_units_of(mean))
    settled = np.full(programs.n, np.nan)
    while np.isnan(settled).any():
        level = programs.lowest_peak(settled)
        if level is None:
            return None
        open_ = np.flatnonzero(np.isnan(settled)).tolist()
        stuck = [b for b in open_ if programs.least(b, settled, level) >= level - TIGHT * max(1.0, level)]
        assert stuck, "some holder is at its least where the peak is"
        settled[stuck] = level
    return settled * mean


def draw(seed: int) -> Case:
    """3 to 12 holders in 1 to 4 unequal racks, one to four replicas; some with fixed loads, or limits."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 13))
    n_racks = min(int(rng.integers(1, 5)), n)
    weight = rng.random(n_racks) + 0.1
    rack = np.concatenate((np.arange(n_racks), rng.choice(n_racks, n - n_racks, p=weight / weight.sum())))
    rng.shuffle(rack)
    capacity = rng.choice([0.5, 1.0, 2.0], n) if rng.random() < 0.5 else np.ones(n)
    if rng.random() < 0.3:
        capacity = capacity * (1 + rng.random(n))
    p = int(rng.integers(3, 16))
    replicas = rng.integers(1, 5, p) if rng.random() < 0.5 else np.full(p, rng.integers(1, 5))
    size = rng.exponential(1.0, p)
    mean = float((np.minimum(replicas, n) * size).sum()) / n
    fixed, most = np.zeros(n), np.full(n, np.inf)
    if rng.random() < 0.4:
        fixed = mean * rng.exponential(1.0, n) * (rng.random(n) < 0.4)
    if rng.random() < 0.4:
        most = np.where(rng.random(n) < 0.3, mean * rng.random(n), np.inf)
    return Case(
        holders=HolderColumns(rack=rack.astype(np.int32), capacity=capacity, fixed=fixed, most=most),
        replicas=replicas,
        size=size,
    )


def check(seed: int) -> None:
    """The product's leximin solution equals that of the programs."""
    case = draw(seed)
    wanted = leximin(case)
    if wanted is not None:
        assert case.fair() == pytest.approx(wanted, rel=1e-6, abs=1e-6 * case.mean()), f"seed {seed}"
    else:
        h = case.holders
        assert (case.fair() >= h.fixed / h.capacity - 1e-9).all(), f"seed {seed}"


@pytest.mark.parametrize("part", range(4))
def test_fair_utilisation_is_the_leximin_of_linear_programs(part: int) -> None:
    """Fair utilisation equals that of linear programs to 1e-6 of the mean, for racks, factors, loads and limits."""
    for seed in range(part, SHORT, 4):
        check(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(20))
def test_fair_utilisation_is_the_leximin_of_linear_programs_at_length(part: int) -> None:
    """Fair utilisation equals that of linear programs for a thousand random clusters."""
    for seed in range(SHORT + part, LONG, 20):
        check(seed)


def draw_too_full(seed: int) -> Case:
    """1 to 5 holders of 2 GiB to 2 TiB that hold bytes to terabytes, most of them with limits that are tight, or 0."""
    rng = np.random.default_rng((5, seed))
    n = int(rng.integers(1, 6))
    rack = rng.integers(0, rng.integers(1, 4), n).astype(np.int32)
    capacity = rng.choice([2.0**31, 2.0**40, 2.0**41], n)
    replicas, size = np.array(
        [(rng.integers(1, 5), rng.choice([1, 2, 1000, 2**30, 2**39, 2**40])) for _ in range(rng.integers(1, 5))]
    ).T
    fixed = np.where(rng.random(n) < 0.4, rng.choice([0, 1.0, 2**30, 2**40], n), 0.0)
    even = float((np.minimum(replicas, n) * size).sum()) / n
    limit = np.where(rng.random(n) < 0.3, 0.0, 2 * even * rng.random(n) * rng.choice([0.1, 1.0, 2.0]))
    most = np.where(rng.random(n) < 0.8, limit, np.inf)
    holders = HolderColumns(rack=rack, capacity=capacity, fixed=fixed, most=most)
    return Case(holders=holders, replicas=replicas, size=size.astype(np.float64))


@pytest.mark.parametrize("seeds", [range(400), TOO_FULL], ids=["drawn", "too full by two bytes"])
def test_fair_utilisation_of_full_disks_is_that_of_every_set_of_holders(seeds: Sequence[int]) -> None:
    """With tight limits, which are ignored if not everything fits, it equals a search of all sets to 1e-11 of all."""
    for seed in seeds:
        case = draw_too_full(seed)
        h = case.holders
        capacity, rack, fixed, most = (dict(enumerate(c.tolist())) for c in (h.capacity, h.rack, h.fixed, h.most))
        pieces = zip(case.size.tolist(), case.replicas.tolist(), strict=True)
        wanted = brute_force_fair(capacity, rack, pieces, fixed, most)
        total = case.mean() * h.capacity.sum()
        error = (case.fair() - [wanted[holder] for holder in range(len(h.rack))]) * h.capacity
        assert np.abs(error).max() <= 1e-11 * total, f"seed {seed}"
