"""How weights become whole turns."""

from __future__ import annotations

import numpy as np

from kafkabal.routing.policies.smooth_weighted import apportion


def test_apportioned_numbers_add_up_by_largest_remainder() -> None:
    """Ten turns over 1 : 1 : 1 are 4, 3, 3; of 5.6 : 3.1 : 1.3 the first has most left over."""
    assert apportion(np.ones(3), 10).tolist() == [4, 3, 3]
    assert apportion(np.array([5.6, 3.1, 1.3]), 10).tolist() == [6, 3, 1]
