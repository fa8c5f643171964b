"""Where each band begins and ends: the same arithmetic by which plans are judged from outside."""

import math

import numpy as np
import pytest

from kafkabal.scoring.bands import CountBand, RelativeBand, SpreadBand

COUNTS = [(load, n) for n in (1, 3, 6, 7, 40) for load in (0, 1, 2, 9, 10, 99, 100, 101, 600)]
TOLERANCES = [0.0, 0.01, 0.02, 0.09, 0.1, 0.5]


@pytest.mark.parametrize("t", TOLERANCES)
def test_a_count_is_between_the_whole_numbers_around_the_tolerance(t: float) -> None:
    """floor(mean x (1 - t)) to ceil(mean x (1 + t)), in the floats in which they are written."""
    for total, n in COUNTS:
        mean = total / n
        low, high = CountBand().edges(np.array([mean]), t)
        assert (low[0], high[0]) == (math.floor(mean * (1 - t)), math.ceil(mean * (1 + t)))


def test_rounding_errors_near_a_whole_number_are_ignored() -> None:
    """A fair load of two leaders, as the sum of a flow's pieces, allows two and not three, and asks for two."""
    low, high = CountBand().edges(np.array([2 - 1e-13, 2 + 1e-13]), 0.0)
    assert (low.tolist(), high.tolist()) == ([2, 2], [2, 2])


@pytest.mark.parametrize("total", [100, 200, 1000, 3700])
def test_rounding_errors_of_a_quotient_move_no_edge(total: int) -> None:
    """Of 7 brokers each is due a seventh; 91% of it is a whole number of replicas, and one fewer is outside."""
    low, _ = CountBand().edges(np.array([total / 7 * (1 - 1e-12), total / 7 * (1 + 1e-12)]), 0.09)
    assert low.tolist() == [math.floor(total / 7 * (1 - 0.09))] * 2


@pytest.mark.parametrize("t", TOLERANCES)
def test_an_amount_is_within_the_tolerance_of_its_fair_load(t: float) -> None:
    """mean x (1 - t) to mean x (1 + t), both included, up to a rounding error of 1e-9."""
    fair = np.array([0.0, 1.0, 12345.0, 4e12])
    low, high = RelativeBand().edges(fair, t)
    np.testing.assert_allclose(low, fair * (1 - t), atol=0, rtol=3e-9)
    np.testing.assert_allclose(high, fair * (1 + t), atol=0, rtol=3e-9)
    assert (low <= fair * (1 - t)).all()
    assert (high >= fair * (1 + t)).all()


@pytest.mark.parametrize("t", TOLERANCES)
def test_a_topic_has_at_most_one_more_than_the_rounded_mean_on_a_broker(t: float) -> None:
    """ceil(mean) + 1 in whole numbers, whatever the tolerance, and as few as none."""
    for total, n in COUNTS:
        low, high = SpreadBand().edges(np.array([total / n]), t)
        assert (low[0], high[0]) == (0, -(-total // n) + 1)


@pytest.mark.parametrize("fair", [5000.0, 1.0, 0.0])
def test_noise_of_a_fair_number_allows_no_further_replica_of_a_topic(fair: float) -> None:
    """A fair number that is off by the noise of floating-point sums has the same band, at 5,000 replicas too."""
    exact, noisy = (SpreadBand().most(np.array([value])) for value in (fair, fair * (1 + 3e-13)))

    assert noisy == exact == fair + 1
