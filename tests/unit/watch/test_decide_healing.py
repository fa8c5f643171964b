"""Decisions: what is healed first, and what prevents a healing."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from kafkabal.config.time_window import TimeWindow
from kafkabal.plan.plan import Plan
from kafkabal.watch.decide_healing import NOTHING, Decision, HealKind, Situation, decide
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NOW_S = NOON.timestamp()
ALL = HealPolicy(level=HealLevel.ALL)
DEAD = Situation(dead={4: 3600.0}, dead_with_replicas=frozenset({4}))
IMBALANCED = Situation(imbalanced_readings=10)
SLOW = Situation(slow={2: 60.0}, led=frozenset({2}))
DEMOTED = HealingLedger().with_demotion(2, Plan(partitions=()))


def decided(situation: Situation, policy: HealPolicy = ALL, ledger: HealingLedger | None = None) -> Decision:
    """The decision at noon."""
    return decide(situation, policy, ledger or HealingLedger(), at_s=NOW_S, local=NOON)


def kind_of(decision: Decision) -> HealKind | None:
    """The kind of the healing."""
    return decision.healing.kind if decision.healing else None


def entry(
    kind: str = "rebalance", reason: str = "", *, ago_s: float = 60.0, succeeded: bool = True, moved_bytes: int = 0
) -> HealingEntry:
    """A healing some time ago."""
    return HealingEntry(
        at_s=NOW_S - ago_s,
        kind=kind,
        reason=reason,
        moved_bytes=moved_bytes,
        succeeded=succeeded,
        plan=Plan(partitions=()),
    )


def test_a_demoted_broker_that_is_gone_blocks_nothing() -> None:
    """Balancing waits for a demoted broker to lead again, but not for one that died or was removed since."""
    waits = replace(IMBALANCED, well={2: 60.0})

    assert decided(waits, ledger=DEMOTED).obstacle == "rebalance demoted"
    assert kind_of(decided(IMBALANCED, ledger=DEMOTED)) is HealKind.REBALANCE
    assert kind_of(decided(replace(IMBALANCED, dead={2: 9e4}), ledger=DEMOTED)) is HealKind.REBALANCE


def test_a_demotion_that_failed_in_part_is_tried_again() -> None:
    """A broker that kept some leadership because a demotion failed is demoted again after its back-off."""
    failed, done = (DEMOTED.with_entry(entry("demote", ago_s=1e3, succeeded=s)) for s in (False, True))

    assert kind_of(decided(SLOW, ledger=failed)) is HealKind.DEMOTE
    assert decided(SLOW, ledger=done) == NOTHING


def test_a_slow_broker_that_leads_new_partitions_is_demoted_again_once_an_hour() -> None:
    """New partitions on a demoted broker wait for an hour, so that they do not use up the actions of the day."""
    before, after = (DEMOTED.with_entry(entry("demote", ago_s=ago_s)) for ago_s in (3500.0, 3700.0))

    assert decided(SLOW, ledger=before) == NOTHING
    assert kind_of(decided(SLOW, ledger=after)) is HealKind.DEMOTE


@pytest.mark.parametrize(
    ("situation", "failed", "reason"),
    [
        (Situation(slow={2: 60.0, 3: 60.0}, led=frozenset({2, 3})), "broker 2 is slow", "broker 3 is slow"),
        (
            replace(DEAD, has_offline_dir=frozenset({1})),
            "broker 4 dead for 30 min or longer",
            "log dir offline on broker 1",
        ),
        (
            Situation(slow={2: 9e3, 3: 9e3}),
            "broker 2 slow for 2 h or longer",
            "broker 3 slow for 2 h or longer",
        ),
    ],
    ids=["demote", "repair", "drain"],
)
def test_a_healing_that_failed_delays_no_other_of_its_kind(situation: Situation, failed: str, reason: str) -> None:
    """A broker that cannot be demoted, repaired or drained keeps neither the next one nor a log dir waiting."""
    first = decided(situation, replace(ALL, move_after_s=7200.0)).healing
    assert first is not None
    assert first.reason == failed
    ledger = HealingLedger(entries=(entry(first.kind, failed, succeeded=False),))

    found = decided(situation, replace(ALL, move_after_s=7200.0), ledger).healing

    assert found is not None
    assert (found.kind, found.reason) == (first.kind, reason)


@pytest.mark.parametrize("situation", [DEAD, IMBALANCED, SLOW])
def test_no_healing_without_permission(situation: Situation) -> None:
    """Without --heal findings are only reported."""
    assert decided(situation, HealPolicy()) == NOTHING


def test_leaders_only_moves_no_replica() -> None:
    """With --heal leaders a slow broker is demoted, and a dead one is not repaired."""
    policy = HealPolicy(level=HealLevel.LEADERS)

    assert decided(DEAD, policy) == NOTHING
    assert kind_of(decided(SLOW, policy)) is HealKind.DEMOTE


@pytest.mark.parametrize(
    ("situation", "kind"),
    [
        (DEAD, HealKind.REPAIR),
        (Situation(has_offline_dir=frozenset({1})), HealKind.REPAIR),
        (SLOW, HealKind.DEMOTE),
        (Situation(empty=frozenset({5})), HealKind.FILL),
        (IMBALANCED, HealKind.REBALANCE),
        (Situation(dead=DEAD.dead, dead_with_replicas=DEAD.dead_with_replicas, slow=SLOW.slow, led=SLOW.led), "repair"),
    ],
)
def test_findings_are_healed_worst_first(situation: Situation, kind: HealKind) -> None:
    """Each finding has its healing; missing copies come before a slow broker."""
    assert kind_of(decided(situation)) == kind


@pytest.mark.parametrize(
    ("hours_away", "unreachable", "missing"),
    [
        ({}, {}, 0),
        ({4: 1}, {}, 1),
        ({3: 500, 4: 1}, {}, 1),
        ({3: 24, 4: 0}, {}, 2),
        ({3: 502, 4: 501, 5: 500, 6: 1}, {}, 3),
        ({3: 500}, {4: 1, 5: 2}, 2),
    ],
)
def test_brokers_missing_at_once(hours_away: dict[int, int], unreachable: dict[int, int], missing: int) -> None:
    """Those count together that went away within a day, however long ago that was."""
    away = {b: hours * 3600.0 for b, hours in {**hours_away, **unreachable}.items()}
    situation = Situation(dead=dict.fromkeys(hours_away, 60.0), absent=away, unreachable=frozenset(unreachable))
    assert situation.missing_at_once == missing


@pytest.mark.parametrize(
    ("situation", "policy", "ledger", "why"),
    [
        (
            Situation(dead={3: 9e9, 4: 9e9}, dead_with_replicas=frozenset({3, 4})),
            ALL,
            HealingLedger(),
            "missing at once",
        ),
        (
            DEAD,
            ALL,
            HealingLedger(entries=(entry("repair", "broker 4 dead for 30 min or longer", succeeded=False),)),
            "tried again later",
        ),
        (
            IMBALANCED,
            HealPolicy(level=HealLevel.ALL, max_actions_per_day=1),
            HealingLedger(entries=(entry(),)),
            "actions",
        ),
        (Situation(imbalanced_readings=10, out_of_sync=3), ALL, HealingLedger(), "out of sync"),
        (replace(IMBALANCED, flapping=frozenset({3})), ALL, HealingLedger(), "broker 3 is flapping"),
        (
            IMBALANCED,
            HealPolicy(level=HealLevel.ALL, window=TimeWindow.parse("01:00-05:00")),
            HealingLedger(),
            "window",
        ),
        (
            IMBALANCED,
            HealPolicy(level=HealLevel.ALL, max_bytes_per_day=100),
            HealingLedger(entries=(entry(moved_bytes=100),)),
            "bytes moved in the last 24 hours",
        ),
    ],
)
def test_reasons_to_postpone_healing(situation: Situation, policy: HealPolicy, ledger: HealingLedger, why: str) -> None:
    """Each limit holds back a healing, and the reason names it."""
    found = decided(situation, policy, ledger)

    assert found.healing is None
    assert why in found.held_back


def test_a_repair_waits_for_no_budget_and_no_window() -> None:
    """Missing copies are repaired at once, even with the day's bytes spent and outside the window."""
    policy = HealPolicy(level=HealLevel.ALL, max_bytes_per_day=1, window=TimeWindow.parse("01:00-05:00"))

    assert kind_of(decided(DEAD, policy, HealingLedger(entries=(entry(moved_bytes=100),)))) is HealKind.REPAIR


