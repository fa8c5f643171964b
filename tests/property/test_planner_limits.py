"""Limits of ``--broker-limit`` against what any placement can keep, by a mixed-integer solver (HiGHS)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_options import BrokerLimit, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.testing.cluster_builders import cluster

QUICK = (0, 3, 4, 7, 11)
"""Seeds that take a second or two, of one, two and three limits that bands alone would not let a plan keep."""
LONG = 120
_SECONDS = 10.0


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A cluster of equal disks, and limits of one to three of its brokers."""

    rack: list[int]
    replicas: list[list[int]]
    """By partition: rows of its brokers."""
    size: list[int]
    limits: dict[int, BrokerLimit]
    """By row of the broker."""

    def state(self) -> ClusterState:
        """Partitions in topics of up to eight."""
        topics = [
            TopicRow(
                topic=f"t{at}",
                partitions=[
                    PartitionRow(
                        partition=p - at,
                        leader=held[0] + 1,
                        replicas=[b + 1 for b in held],
                        isr=[b + 1 for b in held],
                        sizes=[self.size[p]] * len(held),
                        log_dirs=[0] * len(held),
                    )
                    for p, held in enumerate(self.replicas[at : at + 8], at)
                ],
            )
            for at in range(0, len(self.replicas), 8)
        ]
        disk = [LogDirRow(path="/d0", total_bytes=10**13)]
        return cluster([BrokerRow(broker=b + 1, rack=f"r{r}", log_dirs=disk) for b, r in enumerate(self.rack)], topics)

    def options(self) -> PlanOptions:
        """Of a plan that has to keep the limits."""
        return PlanOptions(broker_limits={row + 1: limit for row, limit in self.limits.items()})


def draw(seed: int) -> Drawn:
    """2 to 9 brokers in 1 to 4 racks, equal or not; limits from nothing to more than the mean."""
    rng = np.random.default_rng((11, seed))
    n_racks = int(rng.integers(1, 5))
    each = np.full(n_racks, rng.integers(2, 4)) if rng.random() < 0.5 else rng.integers(1, 4, n_racks)
    rack = np.repeat(np.arange(n_racks), each) if n_racks > 1 else np.arange(rng.integers(4, 9))
    factor = min(int(rng.integers(1, 4)), len(rack))
    replicas = [_replicas(rng, factor, rack) for _ in range(int(rng.integers(12, 61)))]
    size = (10**9 * rng.lognormal(0.0, rng.choice([0.0, 0.3, 1.0]), len(replicas))).astype(np.int64)
    mean = factor / len(rack) * np.array([len(replicas), size.sum()])
    limits = {}
    for row in rng.choice(len(rack), int(rng.integers(1, min(4, len(rack) + 1))), replace=False).tolist():
        number, bytes_ = (mean * rng.choice([0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.3])).astype(np.int64).tolist()
        kind = rng.integers(3)
        limits[row] = BrokerLimit(replicas=None if kind == 0 else number, bytes=None if kind == 1 else bytes_)
    return Drawn(rack=rack.tolist(), replicas=replicas, size=size.tolist(), limits=limits)


def _replicas(rng: np.random.Generator, factor: int, rack: np.ndarray) -> list[int]:
    chosen: list[int] = []
    pull = np.arange(1.0, len(rack) + 1)
    while len(chosen) < factor:
        b = int(rng.choice(len(rack), p=pull / pull.sum()))
        used = {int(rack[c]) for c in chosen}
        if b not in chosen and (int(rack[b]) not in used or len(used) == len(set(rack.tolist()))):
            chosen.append(b)
    return chosen


def can_be_kept(drawn: Drawn) -> bool:
    """Whether a placement in as many racks as possible keeps all limits."""
    n, p, factor = len(drawn.rack), len(drawn.replicas), len(drawn.replicas[0])
    cells, names = np.arange(p * n).reshape(p, n), sorted(set(drawn.rack))
    rows, low, high = [], [], []
    for partition in range(p):
        spread = factor <= len(names)
        for name in names:
            rows.append(_row(cells[partition][[r == name for r in drawn.rack]], p * n))
            low.append(0.0 if spread else 1.0)
            high.append(1.0 if spread else np.inf)
        rows.append(_row(cells[partition], p * n))
        low.append(factor)
        high.append(factor)
    for row, limit in drawn.limits.items():
        for most, load in ((limit.replicas, np.ones(p)), (limit.bytes, np.array(drawn.size))):
            if most is not None:
                # in units near 1, which the solver rounds best
                rows.append(_row(cells[:, row], p * n, load / load.mean()))
                low.append(0.0)
                high.append(most / load.mean())
    result = milp(
        np.zeros(p * n),
        integrality=np.ones(p * n),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(np.array(rows), low, high),
        options={"time_limit": _SECONDS},
    )
    return bool(result.status == 0)


def _row(cells: np.ndarray, width: int, values: np.ndarray | float = 1.0) -> np.ndarray:
    row = np.zeros(width)
    row[cells] = values
    return row


def beyond(drawn: Drawn, plan: Plan) -> set[int]:
    """Ids of brokers that hold more than their limit after a plan."""
    after = {(c.topic, c.partition): [b - 1 for b in c.replicas] for c in plan.partitions}
    names = [(f"t{p - p % 8}", p % 8) for p in range(len(drawn.replicas))]
    held = [after.get(name, drawn.replicas[p]) for p, name in enumerate(names)]
    found = set()
    for row, limit in drawn.limits.items():
        there = [drawn.size[p] for p, brokers in enumerate(held) if row in brokers]
        pairs = ((len(there), limit.replicas), (sum(there), limit.bytes))
        if any(most is not None and load > most for load, most in pairs):
            found.add(row + 1)
    return found


def check_limits(seed: int) -> None:
    """Limits that any placement can keep are kept, others are named, and a second plan is empty."""
    drawn = draw(seed)
    state = drawn.state()
    plan = make_plan(state, drawn.options())
    left = beyond(drawn, plan)

    named = {int(w.split()[1]) for w in plan.warnings if "--broker-limit allows at most" in w}
    assert named == left, f"seed {seed}"
    assert not left or not can_be_kept(drawn), f"seed {seed}: {left}"
    assert make_plan(apply_plan(state, plan), drawn.options()).partitions == (), f"seed {seed}"


@pytest.mark.parametrize("seed", QUICK)
def test_limits_are_kept_wherever_a_placement_can_keep_them(seed: int) -> None:
    """Also where one rack-mate alone can take the data, which is then fair for it; others are named."""
    check_limits(seed)


@pytest.mark.sweep
@pytest.mark.parametrize("part", range(12))
def test_limits_are_kept_on_many_clusters(part: int) -> None:
    """The same on 120 clusters."""
    for seed in range(part, LONG, 12):
        check_limits(seed)
