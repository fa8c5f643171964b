"""``rebalance`` and ``inspect --check`` agree on log dirs that cannot receive their part of the bytes."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Literal

import pytest

from kafkabal.inspection.inspection import inspect_cluster
from kafkabal.inspection.verdict import has_findings
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.plan_phases import make_plan
from kafkabal.scoring.evaluation import evaluate
from kafkabal.scoring.registry import load_score
from kafkabal.testing.cluster_builders import GB, cluster, partition

_LIMIT = 0.85
_LONG_NAME = "t" * 240
"""Kafka refuses to copy a replica of such a topic to another log dir."""


def one_broker(
    held: Sequence[int],
    *,
    states: Sequence[Literal["online", "cordoned"]],
    others_gb: Sequence[int],
    total_gb: Sequence[int],
    fixed: Sequence[int] = (),
    name: str = "t",
) -> ClusterState:
    """A broker with log dirs of so many replicas of 1 GB, of bytes of other programs, and of internal replicas."""
    kept = [*fixed, *[0] * (len(held) - len(fixed))]
    dirs = [
        LogDirRow(
            path=f"/d{d}",
            total_bytes=total * GB,
            usable_bytes=(total - others - count - stay) * GB,
            state=state,
            volume=f"v{d}",
        )
        for d, (total, others, count, stay, state) in enumerate(
            zip(total_gb, others_gb, held, kept, states, strict=True)
        )
    ]
    topics = [
        TopicRow(topic=topic, internal=topic.startswith("__"), partitions=_partitions(counts))
        for topic, counts in ((name, held), ("__own", kept))
        if sum(counts)
    ]
    return cluster([BrokerRow(broker=1, log_dirs=dirs)], topics)


def _partitions(counts: Sequence[int]) -> list[PartitionRow]:
    dirs = [d for d, count in enumerate(counts) for _ in range(count)]
    return [partition(p, [1], GB, log_dirs=[d]) for p, d in enumerate(dirs)]


ONE_CORDONED: Sequence[Literal["online", "cordoned"]] = ("online", "online", "cordoned")
ALL_ONLINE: Sequence[Literal["online", "cordoned"]] = ("online", "online", "online")


@pytest.mark.parametrize(
    "state",
    [
        one_broker([20, 20, 2], states=ONE_CORDONED, others_gb=[0, 0, 0], total_gb=[1000] * 3),
        one_broker([20, 10, 5], states=["cordoned"] * 3, others_gb=[0, 0, 0], total_gb=[1000] * 3),
        one_broker([20, 20, 1], states=ALL_ONLINE, others_gb=[0, 0, 849], total_gb=[1000] * 3),
        one_broker([20, 10, 5], states=ALL_ONLINE, others_gb=[0, 0, 0], total_gb=[1000] * 3, name=_LONG_NAME),
    ],
    ids=["cordoned", "all cordoned", "full of other files", "a name too long to be copied"],
)
def test_what_no_move_can_change_is_balanced(state: ClusterState) -> None:
    """A dir that can receive nothing is no finding, and no plan warns of it."""
    plan = make_plan(state)

    assert (plan.partitions, plan.warnings) == ((), ())
    assert not has_findings(inspect_cluster(state), 0.10)


@pytest.mark.parametrize(
    "state",
    [
        one_broker([30, 10, 2], states=ONE_CORDONED, others_gb=[0, 0, 0], total_gb=[1000] * 3),
        one_broker([10, 10, 20], states=ONE_CORDONED, others_gb=[0, 0, 0], total_gb=[1000] * 3),
        one_broker([30, 10, 1], states=ALL_ONLINE, others_gb=[0, 0, 849], total_gb=[1000] * 3),
    ],
    ids=["beside a cordoned one", "off a cordoned one", "beside a full one"],
)
def test_the_dirs_that_can_receive_bytes_are_balanced(state: ClusterState) -> None:
    """They are compared with the most even placement, which a plan reaches."""
    plan = make_plan(state)

    assert has_findings(inspect_cluster(state), 0.10)
    assert plan.partitions
    assert plan.warnings == ()
    assert not has_findings(inspect_cluster(apply_plan(state, plan)), 0.10)


@pytest.mark.parametrize("seed", range(60))
def test_fair_is_what_the_best_of_all_placements_reaches(seed: int) -> None:
    """Trying every placement of whole replicas: none has a lower maximum, and the best exceeds it by one replica."""
    rng = random.Random(seed)
    n = rng.choice((2, 3))
    total = [100] * n if rng.random() < 0.5 else [rng.choice((100, 200)) for _ in range(n)]
    held = [rng.randrange(4) for _ in range(n)]
    fixed = [rng.choice((0, 0, 1, 3)) for _ in range(n)]
    others = [rng.choice((0, 0, 0, int(t * _LIMIT) - rng.randrange(7))) for t in total]
    states = [rng.choice(("online", "online", "cordoned")) for _ in range(n)]
    state = one_broker(held, states=states, others_gb=others, total_gb=total, fixed=fixed)
    possible = list(_placements(held, states, others, total, fixed))
    if not sum(held) or not possible:
        return

    found = evaluate(load_score("log-dir"), state, tolerance=0.1)
    highest = max(found.fair[d] / GB / total[d] for d in range(n))
    reached = min(max(count / t for count, t in zip(placed, total, strict=True)) for placed in possible)

    assert reached >= highest - 1e-9
    assert reached <= highest + 1 / min(total)


def _placements(
    held: Sequence[int], states: Sequence[str], others: Sequence[int], total: Sequence[int], fixed: Sequence[int]
) -> Iterator[list[int]]:
    """Replicas in each dir, those that stay included, for every placement that the rules allow."""
    now = [d for d, count in enumerate(held) for _ in range(count)]
    for there in itertools.product(range(len(held)), repeat=len(now)):
        if any(states[d] == "cordoned" and d != before for d, before in zip(there, now, strict=True)):
            continue
        placed = [there.count(d) + fixed[d] for d in range(len(held))]
        fits = (count + o <= t * _LIMIT for count, o, t in zip(placed, others, total, strict=True))
        if all(ok or states[d] == "cordoned" for d, ok in enumerate(fits)):
            yield placed