def test_a_dead_broker_gets_time_to_come_back() -> None:
    """Nothing is copied before --dead-after has passed."""
    assert decided(Situation(dead={4: 60.0}, dead_with_replicas=frozenset({4}))) == NOTHING


def test_leadership_goes_back_after_ten_minutes() -> None:
    """A demoted broker leads again only after ten healthy minutes, so that leadership does not flap."""
    ledger = HealingLedger(demoted={2: Plan(partitions=())})

    assert decided(Situation(well={2: 60.0}), ledger=ledger) == NOTHING
    assert kind_of(decided(Situation(well={2: 601.0}), ledger=ledger)) is HealKind.PROMOTE


def test_failures_back_off_longer_and_longer() -> None:
    """The delay after a failure grows from 15 minutes to at most a day; other kinds of healing are not delayed."""
    one = HealingLedger(entries=(entry(ago_s=0, succeeded=False),))
    two = HealingLedger(entries=(entry(ago_s=9, succeeded=False), entry(ago_s=0, succeeded=False)))
    many = HealingLedger(entries=tuple(entry(ago_s=9, succeeded=False) for _ in range(40)))

    assert one.backs_off_until_s("rebalance", "", 900) - NOW_S == pytest.approx(900)
    assert two.backs_off_until_s("rebalance", "", 900) - NOW_S == pytest.approx(1800)
    assert many.backs_off_until_s("rebalance", "", 900) - NOW_S <= 86_400
    assert two.backs_off_until_s("repair", "", 900) == 0
