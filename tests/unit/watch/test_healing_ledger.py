"""The ledger: what counts for which day, and what was ours."""

from __future__ import annotations

from kafkabal.plan.plan import Plan
from kafkabal.watch.healing_ledger import DAY_S, HealingEntry, HealingLedger

PLAN = Plan(partitions=(), options={"tolerance": 0.1})


def test_bytes_count_for_the_day_in_which_they_were_copied() -> None:
    """A run over midnight counts until a day after its end, not after its beginning."""
    begun = HealingLedger().with_entry(
        HealingEntry(at_s=0.0, kind="rebalance", moved_bytes=900, succeeded=False, plan=PLAN)
    )

    ended = begun.with_end(PLAN.plan_id, at_s=50_000.0, moved_bytes=700, succeeded=True)

    assert ended.bytes_of_day(DAY_S + 40_000) == 700
    assert ended.bytes_of_day(DAY_S + 60_000) == 0


def test_what_moved_nothing_is_no_action() -> None:
    """Neither an attempt that found nothing to move nor a plan made again spends the actions of the day."""
    entries = (
        HealingEntry(at_s=1.0, kind="rebalance", moved_bytes=0, succeeded=False),
        HealingEntry(at_s=2.0, kind="fill", moved_bytes=5, succeeded=True, plan=PLAN),
        HealingEntry(at_s=3.0, kind="fill", moved_bytes=5, succeeded=True, plan=PLAN, continues=True),
    )

    assert HealingLedger(entries=entries).actions_of_day(10.0) == 1


def test_runs_are_known_by_their_plan() -> None:
    """Only those that this watch has begun are resumed."""
    ledger = HealingLedger(entries=(HealingEntry(at_s=1.0, kind="fill", moved_bytes=5, succeeded=False, plan=PLAN),))

    assert ledger.has_begun(PLAN.plan_id)
    assert not ledger.has_begun("another")
