"""Explanations why a plan does not bring a partition to a broker although no rule forbids it."""

from __future__ import annotations

import pytest

from kafkabal.model import TopicPartition
from kafkabal.planner import PlanOptions, make_plan, why_not
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic


@pytest.mark.parametrize(
    ("each_holds", "ends_with"),
    [
        (5, "the plan brings it img-"),  # four brokers for fifteen partitions: it ends with three, below its band
        (4, "broker 4 is inside its bands without it"),
    ],
)
def test_why_an_empty_broker_does_not_get_one_more(each_holds: int, ends_with: str) -> None:
    """The answer names the broker that would lack it and what arrives instead, or that nothing more is needed."""
    state = cluster(brokers(4), [topic("img", *([(1,), (2,), (3,)] * each_holds), size_bytes=GB)])
    moved = {change.partition for change in make_plan(state, PlanOptions()).partitions}
    stays = min(set(range(3 * each_holds)) - moved)
    found = why_not(state, TopicPartition("img", stays), 4, PlanOptions())
    assert (found.holds, found.rules) == (False, ())
    copies, source, last = found.effects[0], found.effects[-2], found.effects[-1]
    assert copies == "nothing forbids it; it would copy 954 MiB"
    assert source == f"the broker that gives up its replica ({1 + stays % 3}) would fall below its disk band"
    assert last.startswith(ends_with)
