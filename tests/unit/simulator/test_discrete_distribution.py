"""Draws from a discrete distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.simulator.discrete_distribution import DiscreteDistribution


@given(
    weights=st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=50),
    uniforms=st.lists(st.floats(0, 1, exclude_max=True), max_size=50),
)
def test_outcomes_are_those_of_the_inverse(weights: list[float], uniforms: list[float]) -> None:
    """Any number, including one on a bound, gives the outcome whose interval contains it."""
    bounds = (np.cumsum(weights) / np.sum(weights))[:-1].tolist()
    numbers = [u for u in (*uniforms, *bounds) if u < 1]

    found = DiscreteDistribution(np.array(weights)).outcomes(np.array(numbers))

    assert found.tolist() == [sum(bound <= u for bound in bounds) for u in numbers]


@pytest.mark.parametrize("n", [1, 3, 200_000])
def test_many_outcomes_are_drawn_as_often_as_their_weights(n: int) -> None:
    """Even if the table has fewer parts than it should, the heaviest outcome is drawn as often as it should be."""
    weights = 1 / np.arange(1, n + 1)

    found = DiscreteDistribution(weights).outcomes(np.random.default_rng(1).random(100_000))

    assert (found == 0).mean() == pytest.approx(1 / weights.sum(), abs=0.005)
    assert 0 <= found.min() <= found.max() < n
