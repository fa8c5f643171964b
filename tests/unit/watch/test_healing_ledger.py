"""The ledger: which day an action counts for, and which runs are the watch's own."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from msgspec.structs import replace

from kafkabal.model import ClusterState
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.testing.cluster_builders import brokers, cluster, topic
from kafkabal.units import DAY_S
from kafkabal.watch.ends_of_healings import moved_back
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger, ledger_path, read_ledger, write_ledger
from kafkabal.watch.repeated_absences import BrokerPresence

PLAN = Plan(partitions=(), options={"tolerance": 0.1})


def test_bytes_count_for_the_day_in_which_they_were_copied() -> None:
    """A run over midnight counts until a day after its end, not after its start."""
    begun = HealingLedger().with_entry(
        HealingEntry(at_s=0.0, kind="rebalance", moved_bytes=900, succeeded=False, plan=PLAN)
    )

    ended = begun.with_end(begun.entries[0], at_s=50_000.0, moved_bytes=700, succeeded=True)

    assert ended.bytes_of_day(DAY_S + 40_000) == 700
    assert ended.bytes_of_day(DAY_S + 60_000) == 0


def test_a_clock_that_was_set_back_holds_nothing_up_for_more_than_a_day() -> None:
    """Entries of a clock a year ahead count from now on: actions, bytes, resting replicas, and the back-off."""
    year_s = 365 * DAY_S
    entries = (
        HealingEntry(at_s=year_s, kind="rebalance", moved_bytes=5, succeeded=True, plan=PLAN, ended_at_s=year_s + 60),
        HealingEntry(at_s=year_s + 90, kind="fill", moved_bytes=0, succeeded=False),
        HealingEntry(at_s=1.0, kind="drain", moved_bytes=7, succeeded=True, plan=PLAN),
    )
    ledger = HealingLedger(entries=entries).not_after(1000.0)

    assert (ledger.bytes_of_day(1000.0), ledger.actions_of_day(1000.0)) == (12, 2)
    assert ledger.backs_off_until_s("fill", "", 900.0) == 1900.0
    assert ledger.bytes_of_day(1000.0 + DAY_S) == 0
    assert ledger.entries[2] == entries[2]


def test_healing_that_moved_nothing_does_not_count_as_an_action() -> None:
    """Neither an attempt without moves nor a second plan for the same run spends the actions of the day."""
    entries = (
        HealingEntry(at_s=1.0, kind="rebalance", moved_bytes=0, succeeded=False),
        HealingEntry(at_s=2.0, kind="fill", moved_bytes=5, succeeded=True, plan=PLAN),
        HealingEntry(at_s=3.0, kind="fill", moved_bytes=5, succeeded=True, plan=PLAN, continues=True),
    )

    assert HealingLedger(entries=entries).actions_of_day(10.0) == 1


def test_runs_are_known_by_their_plan() -> None:
    """Only runs that this watch has started are resumed."""
    ledger = HealingLedger(entries=(HealingEntry(at_s=1.0, kind="fill", moved_bytes=5, succeeded=False, plan=PLAN),))

    assert ledger.entry_of(PLAN.plan_id) == ledger.entries[0]
    assert ledger.entry_of("another") is None


def test_healing_that_found_nothing_is_retried_once_replicas_have_rested_a_day() -> None:
    """Attempts without moves back off only until a moved replica has rested; one that failed backs off in full."""
    moved = HealingEntry(at_s=0.0, kind="fill", moved_bytes=5, succeeded=True, plan=PLAN, ended_at_s=600.0)
    found_nothing = [
        HealingEntry(at_s=70_000.0 + n, kind="rebalance", moved_bytes=0, succeeded=False) for n in range(6)
    ]
    failed = HealingEntry(at_s=70_006.0, kind="rebalance", moved_bytes=0, succeeded=False, plan=PLAN)

    assert HealingLedger(entries=(moved, *found_nothing)).backs_off_until_s("rebalance", "", 900.0) == 600.0 + DAY_S
    ledger = HealingLedger(entries=(moved, *found_nothing, failed))
    assert ledger.backs_off_until_s("rebalance", "", 900.0) == 70_006.0 + 64 * 900.0
    rested = HealingLedger(entries=(moved, HealingEntry(at_s=DAY_S + 700, kind="fill", moved_bytes=0, succeeded=False)))
    assert rested.backs_off_until_s("fill", "", 900.0) == DAY_S + 1600.0


def test_brokers_are_known_to_have_been_repaired_for_a_day() -> None:
    """Only brokers that a repair took replicas from count as repaired, for a day."""
    previous = Placement(replicas=(1, 2), leader=1, log_dirs=("/d", "/d"))
    change = PartitionChange(topic="t", partition=0, previous=previous, replicas=(3, 2), log_dirs=("/d", "/d"))
    plan = Plan(partitions=(change,), options={"tolerance": 0.1})
    entries = (
        HealingEntry(at_s=1.0, kind="repair", moved_bytes=5, succeeded=True, plan=plan),
        HealingEntry(at_s=2.0, kind="fill", moved_bytes=5, succeeded=True, plan=plan),
    )

    assert HealingLedger(entries=entries).repaired_of_day(10.0) == {1: 1.0}
    assert HealingLedger(entries=entries).repaired_of_day(DAY_S + 1.5) == {}
    assert HealingLedger(entries=entries[1:]).repaired_of_day(10.0) == {}


def test_only_actions_that_never_began_are_forgotten() -> None:
    """An entry is forgotten only if it has no end, no run, and no later run that may belong to it."""
    entry = HealingEntry(at_s=100.0, kind="fill", moved_bytes=5, succeeded=False, plan=PLAN)
    ended = HealingEntry(at_s=90.0, kind="fill", moved_bytes=5, succeeded=False, plan=PLAN, ended_at_s=95.0)
    nothing = HealingEntry(at_s=80.0, kind="rebalance", moved_bytes=0, succeeded=False)
    ledger = HealingLedger(entries=(nothing, ended, entry))

    assert ledger.without_never_begun("", -math.inf).entries == (nothing, ended)
    assert ledger.without_never_begun("another", 99.0).entries == (nothing, ended)
    assert ledger.without_never_begun("another", 101.0) == ledger
    assert ledger.without_never_begun(PLAN.plan_id, 99.0) == ledger


def test_ledgers_of_earlier_and_later_versions_are_read(tmp_path: Path) -> None:
    """Fields that are missing have their defaults, and unknown ones are ignored; what is written is read back."""
    path = tmp_path / "ledger.json"
    path.write_text('{"kafkabal_watch": 1, "entries": [], "demoted": {}, "usual_s": {"2": 0.5}, "new": [1]}')
    read = read_ledger(path)
    assert (read.usual_s, read.presence) == ({2: 0.5}, {})

    away = BrokerPresence(is_there=False, for_s=1.0, absent_s=2.0, was_dead=True, is_flapping=True)
    kept = HealingLedger(presence={4: away}, presence_at_s=5.0)
    write_ledger(kept, path)

    assert read_ledger(path) == kept


def test_what_a_broker_led_for_another_demoted_one_is_not_its_own() -> None:
    """A partition that broker 2 led while broker 1 was demoted goes back to 1 alone, unless 1 holds it no longer."""

    def demotion(*replicas: int) -> Plan:
        previous = Placement(replicas=replicas, leader=replicas[0], log_dirs=("/d",) * 3)
        after = (*replicas[1:], replicas[0])
        change = PartitionChange(topic="t", partition=0, previous=previous, replicas=after, log_dirs=("any",) * 3)
        return Plan(partitions=(change,))

    first = HealingLedger().with_demotion(1, demotion(1, 2, 3))

    both = first.with_demotion(2, demotion(2, 3, 1))
    assert both.demoted[1] == first.demoted[1]
    assert both.demoted[2].partitions == ()
    assert first.with_demotion(2, demotion(2, 3, 4)).demoted[2].partitions


def test_no_cluster_id_leads_out_of_the_folder(tmp_path: Path) -> None:
    """The file has the name of the id, or of a hash if the id has characters of a path."""
    assert ledger_path(tmp_path, "MkU3-x_y") == tmp_path / "watch" / "MkU3-x_y.json"
    assert ledger_path(tmp_path, "../../x").parent == tmp_path / "watch"
    assert ledger_path(tmp_path, "..").parent == tmp_path / "watch"


def _moves(n_back: int) -> tuple[Plan, ClusterState]:
    """A plan that moved three partitions from broker 2 to 3, and a cluster in which so many of them are back."""
    change = PartitionChange(
        topic="t",
        partition=0,
        previous=Placement(replicas=(1, 2), leader=1, log_dirs=("/d", "/d")),
        replicas=(1, 3),
        log_dirs=("any", "any"),
    )
    plan = Plan(partitions=tuple(replace(change, partition=n) for n in range(3)), options={})
    return plan, cluster(brokers(3), [topic("t", *[(2, 1) if n < n_back else (1, 3) for n in range(3)])])


@pytest.mark.parametrize(("n_back", "is_noted"), [(3, True), (2, True), (1, False)])
def test_a_healing_most_of_which_is_back_was_moved_back(n_back: int, *, is_noted: bool) -> None:
    """But not one that did not do all of its plan, what a later healing has moved, or what is a day ago."""
    plan, state = _moves(n_back)
    done = HealingEntry(
        at_s=0.0, kind="rebalance", moved_bytes=9, succeeded=True, plan=plan, ended_at_s=1.0, is_complete=True
    )
    ledger = HealingLedger(entries=(done,))
    assert (moved_back(ledger, state, 90.0) is done) is is_noted
    assert moved_back(ledger, state, 2.0 + DAY_S) is None
    # the cluster may not have told all its brokers yet
    assert moved_back(ledger, state, 2.0) is None
    for other in (replace(done, is_complete=False), replace(done, succeeded=False)):
        assert moved_back(HealingLedger(entries=(other,)), state, 90.0) is None
    repair = replace(done, kind="repair", at_s=2.0, is_complete=False)
    assert moved_back(ledger.with_entry(repair), state, 90.0) is None
