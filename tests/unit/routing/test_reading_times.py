"""When a cluster is read for routing."""

from __future__ import annotations

import pytest

from kafkabal.routing.reading_times import early_pauses_s


@pytest.mark.parametrize(("interval_s", "pauses_s"), [(5.0, (1.0,)), (86_400.0, (1.0,)), (1.0, ()), (0.1, ())])
def test_the_second_reading_of_a_topic_comes_after_a_second(interval_s: float, pauses_s: tuple[float, ...]) -> None:
    """Unless the interval is as short."""
    assert early_pauses_s(interval_s) == pauses_s
