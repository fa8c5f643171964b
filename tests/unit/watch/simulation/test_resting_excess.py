"""Which states a watch cannot bring inside the outer band before a day of rest is over."""

from __future__ import annotations

import pytest

from kafkabal.plan import PartitionChange, Plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.watch.simulation.resting_excess import exceeds_by_resting

STATE = cluster(brokers(3), [topic("t", *[(1,)] * 15, *[(2,)] * 8, *[(3,)] * 7)])
"""30 partitions of a gigabyte; broker 1 has half of them, 1.5 times its fair share."""


def arrivals(*, count: int) -> Plan:
    """A plan that has moved the first partitions of broker 1 to it."""
    return Plan(
        partitions=tuple(
            PartitionChange(topic="t", partition=n, replicas=(1,), log_dirs=("/d0",)) for n in range(count)
        )
    )


@pytest.mark.parametrize(("count", "is_beyond"), [(0, False), (12, False), (13, True)])
def test_only_replicas_that_arrived_within_the_day_excuse_a_broker(count: int, is_beyond: bool) -> None:
    """Of a fair share of ten, thirteen that rest are beyond 20%; twelve leave three that could go."""
    assert exceeds_by_resting(STATE, [arrivals(count=count)], 0.2) is is_beyond
