"""Plans of healings: which moves, and how many bytes of them today."""

from __future__ import annotations

from msgspec.structs import replace as changed

from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger
from kafkabal.watch.plan_healing import plan_of
from kafkabal.watch.state_findings import find


def test_filling_a_broker_brings_the_others_in_too_where_moves_to_it_alone_do_not() -> None:
    """Moved replicas rest for a day, so filling a broker also brings all others into the band, not only the new one."""
    first = [1] * 15 + [2] * 15 + [3] * 6
    rows = [partition(n, (b,), 10 * GB) for n, b in enumerate(first)]
    state = cluster(brokers(4), [TopicRow(topic="t", partitions=rows)])
    policy = HealPolicy(level=HealLevel.ALL)
    to_new = make_plan(state, PlanOptions(mode=Mode.ONLY_TO_NEW, tolerance=policy.inner_tolerance))
    assert find(apply_plan(state, to_new), policy.outer_tolerance).imbalanced

    plan = plan_of(Healing(HealKind.FILL, frozenset({4})), state, policy, HealingLedger(), 0.0)

    assert not find(apply_plan(state, plan), policy.outer_tolerance).imbalanced


def test_a_healing_moves_what_is_left_of_the_budget_of_the_day() -> None:
    """What was moved within a day counts against --max-bytes-per-day, and no longer than that."""
    rows = [partition(n, (n % 3 + 1, (n + 1) % 3 + 1), 10 * GB) for n in range(24)]
    state = cluster(brokers(4), [TopicRow(topic="t", partitions=rows)])
    policy = HealPolicy(level=HealLevel.ALL, max_bytes_per_day=50 * GB)
    moved = HealingEntry(at_s=0.0, kind="rebalance", moved_bytes=30 * GB, succeeded=True)
    ledger, fill = HealingLedger(entries=(moved,)), Healing(HealKind.FILL, frozenset({4}))

    same_day, next_day = (plan_of(fill, state, policy, ledger, at_s) for at_s in (DAY_S - 1, DAY_S + 1))

    assert (same_day.moved_bytes, next_day.moved_bytes) == (20 * GB, 50 * GB)
    spent = HealingLedger(entries=(changed(moved, moved_bytes=60 * GB),))
    assert plan_of(fill, state, policy, spent, DAY_S - 1).moved_bytes == 0
