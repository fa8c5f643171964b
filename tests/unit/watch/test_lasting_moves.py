"""Plans of a watch while replicas moved within a day rest: nothing moves that would have to move again."""

from __future__ import annotations

from msgspec.structs import replace

from kafkabal.model import ClusterState
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.plan import Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.plan.state_difference import make_changes
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger
from kafkabal.watch.plan_healing import plan_of
from kafkabal.watch.state_findings import find

POLICY = HealPolicy(level=HealLevel.ALL)
FILL = Healing(HealKind.FILL, frozenset({2}))
PARTITIONS = 24


def on_broker(replaced: dict[int, int]) -> ClusterState:
    """Brokers 1 and 4 in one rack, 2 and 3 each in their own; each partition on 1 or 4, and on 3 or its replacement."""
    rows = [partition(n, (replaced.get(n, 3), (1, 4)[n % 2]), 10 * GB) for n in range(PARTITIONS)]
    return cluster(brokers(4, racks=3), [TopicRow(topic="t", partitions=rows)])


def repair_of(partitions: range) -> HealingLedger:
    """Copied from broker 2, which was dead, to broker 3 an hour ago."""
    state = on_broker({})
    changes = make_changes(on_broker(dict.fromkeys(partitions, 2)), state)
    plan = replace(make_plan(state, PlanOptions(mode=Mode.REPAIR_ONLY)), partitions=changes)
    entry = HealingEntry(
        at_s=0.0, ended_at_s=0.0, kind="repair", moved_bytes=plan.moved_bytes, succeeded=True, plan=plan
    )
    return HealingLedger(entries=(entry,))


def outside(state: ClusterState, plan: Plan) -> tuple[str, ...]:
    """Scores that a plan leaves outside the outer band."""
    return find(apply_plan(state, plan), POLICY.outer_tolerance).imbalanced


def test_a_broker_receives_no_replicas_that_must_leave_it_again() -> None:
    """All replicas of broker 3 rest: others could fill broker 2, but the same bytes would leave it a day later."""
    state, ledger = on_broker({}), repair_of(range(PARTITIONS))
    resting = ledger.plans_of_day(3600.0)
    detour = make_plan(state, PlanOptions(tolerance=POLICY.inner_tolerance, keep_moved=resting))
    assert detour.moved_bytes
    assert outside(state, detour)

    now = plan_of(FILL, state, POLICY, ledger, 3600.0)
    later = plan_of(FILL, state, POLICY, ledger, DAY_S + 1.0)

    assert now.partitions == ()
    assert "11 partitions to move later: moved within the last day" in now.warnings
    assert not outside(state, later)


def test_unrested_moves_start_at_once_and_the_remainder_a_day_later() -> None:
    """Two thirds of broker 3 rest: both parts together move the bytes of a single plan, and end in the band."""
    state, ledger = on_broker({}), repair_of(range(8, PARTITIONS))
    whole = plan_of(FILL, state, POLICY, HealingLedger(), 3600.0)

    first = plan_of(FILL, state, POLICY, ledger, 3600.0)
    halfway = apply_plan(state, first)
    entry = HealingEntry(at_s=3600.0, kind="fill", moved_bytes=first.moved_bytes, succeeded=True, plan=first)
    ledger = ledger.with_entry(entry)
    second = plan_of(Healing(HealKind.REBALANCE), halfway, POLICY, ledger, DAY_S + 1.0)

    assert first.moved_bytes
    assert not {c.partition for c in first.partitions if c.to_remove} & set(range(8, PARTITIONS))
    assert first.moved_bytes + second.moved_bytes == whole.moved_bytes
    assert not outside(halfway, second)
