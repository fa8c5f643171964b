"""Sort orders of columns in which many entries are equal."""

import numpy as np
import pytest

from kafkabal.planner.search.grouped_array_operations import stable_order


@pytest.mark.parametrize("distinct", [1, 2, 7, 10_000])
@pytest.mark.parametrize("number", [0, 1, 2, 1_000])
def test_equal_keys_keep_their_order(number: int, distinct: int) -> None:
    """The order equals a stable sort, of integers and floats, from all equal to nearly all different."""
    key = np.random.default_rng(number + distinct).integers(0, distinct, number)

    for column in (key, key / 7, np.where(key % 5 == 0, np.inf, key)):
        assert stable_order(column).tolist() == np.argsort(column, kind="stable").tolist()
