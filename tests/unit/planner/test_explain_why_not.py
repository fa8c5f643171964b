"""Explanations why a plan does not move a partition to a broker although no rule forbids it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from kafkabal.model import LogDirRow, TopicPartition
from kafkabal.planner import Mode, PlanOptions, make_plan, why_not
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


FULL = msgspec.structs.replace(
    brokers(1)[0], broker=5, log_dirs=[LogDirRow(path="/d0", total_bytes=1000 * GB, usable_bytes=0)]
)


@pytest.mark.parametrize(
    ("broker", "options", "rule"),
    [
        (4, {"max_bytes": 0}, "the budget does not cover it: a plan without one brings it there"),
        (4, {"mode": Mode.REPAIR_ONLY}, "it needs no repair (--repair-only)"),
        (2, {"mode": Mode.ONLY_TO_NEW}, "broker 2 accepts no replicas: it is not empty (--only-to-new)"),
        (5, {}, "broker 5 accepts no replicas: files of other programs fill its log dirs up to the limit"),
    ],
)
def test_what_keeps_every_replica_from_a_broker(broker: int, options: dict[str, Any], rule: str) -> None:
    """The plan explained is the one that these options give, and the reason is the one that applies."""
    state = cluster([*brokers(4), FULL], [topic("img", *[(1, 2)] * 12)])
    moved = next(c.partition for c in make_plan(state, PlanOptions()).partitions if 4 in c.replicas)
    found = why_not(state, TopicPartition("img", moved), broker, PlanOptions(**options))
    assert (found.holds, found.rules) == (False, (rule,))
