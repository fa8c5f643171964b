"""The bound of clusters in which bands of bytes and of numbers bind each other, and plans that use its potentials."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array, vstack

from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.planner.dual_ascent import ascend
from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.relaxation import Relaxation
from kafkabal.planner.relaxation_by_count import RelaxationByCount
from kafkabal.planner.search.solution import Solution
from kafkabal.testing.cluster_builders import cluster

Numbers = NDArray[np.int64]
MOST = 2**60


def unequal(seed: int, racks: tuple[int, ...], disks: tuple[int, ...], partitions: int, factor: int) -> ClusterState:
    """Brokers in racks of these sizes, whose disks repeat within each rack; some hold far more than others."""
    rng = np.random.default_rng(seed)
    rack = np.repeat(np.arange(len(racks)), racks)
    disk = np.concatenate([np.resize(disks, size) for size in racks])
    pull = (rng.permutation(len(rack)) + 1.0) ** 1.5
    rows = [_partition(rng, number, factor, pull, rack) for number in range(partitions)]
    total = sum(sum(size for size in row.sizes or [] if size) for row in rows)
    each = int(3 * total / disk.sum())
    topics = [
        TopicRow(topic=f"t{n}", partitions=[_numbered(row, i) for i, row in enumerate(rows[at : at + 10])])
        for n, at in enumerate(range(0, partitions, 10))
    ]
    brokers = [
        BrokerRow(
            broker=b + 1,
            rack=f"r{rack[b]}",
            log_dirs=[LogDirRow(path="/d", total_bytes=int(each * disk[b]), usable_bytes=None)],
        )
        for b in range(len(rack))
    ]
    return cluster(brokers, topics)


def _partition(
    rng: np.random.Generator, number: int, factor: int, pull: NDArray[np.float64], rack: Numbers
) -> PartitionRow:
    # those that exponential variates choose are drawn by weight and without replacement
    order = np.argsort(rng.exponential(size=len(pull)) / pull)
    first = order[np.sort(np.unique(rack[order], return_index=True)[1])]
    replicas = [int(b) + 1 for b in first[:factor]]
    size = int(1e9 * rng.lognormal(0.0, 1.0))
    return PartitionRow(
        partition=number,
        leader=replicas[0],
        replicas=replicas,
        isr=replicas,
        sizes=[size] * factor,
        log_dirs=[0] * factor,
    )


def _numbered(row: PartitionRow, number: int) -> PartitionRow:
    return PartitionRow(**{name: getattr(row, name) for name in row.__struct_fields__} | {"partition": number})


def least_by_linear_program(start: Solution) -> float:
    """Bytes of the cheapest parts of replicas that are inside all bands, at most one of a partition in a rack."""
    problem, bands = start.problem, start.bands
    n, m, size = problem.n_brokers, len(start.placement), problem.arriving_bytes / 1e9
    cell = np.arange(n * m).reshape(m, n)
    there = (problem.previous[:, :, None] == np.arange(n)).any(1)
    level = start.due.bytes / start.due.bytes.sum() * float((size * problem.positions).sum())
    tolerance = problem.options.tolerance
    n_topics, n_racks = problem.n_topics, problem.n_racks
    partition = np.arange(m)[:, None]
    rows = [
        (cell % n, np.repeat(size[:, None], n, 1), n, level * (1 - tolerance), level * (1 + tolerance)),
        (cell % n, np.ones((m, n)), n, bands.low_count, bands.high_count),
        (partition * n_racks + problem.rack, np.ones((m, n)), m * n_racks, 0, 1),
        (
            problem.topic[:, None] * n + np.arange(n),
            np.ones((m, n)),
            n * n_topics,
            0,
            bands.topic_most(np.arange(n_topics)[:, None], np.arange(n)).ravel(),
        ),
    ]
    above, most = [], []
    for row, value, number, low, high in rows:
        matrix = coo_array((value.ravel(), (row.ravel(), cell.ravel())), shape=(number, n * m)).tocsr()
        above += [matrix, -matrix]
        most += [np.broadcast_to(high, number), -np.broadcast_to(low, number).astype(float)]
    placed = coo_array((np.ones(n * m), (np.repeat(np.arange(m), n), cell.ravel())), shape=(m, n * m)).tocsr()
    found = linprog(
        np.where(there, 0.0, size[:, None]).ravel(),
        A_ub=vstack(above),
        b_ub=np.concatenate(most),
        A_eq=placed,
        b_eq=problem.positions,
        bounds=(0, 1),
    )
    return float(found.fun) * 1e9


def start_of(state: ClusterState, tolerance: float = 0.09) -> Solution:
    """The state before a plan by the usual scores."""
    return Solution(build_problem(state, PlanOptions(tolerance=tolerance)))


@pytest.mark.parametrize("seed", [1, 3])
def test_the_bound_counts_replicas_where_brokers_differ_in_size(seed: int) -> None:
    """With disks of 1 : 4 the bound is within 1% of the linear program, and without numbers 5% below it."""
    start = start_of(unequal(seed, (4, 4, 4), (1, 4), 200, 3))
    least = least_by_linear_program(start)
    by_bytes = ascend(Relaxation(start), 200, math.inf).value

    assert 0.99 * least <= bound_bytes(start, MOST) <= least * (1 + 1e-9)
    assert by_bytes <= 0.95 * least


@pytest.mark.parametrize("racks", [(4, 4, 4), (1, 2, 4)], ids=["bound to racks", "racks leave a choice"])
def test_the_bound_holds_at_any_multipliers(racks: tuple[int, ...]) -> None:
    """No value is above what a plan moves, nor above the plane of a gradient at another point."""
    state = unequal(1, racks, (1, 4), 120, 3 if racks == (4, 4, 4) else 2)
    plan = make_plan(state, PlanOptions(tolerance=0.09))
    assert not plan.warnings
    start = start_of(state)
    relaxation = RelaxationByCount(start, np.zeros(start.problem.n_brokers))
    random = np.random.default_rng(1)
    points = [random.normal(0, scale, 2 * start.problem.n_brokers) for scale in (0.05, 0.2, 0.5, 1.0) for _ in range(4)]
    found = [relaxation.evaluate(x) for x in points]

    for x, at_x in zip(points, found, strict=True):
        assert at_x.value <= plan.moved_bytes
        for y, at_y in zip(points, found, strict=True):
            plane = at_x.value + float((at_x.gradient * (y - x)).sum())
            assert at_y.value <= plane + 1e-6 * abs(plane)


def test_without_potentials_of_replicas_the_bound_is_that_of_bytes() -> None:
    """With 0 for all replicas, value and gradient of the bytes are those of the relaxation by bytes."""
    start = start_of(unequal(1, (4, 4, 4), (1, 4), 120, 3))
    by_bytes, by_count = Relaxation(start), RelaxationByCount(start, np.zeros(start.problem.n_brokers))
    n, random = start.problem.n_brokers, np.random.default_rng(1)

    for potential in random.normal(0, 0.3, (8, n)):
        wanted, found = by_bytes.evaluate(potential), by_count.evaluate(np.concatenate((potential, np.zeros(n))))
        assert found.value == pytest.approx(wanted.value, rel=1e-9, abs=1e-3)
        np.testing.assert_allclose(found.gradient[:n], wanted.gradient, rtol=1e-9, atol=1.0)


def test_chains_bring_plans_near_the_linear_program_where_racks_differ_in_size() -> None:
    """With two, three and five brokers in a rack, a plan moves 0.5% more at most; without chains it was 1.3%."""
    state = unequal(1, (2, 3, 5), (1,), 500, 2)
    plan = make_plan(state, PlanOptions(tolerance=0.02))

    assert not plan.warnings
    assert plan.moved_bytes <= 1.005 * least_by_linear_program(start_of(state, 0.02))
