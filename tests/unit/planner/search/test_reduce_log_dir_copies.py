"""Trades of copies between the log dirs of a broker."""

from __future__ import annotations

from itertools import product

import numpy as np

from kafkabal.model import I64, TopicRow
from kafkabal.plan import Plan
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.search.reduce_log_dir_copies import DirsOfBroker, best_trade
from kafkabal.scoring import SHARE_EPSILON
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

TOLERANCE = 0.2
TOTAL = 1000 * GB


def fewest_bytes(sizes: I64, held: I64, n_dirs: int) -> int | None:
    """Bytes of the cheapest copies after which all dirs are inside their bands, by trying every placement."""
    every = np.array(list(product(range(n_dirs), repeat=len(sizes))))
    load = np.stack([(sizes * (every == d)).sum(1) for d in range(n_dirs)], 1)
    off = np.abs(load / (sizes.sum() / n_dirs) - 1)
    inside = (off <= TOLERANCE + SHARE_EPSILON).all(1)
    copied = ((every != held) * sizes).sum(1)[inside]
    return int(copied.min()) if inside.any() else None


def planned(sizes: I64, held: I64, n_dirs: int) -> Plan:
    """The plan for one broker with equal log dirs."""
    parts = [
        partition(n, [1], size, log_dirs=[d])
        for n, (size, d) in enumerate(zip(sizes.tolist(), held.tolist(), strict=True))
    ]
    state = cluster(brokers(1, dirs=n_dirs, dir_bytes=TOTAL), [TopicRow(topic="t", partitions=parts)])
    return make_plan(state, PlanOptions(mode=Mode.LOG_DIRS_ONLY, tolerance=TOLERANCE))


def test_copies_between_log_dirs_are_near_the_optimum() -> None:
    """On 60 brokers with a few replicas, nine in ten plans that have to copy are the cheapest, all others near it."""
    ratios = []
    for seed in range(60):
        random = np.random.default_rng(seed)
        n_dirs = int(random.integers(2, 4))
        sizes = (GB * random.lognormal(0.0, 0.7, int(random.integers(5, 9)))).astype(np.int64)
        held = np.minimum(random.integers(0, n_dirs, len(sizes)), random.integers(0, n_dirs, len(sizes)))
        if fewest := fewest_bytes(sizes, held, n_dirs):
            plan = planned(sizes, held, n_dirs)
            assert not plan.warnings
            ratios.append(plan.log_dir_bytes / fewest)
    assert len(ratios) > 20
    assert np.quantile(ratios, 0.9) <= 1
    assert max(ratios) < 1.25


def trade(**changes: I64) -> list[tuple[int, int]]:
    """The best trade of a broker with two dirs, of which the second received a replica of 5 from the first."""
    usual = {
        "load": np.array([5, 9]),
        "low": np.array([5, 5]),
        "high": np.array([9, 9]),
        "room": np.array([100, 100]),
        "is_open": np.array([True, True]),
        "bytes": np.array([3, 2, 4, 5]),
        "home": np.array([0, 0, 1, 0]),
        "current": np.array([0, 0, 1, 1]),
    }
    return best_trade(DirsOfBroker(**usual | changes))


def test_a_replica_returns_in_exchange_for_smaller_ones() -> None:
    """The one of 5 returns, and the one of 2 is copied instead; not if that one does not fit, or its dir is closed."""
    assert sorted(trade()) == [(1, 1), (3, 0)]
    assert trade(room=np.array([100, 1])) == []
    assert trade(is_open=np.array([True, False])) == []


def test_arriving_replicas_are_traded_for_nothing() -> None:
    """A replica that arrives on the broker costs nothing in any dir, so that it takes the place of the one of 5."""
    assert (3, 0) in trade(home=np.array([-1, 0, 1, 0]))
    assert (0, 1) in trade(home=np.array([-1, 0, 1, 0]))
