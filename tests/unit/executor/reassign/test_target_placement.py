"""The steps to a target placement, and which states on the way are the run's own."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from kafkabal.executor.reassign.target_placement import next_step, target_of
from kafkabal.executor.state.run_states import Goal
from tests.unit.executor.conftest import planned_partition

_replicas = st.lists(st.integers(1, 8), min_size=1, max_size=5, unique=True).map(tuple)


@given(_replicas, _replicas)
def test_steps_lead_to_the_target(start: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Steps reach the target, with at most one replica more than before at any time."""
    current, steps = start, 0
    while current != target:
        following = next_step(current, target, current)
        assert len(set(following) - set(current)) <= 1
        assert len(set(following)) == len(following)
        current, steps = following, steps + 1
        assert steps <= len(target) + 1
    assert target_of(planned_partition(start, target), Goal.APPLY, by_steps=True).resting >= {
        frozenset(start),
        frozenset(target),
    }


@given(_replicas, _replicas, st.randoms(use_true_random=False), st.lists(st.booleans(), max_size=8))
def test_steps_stay_the_runs_own(
    start: tuple[int, ...], target: tuple[int, ...], random: random.Random, turns: list[bool]
) -> None:
    """There, back and there again, with replicas in any order, in sync or not: all are recognised as its own."""
    placement = target_of(planned_partition(start, target), Goal.APPLY, by_steps=True)
    current = start
    for is_ahead in turns:
        in_sync = random.sample(current, random.randint(0, len(current)))
        following = next_step(tuple(random.sample(current, len(current))), target if is_ahead else start, in_sync)
        assert frozenset(following) in placement.resting
        assert frozenset(current) | frozenset(following) in placement.passing
        current = following
