"""Repairs and rebalances leave room for a dead broker, since what has just moved cannot make way for it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kafkabal.model import ClusterState
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.plan.plan import PartitionChange, Placement, Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner import Mode, PlanOptions, make_plan
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition
from kafkabal.units import DAY_S
from kafkabal.watch.decide_healing import Healing, HealKind
from kafkabal.watch.heal_policy import HealLevel, HealPolicy
from kafkabal.watch.healing_ledger import HealingEntry, HealingLedger
from kafkabal.watch.plan_healing import plan_of
from kafkabal.watch.room_for_return import limits_of_resting, plan_repair
from kafkabal.watch.state_findings import find

NEW, DEAD = 5, 1
POLICY = HealPolicy(level=HealLevel.ALL)
REBALANCE = Healing(HealKind.REBALANCE)


def filled_today() -> tuple[ClusterState, Plan]:
    """A cluster whose fifth broker has just been filled, and the plan that filled it."""
    rows = [partition(n, (n % 4 + 1, (n + 1) % 4 + 1), 10 * GB) for n in range(40)]
    state = cluster(brokers(NEW), [TopicRow(topic="t", partitions=rows)])
    fill = make_plan(state, PlanOptions(mode=Mode.ONLY_TO_NEW, tolerance=0.0))
    return apply_plan(state, fill), fill


def with_dead(state: ClusterState, dead: int) -> ClusterState:
    """The same placement while a broker is not registered."""
    return _with_placement(state, frozenset({dead}))


def all_live(state: ClusterState) -> ClusterState:
    """The same placement with every broker live."""
    return _with_placement(state, frozenset())


def with_offline_dir(partitions: Sequence[tuple[int, ...]], damaged: Sequence[int] = (3,)) -> ClusterState:
    """Four brokers, some of which have an offline log dir; the fourth is dead."""
    rows = [
        replace(
            partition(n, held, 10 * GB, leader=held[0]),
            isr=[b for b in held if b != 4],
            sizes=[None if b == 4 else 10 * GB for b in held],
            log_dirs=[None if b == 4 else 1 for b in held],
        )
        for n, held in enumerate(partitions)
    ]
    listed = brokers(4, dirs=2)
    for at in (broker - 1 for broker in damaged):
        offline, online = listed[at].log_dirs
        listed[at] = replace(listed[at], log_dirs=[replace(offline, state="offline"), online])
    listed[3] = replace(listed[3], state="dead", log_dirs=[])
    return cluster(listed, [TopicRow(topic="t", partitions=rows)])


def test_a_repair_uses_no_broker_with_an_offline_log_dir_unless_it_has_to() -> None:
    """Such a broker refuses what it lost with that dir: it gets only what no other can take."""
    state = with_offline_dir([(1, 4), (2, 4), (1, 2, 4)])
    repair = plan_repair(state, frozenset({4}), (), POLICY)
    assert [(c.name.partition, set(c.replicas)) for c in repair.partitions] == [
        (0, {1, 2}),
        (1, {1, 2}),
        (2, {1, 2, 3}),
    ]
    everywhere = plan_repair(with_offline_dir([(1, 4)], damaged=(1, 2, 3)), frozenset({4}), (), POLICY)
    assert len(everywhere.partitions) == 1


def test_no_room_is_kept_for_a_return_at_the_price_of_a_broker_with_an_offline_log_dir() -> None:
    """A limit of what a broker should hold sends no copy to one that may refuse it."""
    state = with_offline_dir([(1, 4), (1, 4), (1, 2), (1, 2)])
    filled = Plan(
        partitions=tuple(
            PartitionChange(
                topic="t",
                partition=n,
                previous=Placement(replicas=(1, 4), leader=1, log_dirs=("/d", "/d")),
                replicas=(1, 2),
                log_dirs=("/d", "/d"),
            )
            for n in (2, 3)
        )
    )
    repair = plan_repair(state, frozenset({4}), [filled], POLICY)
    assert [set(c.replicas) for c in repair.partitions] == [{1, 2}, {1, 2}]


def _with_placement(state: ClusterState, dead: frozenset[int]) -> ClusterState:
    first, replicas, ids = state.partitions.first, state.replicas.broker, state.brokers.id
    rows = []
    for p in range(len(state.partitions)):
        held = ids[replicas[first[p] : first[p + 1]]].tolist()
        live = [b for b in held if b not in dead]
        rows.append(
            replace(
                partition(p, held, 10 * GB, leader=live[0]),
                isr=live,
                sizes=[10 * GB if b in live else None for b in held],
                log_dirs=[0 if b in live else None for b in held],
            )
        )
    there = [replace(b, state="dead", log_dirs=[]) if b.broker in dead else b for b in brokers(len(state.brokers))]
    return cluster(there, [TopicRow(topic="t", partitions=rows)])


def test_a_broker_that_was_filled_today_gets_little_of_a_repair() -> None:
    """When the dead broker returns and is filled, no broker exceeds the outer band, as a full share would make one."""
    filled, fill = filled_today()
    state = with_dead(filled, DEAD)

    repair = plan_repair(state, frozenset({DEAD}), (fill,), POLICY)

    plain = make_plan(state, PlanOptions(mode=Mode.REPAIR_ONLY))
    for made, is_outside in ((repair, False), (plain, True)):
        back = all_live(apply_plan(state, made))
        again = make_plan(back, PlanOptions(tolerance=POLICY.inner_tolerance, keep_moved=(fill, made)))
        assert bool(find(apply_plan(back, again), POLICY.outer_tolerance).imbalanced) is is_outside
    assert len(repair.partitions) == len(plain.partitions)


def test_a_rebalance_copies_nothing_while_a_broker_that_was_repaired_today_is_absent() -> None:
    """Copies would be useless once the broker is back; a day after the repair it counts as gone for good."""
    rows = [partition(n, (n % 4 + 2, (n + 1) % 4 + 2), (10 if n % 4 else 30) * GB) for n in range(40)]
    lost = replace(partition(40, (DEAD, 2), GB, leader=2), isr=[2], sizes=[None, GB], log_dirs=[None, 0])
    there = [replace(b, state="dead", log_dirs=[]) if b.broker == DEAD else b for b in brokers(5)]
    state = cluster(there, [TopicRow(topic="t", partitions=[*rows, lost])])
    repair = plan_repair(state, frozenset({DEAD}), (), POLICY)
    repaired = apply_plan(state, repair)
    done = HealingEntry(at_s=0.0, kind="repair", moved_bytes=1, succeeded=True, plan=repair)

    same_day, next_day = (
        plan_of(REBALANCE, repaired, POLICY, HealingLedger(entries=(done,)), at_s) for at_s in (DAY_S - 1, DAY_S + 1)
    )

    assert not same_day.moved_bytes
    waits = "broker 1 may still come back: replicas move for balance only from 1970-01-02T00:00:00Z on"
    assert same_day.warnings == (waits,)
    assert next_day.moved_bytes
    assert not find(apply_plan(repaired, next_day), POLICY.outer_tolerance).imbalanced


def test_a_broker_that_came_back_within_the_day_is_filled_halfway_between_the_thresholds() -> None:
    """If it fails again, less was copied for nothing; a day after the repair it is filled like a new broker."""
    rows = [partition(n, (n + 2,), 10 * GB) for n in range(4)]
    state = cluster(brokers(5), [TopicRow(topic=f"t{n}", partitions=rows) for n in range(25)])
    taken = PartitionChange(
        topic="t0",
        partition=0,
        previous=Placement(replicas=(DEAD, 3), leader=3, log_dirs=("/d", "/d")),
        replicas=(2, 3),
        log_dirs=("/d", "/d"),
    )
    repair = Plan(partitions=(taken,), options={"tolerance": 0.1})
    ledger = HealingLedger(entries=(HealingEntry(at_s=0.0, kind="repair", moved_bytes=1, succeeded=True, plan=repair),))
    fill = Healing(HealKind.FILL, frozenset({DEAD}))

    same_day, next_day = (plan_of(fill, state, POLICY, ledger, at_s) for at_s in (DAY_S - 1, DAY_S + 1))

    # of a fair share of 20: at least 17.1 and 18.2
    assert len(same_day.partitions) == 18
    assert len(next_day.partitions) == 19
    for plan in (same_day, next_day):
        assert not find(apply_plan(state, plan), POLICY.outer_tolerance).imbalanced


def test_every_replica_is_copied_even_where_no_room_is_left_for_its_broker() -> None:
    """With as many brokers left as replicas, each takes every lost replica: copies come before balance."""
    rows = [partition(n, (n % 3 + 1, (n + 1) % 3 + 1, (n + 2) % 3 + 1), 10 * GB) for n in range(24)]
    before = cluster(brokers(4), [TopicRow(topic="t", partitions=rows)])
    fill = make_plan(before, PlanOptions(mode=Mode.ONLY_TO_NEW))
    filled = apply_plan(before, fill)
    state = with_dead(filled, DEAD)

    repair = plan_repair(state, frozenset({DEAD}), (fill,), POLICY)

    assert not repair.unrepaired
    assert {c.name for c in repair.partitions} == {
        c.name for c in make_plan(state, PlanOptions(mode=Mode.REPAIR_ONLY)).partitions
    }


def test_no_limits_without_resting_replicas_or_dead_brokers() -> None:
    """A repair without earlier moves, and one without a dead broker, are the same as without the limit."""
    filled, fill = filled_today()

    assert limits_of_resting(filled, frozenset({DEAD}), (), POLICY) == {}
    assert limits_of_resting(filled, frozenset(), (fill,), POLICY) == {}
    assert set(limits_of_resting(filled, frozenset({DEAD}), (fill,), POLICY)) == {NEW}
