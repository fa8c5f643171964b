"""Modes, limits and refusals of the planner on small clusters."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from random import Random

import msgspec
import numpy as np
import pytest

from kafkabal.errors import InfeasibleError, UsageError
from kafkabal.model import PRODUCE_LATENCY
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.plan.plan import Action, Plan
from kafkabal.plan.planned_state import apply_plan
from kafkabal.planner.lower_bound import bound_bytes
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_options import BrokerLimit, Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.search_phases import is_reached
from kafkabal.planner.search.solution import Solution
from kafkabal.planner.search_for_placement import search
from kafkabal.planner.tolerance_frontier import frontier
from kafkabal.planner.what_if import NewBroker, parse_what_if, with_brokers
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic
from kafkabal.testing.synthetic_clusters import SyntheticWorld, make_world


def shared_volume() -> BrokerRow:
    """A broker with two log dirs on one volume of 1000 GB."""
    row = brokers(1, dirs=2)[0]
    return msgspec.structs.replace(row, log_dirs=[msgspec.structs.replace(d, volume="v") for d in row.log_dirs])


def unknown_size() -> BrokerRow:
    """A broker that does not report the size of its volume."""
    return msgspec.structs.replace(brokers(1)[0], log_dirs=[LogDirRow(path="/d0")])


def _targets(plan: Plan) -> set[int]:
    return {broker for change in plan.partitions for broker in change.to_add}


def test_a_balanced_cluster_needs_nothing() -> None:
    """If every score is inside its band, the plan is empty."""
    state = cluster(brokers(3), [topic("img", (1, 2), (2, 3), (3, 1))])

    assert make_plan(state).partitions == ()


def test_an_empty_replica_is_not_moved_for_the_disk() -> None:
    """An empty replica moves only for the replica count, even off a broker whose disk is too full."""
    full = topic("full", *[(1, 2)] * 8)
    empty = topic("empty", *[(1, 2)] * 8, size_bytes=0)
    reasons = {
        str(c.name): c.reason for c in make_plan(cluster(brokers(3, racks=3), [full, empty])).partitions if c.to_add
    }

    reported = {reason for name, reason in reasons.items() if name.startswith("empty")}
    assert reported
    assert all(reason.startswith(("replicas: ", "topic-spread: ")) for reason in reported)


def test_leaders_only_moves_no_byte() -> None:
    """Leadership is balanced by reordering alone."""
    state = make_world(SyntheticWorld(seed=1))
    plan = make_plan(state, PlanOptions(mode=Mode.LEADERS_ONLY))

    assert plan.partitions
    assert {Action.REORDER, Action.ELECT} >= {change.action for change in plan.partitions}


def test_leadership_returns_to_a_broker_that_restarted() -> None:
    """It is elected where it is preferred, and preferred nowhere else: Kafka elects it there too within minutes, and it
    would then lead both."""
    pairs = [[a, b] for a in (1, 2, 3, 4) for b in (1, 2, 3, 4) if a != b] * 10
    parts = [partition(i, pair, leader=pair[pair[0] == 3]) for i, pair in enumerate(pairs)]
    plan = make_plan(
        cluster(brokers(4), [TopicRow(topic="img", partitions=parts)]), PlanOptions(mode=Mode.LEADERS_ONLY)
    )

    assert {change.action for change in plan.partitions} == {Action.ELECT}
    assert {change.replicas[0] for change in plan.partitions} == {3}


def test_log_dirs_only_stays_on_the_brokers() -> None:
    """Only copies between dirs of one broker are planned."""
    state = make_world(SyntheticWorld(seed=1, log_dirs=3))
    plan = make_plan(state, PlanOptions(mode=Mode.LOG_DIRS_ONLY))

    assert plan.partitions
    assert (0, set()) == (plan.moved_bytes, _targets(plan))


@pytest.mark.parametrize(
    ("mode", "warning"),
    [
        (Mode.LEADERS_ONLY, None),
        (Mode.LOG_DIRS_ONLY, None),
        (Mode.ONLY_TO_NEW, "no empty broker in another rack can take a replica of t-0"),
    ],
)
def test_a_mode_does_not_blame_brokers_for_what_it_leaves_out(mode: Mode, warning: str | None) -> None:
    """Two replicas in one rack stay there although other brokers could take one; only ``--only-to-new`` says why."""
    rows = [partition(0, (1, 3)), partition(1, (2, 1)), partition(2, (4, 3))]
    state = cluster(brokers(4, racks=2), [TopicRow(topic="t", partitions=rows)])

    racks = [line for line in make_plan(state, PlanOptions(mode=mode)).warnings if "rack" in line]
    assert racks == ([] if warning is None else [warning])
    assert not [line for line in make_plan(state).warnings if "rack" in line]


@pytest.mark.parametrize(("bytes_above", "moves"), [(0, 0), (7, 0), (GB // 2, 1)])
def test_log_dirs_that_cannot_be_balanced_are_not_changed(bytes_above: int, moves: int) -> None:
    """Five replicas on two dirs are three and two: copying one for a few bytes would only swap the dirs."""
    sizes = [GB + bytes_above // 3] * 3 + [GB - bytes_above // 2] * 2
    rows = [partition(i, (1,), size, log_dirs=[int(i > 2)]) for i, size in enumerate(sizes)]
    state = cluster(brokers(1, dirs=2), [TopicRow(topic="t", partitions=rows)])
    plan = make_plan(state, PlanOptions(tolerance=0.01))
    assert len(plan.partitions) == moves


def test_log_dirs_a_few_bytes_outside_are_brought_inside() -> None:
    """A copy that costs more bytes than it removes is made if it is the last one needed."""
    rows = [partition(i, (1,), GB, log_dirs=[int(i > 11)]) for i in range(22)]
    state = cluster(brokers(1, dirs=2), [TopicRow(topic="t", partitions=rows)])
    assert len(make_plan(state, PlanOptions(tolerance=0.0908)).partitions) == 1


def test_only_to_new_fills_new_brokers_and_no_others() -> None:
    """Old brokers receive nothing."""
    grown = with_brokers(make_world(SyntheticWorld(seed=2)), (NewBroker(id=90, rack="r0"), NewBroker(id=91, rack="r1")))
    plan = make_plan(grown, PlanOptions(mode=Mode.ONLY_TO_NEW))

    assert {90, 91} == _targets(plan)


def test_only_to_new_copies_nothing_between_log_dirs_of_old_brokers() -> None:
    """Whatever does not go to the new broker stays in its log dir; arrivals there are spread over its log dirs."""
    rows = [partition(i, (b,), GB, log_dirs=[0]) for i, b in enumerate([1, 2] * 9)]
    plan = make_plan(
        cluster(brokers(3, dirs=2), [TopicRow(topic="t", partitions=rows)]), PlanOptions(mode=Mode.ONLY_TO_NEW)
    )

    assert {c.replicas for c in plan.partitions} == {(3,)}
    assert {c.log_dirs for c in plan.partitions} == {("/d0",), ("/d1",)}


def test_only_to_new_reports_brokers_that_stay_outside() -> None:
    """One line names the scores of the old brokers; another says what to do if no broker is empty any more."""
    uneven = make_world(SyntheticWorld(seed=2, skew=2.0))
    grown = with_brokers(uneven, (NewBroker(id=90, rack="r0"),))
    filling, filled = (make_plan(c, PlanOptions(mode=Mode.ONLY_TO_NEW)).warnings for c in (grown, uneven))

    assert [len(filling), len(filled)] == [1, 2]
    assert all("brokers outside their bands:" in lines[0] and " by disk" in lines[0] for lines in (filling, filled))
    assert "--exclude-brokers" in filled[1]


def test_only_to_new_leaves_a_damaged_broker_empty() -> None:
    """An empty broker with an offline log dir gets nothing for balance, and a line says why it remains empty."""
    rows = brokers(3, dirs=2)
    offline = msgspec.structs.replace(rows[2].log_dirs[1], state="offline")
    rows[2] = msgspec.structs.replace(rows[2], log_dirs=[rows[2].log_dirs[0], offline])
    plan = make_plan(cluster(rows, [topic("t", *[(1, 2)] * 6)]), PlanOptions(mode=Mode.ONLY_TO_NEW))

    assert _targets(plan) == set()
    assert "broker 3 remains empty: it has an offline log dir" in plan.warnings


def test_below_moves_only_from_fuller_brokers() -> None:
    """Replicas leave only brokers above the share."""
    state = make_world(SyntheticWorld(seed=3, brokers=6, racks=6, skew=2.0))
    plan = make_plan(state, PlanOptions(below=0.6))
    after = apply_plan(state, plan)

    assert plan.partitions
    assert make_plan(after, PlanOptions(below=0.6)).partitions == ()


def _shared_with_others(others_gb: int) -> ClusterState:
    """Two disks of 1000 GB with three partitions of 100 GB on the first, beside files of other programs there."""
    free = [1000 - others_gb - 300, 1000]
    rows = [
        BrokerRow(broker=b, log_dirs=[LogDirRow(path="/d", total_bytes=1000 * GB, usable_bytes=free[b - 1] * GB)])
        for b in (1, 2)
    ]
    return cluster(rows, [topic("t", [1], [1], [1], size_bytes=100 * GB)])


def test_below_counts_the_files_of_other_programs() -> None:
    """A disk that replicas fill to 30% and other programs to 90% is above 85%: one replica leaves it."""
    plan = make_plan(_shared_with_others(600), PlanOptions(below=0.85))
    assert (plan.moved_bytes, plan.warnings) == (100 * GB, ())

    assert make_plan(_shared_with_others(500), PlanOptions(below=0.85)).partitions == ()


def test_below_names_disks_that_other_programs_fill_alone() -> None:
    """No move brings them below the usage that was asked for."""
    (warning,) = make_plan(_shared_with_others(650), PlanOptions(below=0.6)).warnings
    assert warning == "files of other programs alone occupy more than 60% of the disks of broker 1: remove them"


def _without_bytes() -> ClusterState:
    """Of three brokers, one of them dead, no log dir works and no size is known; broker 1 leads everything."""
    offline = [LogDirRow(path="/d0", state="offline")]
    rows = [BrokerRow(broker=b, rack="r0", log_dirs=offline, state="dead" if b == 3 else "online") for b in (1, 2, 3)]
    pairs = [[1, 2], [1, 2], [1, 2], [1, 2], [1, 3]]
    parts = [PartitionRow(partition=i, leader=1, replicas=pair, isr=pair) for i, pair in enumerate(pairs)]
    return cluster(rows, [TopicRow(topic="img", partitions=parts)])


@pytest.mark.parametrize("mode", [Mode.LEADERS_ONLY, Mode.REPAIR_ONLY])
def test_modes_without_bytes_use_the_available_scores(mode: Mode) -> None:
    """If no sizes are known, the default scores without sizes are used; a named score that needs them is refused."""
    plan = make_plan(_without_bytes(), PlanOptions(mode=mode))
    assert set(plan.scores) == {"replicas", "leaders", "topic-spread"}
    assert bool(plan.partitions) == (mode is Mode.LEADERS_ONLY)
    assert any("no broker can take" in line for line in plan.warnings) == (mode is Mode.REPAIR_ONLY)

    with pytest.raises(UsageError, match="'disk' needs log-dirs"):
        make_plan(_without_bytes(), PlanOptions(mode=mode, scores=load_scores(["disk"])))


def test_below_needs_to_know_how_full_disks_are() -> None:
    """Sizes are not assumed equal here: every broker with data would be above any usage, and lose some of it."""
    rows = [msgspec.structs.replace(row, log_dirs=[LogDirRow(path="/d0")]) for row in brokers(3)]
    with pytest.raises(UsageError, match="--below needs the sizes of disks: no live broker reports them"):
        make_plan(cluster(rows, [topic("t", *[(1, 2)] * 6)]), PlanOptions(below=0.6))


def test_below_considers_disk_only() -> None:
    """Another score next to it is refused, not replaced; disk itself may be named."""
    state = make_world(SyntheticWorld(seed=3))
    with pytest.raises(UsageError, match="--below supports only the score disk, not replicas"):
        make_plan(state, PlanOptions(below=0.6, scores=load_scores(["disk", "replicas"])))

    named, plain = (make_plan(state, PlanOptions(below=0.6, scores=s)) for s in (load_scores(["disk"]), ()))
    assert named.partitions == plain.partitions


@pytest.mark.parametrize("most", [0, 5])
def test_a_limit_of_replicas_is_stronger_than_the_bands(most: int) -> None:
    """A broker with a replica limit gives up the excess, with its bytes and leadership, whatever the bands."""
    state = make_world(SyntheticWorld(seed=4, brokers=16, topics=60))
    limited = int(state.brokers.id[2])
    after = apply_plan(state, make_plan(state, PlanOptions(broker_limits={limited: BrokerLimit(replicas=most)})))

    assert int((after.replicas.broker == 2).sum()) <= most


@pytest.mark.parametrize(
    ("limit", "line"),
    [
        (BrokerLimit(replicas=3), "broker 1 remains at 6 replicas; --broker-limit allows at most 3"),
        (
            BrokerLimit(bytes=2 * 2**30),
            "broker 1 remains at 5.59 GiB of replicas; --broker-limit allows at most 2.00 GiB",
        ),
    ],
    ids=["replicas", "bytes"],
)
def test_a_limit_that_cannot_be_kept_is_named(limit: BrokerLimit, line: str) -> None:
    """A broker inside its band but beyond its limit, and alone in its rack, is named with the limit, not the band."""
    state = cluster(brokers(2), [topic("t", *[(1, 2)] * 6, size_bytes=10**9)])

    assert make_plan(state, PlanOptions(broker_limits={1: limit})).warnings == (line,)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (PlanOptions(drain=frozenset({3})), "add brokers, drain fewer, or leave out --broker-limit"),
        (PlanOptions(replication_factor=3), "use a lower replication factor, add brokers, or leave out --broker-limit"),
    ],
    ids=["drain", "replication factor"],
)
def test_a_refusal_names_the_options_that_close_brokers(options: PlanOptions, hint: str) -> None:
    """Without its limit, the broker would take the replicas."""
    state = cluster(brokers(3), [topic("t", *[(1, 3)] * 2)])
    with pytest.raises(InfeasibleError) as refused:
        make_plan(state, replace(options, broker_limits={2: BrokerLimit(replicas=0)}))

    assert refused.value.hint is not None
    assert refused.value.hint.endswith(hint)


def test_partitions_without_a_copy_ask_for_no_leaders() -> None:
    """Partitions without a possible leader do not count for the band of leaders."""
    rows = [partition(n, [b]) for n, b in enumerate((1, 2, 3))]
    lost = [PartitionRow(partition=n, replicas=[9], leader=-1) for n in range(12)]
    state = cluster(
        [*brokers(3), BrokerRow(broker=9, state="dead")],
        [TopicRow(topic="img", partitions=rows), TopicRow(topic="lost", partitions=lost)],
    )

    assert [line for line in make_plan(state).warnings if "leaders" in line] == []


def test_a_partition_kept_on_a_dead_broker_is_not_balanced() -> None:
    """Rack b has one live broker, cordoned, so nothing can be repaired: the last live copies stay."""
    rows = [
        BrokerRow(
            broker=b,
            rack="a" if b < 3 else "b",
            state="dead" if b == 4 else "online",
            log_dirs=[
                LogDirRow(path="/d", total_bytes=10**12, usable_bytes=10**12, state="cordoned" if b == 3 else "online")
            ],
        )
        for b in (1, 2, 3, 4)
    ]
    stuck = TopicRow(topic="stuck", partitions=[partition(n, [1, 4]) for n in range(6)])
    whole = TopicRow(topic="whole", partitions=[partition(n, [1, 3]) for n in range(6)])
    plan = make_plan(cluster(rows, [stuck, whole]))

    assert plan.unrepaired
    assert {change.topic for change in plan.partitions if change.to_add} == {"whole"}


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.REPAIR_ONLY])
def test_a_plan_that_moves_nothing_names_what_stays_broken(mode: Mode) -> None:
    """Three brokers hold three replicas of each partition, and one is dead: that is all the plan has to say."""
    rows = [msgspec.structs.replace(b, state="dead" if b.broker == 3 else "online") for b in brokers(3)]
    plan = make_plan(cluster(rows, [topic("t", (1, 2, 3), (2, 3, 1))]), PlanOptions(mode=mode))

    assert plan.partitions == ()
    assert plan.unrepaired == plan.warnings == ("no broker can take the replicas on dead brokers of t-0, t-1",)


def _with_failed_disk(n_brokers: int, dead: tuple[int, ...], topics: list[TopicRow]) -> ClusterState:
    """Broker 3 has a dir that is online and one that has failed, and reports no replica."""
    rows = [msgspec.structs.replace(b, state="dead" if b.broker in dead else "online") for b in brokers(n_brokers)]
    failed = LogDirRow(path="/d1", state="offline")
    rows[2] = msgspec.structs.replace(rows[2], log_dirs=[*rows[2].log_dirs, failed])
    lost = [
        msgspec.structs.replace(
            p,
            isr=[b for b in p.isr if b != 3 and b not in dead],
            log_dirs=[-1 if b == 3 else 0 for b in p.replicas],
        )
        for t in topics
        for p in t.partitions
    ]
    return cluster(rows, [TopicRow(topic="t", partitions=lost)])


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.REPAIR_ONLY])
def test_a_replica_in_an_offline_dir_goes_to_another_broker(mode: Mode) -> None:
    """Kafka creates no new copy on a broker already in the list, even if another of its dirs is online."""
    state = _with_failed_disk(4, (), [topic("t", *[(1, 2, 3)] * 6, size_bytes=10**10)])
    plan = make_plan(state, PlanOptions(mode=mode))

    assert len(plan.partitions) == 6
    assert not any(3 in change.replicas for change in plan.partitions)


@pytest.mark.parametrize("size_bytes", [None, 10**9])
@pytest.mark.parametrize(
    "options",
    [
        PlanOptions(mode=Mode.REPAIR_ONLY),
        PlanOptions(scores=load_scores(["replicas", "leaders"])),
        PlanOptions(mode=Mode.REPAIR_ONLY, drain=frozenset({1}), broker_limits={2: BrokerLimit(replicas=0)}),
    ],
    ids=["repair", "balance", "no room"],
)
def test_a_cluster_without_log_dirs_is_repaired(options: PlanOptions, size_bytes: int | None) -> None:
    """Where no broker reports log dirs, as through ZooKeeper, each chooses the log dir of what arrives."""
    rows = [msgspec.structs.replace(row, log_dirs=[]) for row in brokers(5)]
    rows[3] = msgspec.structs.replace(rows[3], state="dead")
    parts = [PartitionRow(partition=n, leader=1, replicas=[1, 4], isr=[1], sizes=[size_bytes] * 2) for n in range(4)]
    plan = make_plan(cluster(rows, [TopicRow(topic="t", partitions=parts)]), options)

    assert len(plan.partitions) == 4
    assert all(4 not in change.replicas and set(change.log_dirs) == {"any"} for change in plan.partitions)


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.REPAIR_ONLY])
def test_of_two_broken_replicas_one_alone_is_not_replaced(mode: Mode) -> None:
    """A reassignment that keeps a second broken replica never completes: the partition is skipped and named."""
    state = _with_failed_disk(4, (4,), [topic("t", (1, 3, 4), (1, 2, 4))])
    plan = make_plan(state, PlanOptions(mode=mode))

    assert [str(change.name) for change in plan.partitions] == ["t-1"]
    assert [line.rpartition(" of ")[2] for line in plan.unrepaired] == ["t-0"]


def test_a_drain_that_would_never_end_is_refused() -> None:
    """The replica on the dead broker fits nowhere, and so Kafka would not complete the drain: it is refused."""
    rows = [msgspec.structs.replace(b, state="dead" if b.broker == 2 else "online") for b in brokers(4)]
    state = cluster(rows, [topic("t", (1, 2, 3))])

    with pytest.raises(InfeasibleError, match="cannot drain broker 1: no broker can take the replicas on dead"):
        make_plan(state, PlanOptions(mode=Mode.REPAIR_ONLY, drain=frozenset({1})))


def test_excluded_topics_are_ignored_partitions() -> None:
    """No partition of an excluded topic is listed."""
    plan = make_plan(make_world(SyntheticWorld(seed=4)), PlanOptions(exclude_topics=("t1*",)))

    assert plan.partitions
    assert not [change.name for change in plan.partitions if change.topic.startswith("t1")]


def test_excluded_brokers_take_nothing() -> None:
    """Nothing arrives at an excluded broker."""
    assert 1 not in _targets(make_plan(make_world(SyntheticWorld(seed=4)), PlanOptions(exclude_brokers=frozenset({1}))))


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.LEADERS_ONLY])
def test_an_excluded_broker_takes_over_no_leadership(mode: Mode) -> None:
    """The other brokers share what broker 1 leads too much of, and are inside their bands with it."""
    options = PlanOptions(mode=mode, exclude_brokers=frozenset({3}))
    state = cluster(brokers(3), [topic("led-by-one", *[(1, 2, 3)] * 10), topic("led-by-the-excluded", (3, 1, 2))])
    plan = make_plan(state, options)
    after = apply_plan(state, plan)

    assert [after.partitions.leader.tolist().count(b) for b in (0, 1, 2)] == [5, 5, 1]
    assert plan.warnings == ()
    assert plan.scores["leaders"].after["outside"] == 0
    assert make_plan(after, options).partitions == ()


def test_an_excluded_broker_leads_what_nobody_else_can() -> None:
    """A drained leader hands over at once, even if the budget does not pay for a copy on broker 2."""
    state = cluster(brokers(3), [topic("img", (1, 3))])
    drained = PlanOptions(drain=frozenset({1}), exclude_brokers=frozenset({3}))

    assert [change.replicas for change in make_plan(state, drained).partitions] == [(2, 3)]
    assert [change.replicas for change in make_plan(state, replace(drained, max_bytes=0)).partitions] == [(3, 1)]


def test_a_limit_of_replicas_is_kept() -> None:
    """A broker never gets more replicas than its limit allows."""
    state = make_world(SyntheticWorld(seed=5))
    after = apply_plan(state, make_plan(state, PlanOptions(broker_limits={1: BrokerLimit(replicas=60)})))

    assert int((after.brokers.id[after.replicas.broker] == 1).sum()) <= 60


def _offline(rows: list[BrokerRow], broker: int) -> list[BrokerRow]:
    """The same brokers, the first log dir of one of them offline."""
    row = rows[broker - 1]
    lost = msgspec.structs.replace(row.log_dirs[0], state="offline")
    return [*rows[: broker - 1], msgspec.structs.replace(row, log_dirs=[lost, *row.log_dirs[1:]]), *rows[broker:]]


@pytest.mark.parametrize(
    "options",
    [
        PlanOptions(mode=Mode.REPAIR_ONLY),
        PlanOptions(tolerance=0.99),
        PlanOptions(mode=Mode.REPAIR_ONLY, drain=frozenset({4})),
    ],
    ids=["repair", "balance", "drain"],
)
def test_a_broker_with_an_offline_log_dir_gets_only_what_no_other_can_take(options: PlanOptions) -> None:
    """Until it is restarted it refuses what it lost there, which may be the very replicas that have to be placed."""
    rows = _offline(brokers(4, dirs=2), 3)
    if not options.drain:
        rows[3] = msgspec.structs.replace(rows[3], state="dead", log_dirs=[])
    lost = [topic("t", (1, 4), (2, 4), (1, 2, 4), size_bytes=10), topic("full", *[(1, 2)] * 5, size_bytes=10**9)]
    state = cluster(rows, [t if options.drain else _dead_replicas(t, 4) for t in lost])
    plan = make_plan(state, options)

    assert {c.name.partition: set(c.replicas) for c in plan.partitions if c.topic == "t"} == {
        0: {1, 2},
        1: {1, 2},
        2: {1, 2, 3},
    }


def test_nothing_is_balanced_onto_a_broker_with_an_offline_log_dir() -> None:
    """It is the emptiest, and may have lost just the partitions that would come: Kafka would never copy them."""
    rows = _offline(brokers(3, dirs=2), 3)
    state = cluster(rows, [topic("t", *[(1,)] * 8, (2,), (3,), size_bytes=10**9)])
    plan = make_plan(state, PlanOptions())

    assert 3 not in {broker for change in plan.partitions for broker in change.replicas}
    assert any(change.replicas == (2,) for change in plan.partitions)
    assert any("broker 3" in warning and "offline log dir" in warning for warning in plan.warnings)


def test_a_broker_with_an_offline_log_dir_is_named_by_its_replicas() -> None:
    """Where no bytes are outside a band, the line on replicas says why the broker receives none."""
    state = cluster(_offline(brokers(3, dirs=2), 3), [topic("t", *[(1,)] * 8, (2,), (3,), size_bytes=0)])

    assert "broker 3 remains at 0 replicas; its band allows at least 3: it has an offline log dir" in (
        make_plan(state, PlanOptions()).warnings
    )


def _dead_replicas(row: TopicRow, dead: int) -> TopicRow:
    """The same topic while a broker is dead."""
    return msgspec.structs.replace(
        row,
        partitions=[
            msgspec.structs.replace(
                p,
                isr=[b for b in p.isr if b != dead],
                log_dirs=[None if b == dead else 1 for b in p.replicas],
                sizes=[None if b == dead else 10 for b in p.replicas],
            )
            for p in row.partitions
        ],
    )


@pytest.mark.parametrize(
    ("rows", "isr", "factor", "drain", "left"),
    [
        pytest.param(brokers(4), [1, 2], 2, frozenset(), {1, 2}, id="out of sync"),
        pytest.param(_offline(brokers(4, dirs=2), 3), [1, 2], 2, frozenset(), {1, 2}, id="in an offline log dir"),
        pytest.param(brokers(4), [1, 2, 3], 2, {3}, {1, 2}, id="on a drained broker"),
        pytest.param(brokers(4), [1, 2, 3], 2, {1}, {2, 3}, id="the leader, drained"),
        pytest.param(brokers(4), [1], 1, {1}, {4}, id="the leader, drained, but the only one in sync"),
    ],
)
def test_a_lower_replication_factor_keeps_sound_replicas(
    rows: list[BrokerRow], isr: list[int], factor: int, drain: Collection[int], left: set[int]
) -> None:
    """What has to leave or is out of sync goes first, even if broker 2 is the fullest; nothing is copied for it."""
    img = msgspec.structs.replace(partition(0, [1, 2, 3], 1000), isr=isr)
    state = cluster(rows, [TopicRow(topic="img", partitions=[img]), topic("large", (2,), size_bytes=1000)])
    options = PlanOptions(topics=("img",), replication_factor=factor, drain=frozenset(drain), tolerance=0.99)
    plan = make_plan(state, options)

    assert [set(change.replicas) for change in plan.partitions] == [left]


def test_the_replication_factor_falls_where_bands_are_out_of_reach() -> None:
    """A plan that only drops replicas is worth it, although it leaves broker 1 as full as it was."""
    state = cluster(brokers(4), [topic("img", (1, 2, 3), size_bytes=1), topic("large", (1,))])
    plan = make_plan(state, PlanOptions(topics=("img",), replication_factor=2))

    assert [len(change.replicas) for change in plan.partitions] == [2]
    assert [change.reason for change in plan.partitions] == ["replication factor: 1 replica fewer"]


@pytest.mark.parametrize("factor", [2, 4])
def test_the_replication_factor_changes_when_asked(factor: int) -> None:
    """Every partition ends with the requested number of replicas."""
    state = make_world(SyntheticWorld(seed=6))
    after = apply_plan(state, make_plan(state, PlanOptions(replication_factor=factor)))

    assert {factor} == set(after.replication_factor.tolist())


def test_a_drain_that_leaves_too_few_brokers_is_refused() -> None:
    """Three replicas do not fit on two brokers."""
    state = cluster(brokers(3), [topic("img", (1, 2, 3))])

    with pytest.raises(InfeasibleError, match="img-0"):
        make_plan(state, PlanOptions(drain=frozenset({3})))


@pytest.mark.parametrize("mode", [Mode.LEADERS_ONLY, Mode.LOG_DIRS_ONLY])
def test_modes_that_must_move_replicas_are_refused_where_none_may_move(mode: Mode) -> None:
    """A drain or another replication factor is refused in modes that move no replicas, instead of ignored."""
    with pytest.raises(UsageError, match=f"--{mode} and --drain cannot be combined"):
        PlanOptions(mode=mode, drain=frozenset({3}))
    with pytest.raises(UsageError, match=f"--{mode} and --replication-factor cannot be combined"):
        PlanOptions(mode=mode, replication_factor=2)


def _with_internal_topic(seed: int) -> tuple[ClusterState, int]:
    """A drawn cluster whose last topic is internal, and a broker to drain."""
    random = Random(seed)
    number, racks = random.randint(4, 8), random.choice([1, 1, 2, 3])
    topics = []
    for t in range(random.randint(1, 4)):
        factor, rows = random.choice([2, 2, 3, 3, 1]), []
        for p in range(random.randint(1, 14)):
            held = random.sample(range(1, number + 1), factor)
            size = random.choice([0, 10**6, random.randrange(10**9)])
            rows.append(partition(p, held, size, leader=random.choice(held)))
        topics.append(TopicRow(topic=f"t{t}", partitions=rows, internal=t == 3))
    return cluster(brokers(number, racks=racks), topics), 1 + seed % number


@pytest.mark.parametrize("seed", [8, 112, 216])
def test_a_drain_that_is_repeated_hands_on_no_leader(seed: int) -> None:
    """Internal topics leave the broker too, and leaders are balanced at once for their new placement."""
    state, broker = _with_internal_topic(seed)
    options = PlanOptions(drain=frozenset({broker}))
    after = apply_plan(state, make_plan(state, options))
    assert not (after.replicas.broker == after.brokers.index_of(broker)).any()
    assert make_plan(after, options).partitions == ()


@pytest.mark.parametrize("seed", [6, 10])
def test_a_move_that_mends_a_disk_names_a_share_outside_its_band(seed: int) -> None:
    """With a drain, brokers are due the bytes of the drained one too; a share of the bytes before would look fair."""
    state, broker = _with_internal_topic(seed)
    plan = make_plan(state, PlanOptions(drain=frozenset({broker})))
    shares = [re.search(r"disk: broker \d+ at ([\d.]+)x", change.reason) for change in plan.partitions]
    named = [float(share[1]) for share in shares if share]
    assert named
    assert all(abs(share - 1) >= 0.09 for share in named)


def _with_internal_topic_in_each_rack() -> ClusterState:
    """Six brokers in three racks; an internal topic has a replica of each partition in every rack."""
    random, rows = Random(7), []
    for p in range(48):
        held = random.sample(range(1, 7), 2)
        rows.append(partition(p, held, random.randrange(10**6)))
    of_each_rack = [[1 + p % 3 + 3 * random.randrange(2), 1 + (p + 1) % 3, 4 + (p + 2) % 3] for p in range(50)]
    offsets = [partition(p, held, 0) for p, held in enumerate(of_each_rack)]
    topics = [TopicRow(topic="img", partitions=rows), TopicRow(topic="offsets", partitions=offsets, internal=True)]
    return cluster(brokers(6, racks=3), topics)


@pytest.mark.parametrize("broker", [2, 5])
def test_a_drain_short_of_its_bands_hands_on_no_leader_either(broker: int) -> None:
    """The last broker of a rack gets all of an internal topic there, beyond its band; its leaders are final."""
    state, options = _with_internal_topic_in_each_rack(), PlanOptions(drain=frozenset({broker}))
    assert not is_reached(search(Solution(build_problem(state, options)), NO_LISTENER).solution)
    plan = make_plan(state, options)
    assert make_plan(apply_plan(state, plan), options).partitions == ()


@pytest.mark.parametrize("broker", [2, 5])
def test_a_drain_warns_of_no_band_that_the_drained_cluster_keeps(broker: int) -> None:
    """Bands count an internal topic where the drain puts it, as the scores after the plan do: nothing is outside."""
    state, options = _with_internal_topic_in_each_rack(), PlanOptions(drain=frozenset({broker}))
    plan = make_plan(state, options)
    assert [change.after["outside"] for change in plan.scores.values()] == [0] * len(plan.scores)
    assert plan.warnings == ()


def test_an_unknown_broker_is_refused() -> None:
    """A broker that does not exist cannot drain."""
    with pytest.raises(UsageError, match="unknown broker: 99"):
        make_plan(make_world(SyntheticWorld()), PlanOptions(drain=frozenset({99})))


def test_a_pattern_without_a_topic_is_refused() -> None:
    """A mistyped name is refused, instead of passing for a balanced cluster."""
    with pytest.raises(UsageError, match="unknown topic: 'nosuch'"):
        make_plan(make_world(SyntheticWorld()), PlanOptions(topics=("*", "nosuch")))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_copies_that_are_larger_than_new_ones_are_moved_first(seed: int) -> None:
    """If followers differ by 30% from their leaders, fewer bytes are copied than leave."""
    plan = make_plan(make_world(SyntheticWorld(seed=seed, topics=120, follower_jitter=0.3)))

    assert plan.bound_bytes
    assert plan.moved_bytes < 1.06 * plan.bound_bytes  # 1.08 and more if copies of any size are taken


def test_unreachable_bands_are_named() -> None:
    """A partition larger than the band is named."""
    state = cluster(brokers(3), [TopicRow(topic="img", partitions=[partition(0, [1], 90 * GB), partition(1, [2])])])

    reported = [line for line in make_plan(state).warnings if line.startswith("broker 1 remains at")]
    assert reported[0].endswith("its fair share by disk: it holds a single partition")


def test_the_frontier_costs_more_the_tighter() -> None:
    """A tighter band never needs fewer bytes than a looser one."""
    points = frontier(make_world(SyntheticWorld(seed=7)), PlanOptions(), tolerances=(0.02, 0.3))

    assert points[0].moved_bytes >= points[1].moved_bytes


@pytest.mark.parametrize(
    ("rows", "capacity_bytes"),
    [
        pytest.param([shared_volume()], 1000 * GB, id="two log dirs on one volume"),
        pytest.param([unknown_size(), BrokerRow(broker=2, state="dead")], -1, id="no size is known, a broker is dead"),
    ],
)
def test_an_added_broker_is_as_large_as_the_largest(rows: list[BrokerRow], capacity_bytes: int) -> None:
    """A volume counts once, and a dead broker does not make the size of the added one known."""
    grown = with_brokers(cluster(rows, []), (NewBroker(id=9),))

    assert grown.log_dirs.total_bytes.tolist()[-1] == capacity_bytes


def test_measurements_of_a_hypothetical_broker_are_unknown() -> None:
    """A broker that does not exist was not measured; leadership is balanced by what was measured of the others."""
    state = cluster(brokers(3), [topic("t", *[(1, 2)] * 6)])
    state = state.replace(measured={PRODUCE_LATENCY: np.array([3.0, 1.0, 2.0])})
    grown = with_brokers(state, (NewBroker(id=0),))
    plan = make_plan(grown, PlanOptions(mode=Mode.LEADERS_ONLY, scores=load_scores(["latency"])))

    assert np.array_equal(grown.measured[PRODUCE_LATENCY], [np.nan, 3.0, 1.0, 2.0], equal_nan=True)
    assert plan.partitions != ()


def test_the_bound_does_not_fill_a_broker_beyond_its_limit() -> None:
    """Broker 4 may hold 8 replicas, so that it need not hold its share of bytes; ten from 1 to 3 are enough."""
    held = [[1]] * 60 + [[2]] * 40 + [[3]] * 18 + [[4]] * 8
    state = cluster(brokers(4), [topic("t", *held)])
    limits = {4: BrokerLimit(replicas=8)}
    options = PlanOptions(scores=load_scores(["disk", "replicas"]), tolerance=0.3, broker_limits=limits)
    plan = make_plan(state, options)

    assert plan.moved_bytes == 10 * GB
    assert bound_bytes(Solution(build_problem(state, options)), 10**12) <= plan.moved_bytes


def test_what_if_reads_brokers_to_add_and_to_remove() -> None:
    """Rack and size may be left out."""
    supposed = parse_what_if(["add=7:r1:4TiB", "add=8", "remove=3,4"], Mode.FULL)

    assert (NewBroker(id=7, rack="r1", capacity_bytes=4 * 2**40), NewBroker(id=8)) == supposed.add
    assert frozenset({3, 4}) == supposed.remove


def test_an_added_broker_keeps_the_others_as_they_are() -> None:
    """Renumbering rows changes no replica list."""
    state: ClusterState = make_world(SyntheticWorld(seed=8))
    grown = with_brokers(state, (NewBroker(id=0, rack="r9"),))

    assert state.brokers.id[state.replicas.broker].tolist() == grown.brokers.id[grown.replicas.broker].tolist()


def test_a_limit_is_kept_where_one_rack_mate_alone_can_take_the_data() -> None:
    """It then holds the data of two brokers, which is fair for it; the plan reaches every band and gives a bound."""
    state = cluster(brokers(4, racks=2), [topic("t", *[(1, 2)] * 10, *[(3, 4)] * 10)])
    plan = make_plan(state, PlanOptions(broker_limits={1: BrokerLimit(replicas=0)}))
    after = apply_plan(state, plan)

    assert np.bincount(after.replicas.broker).tolist()[:3:2] == [0, 20]
    assert plan.warnings == ()
    assert plan.bound_bytes == plan.moved_bytes == 10 * GB


def test_a_limit_that_cannot_be_kept_does_not_lift_another() -> None:
    """Broker 2 is alone in its rack; broker 1 gives everything to broker 3, and only broker 2 is named."""
    rows = brokers(3, racks=2)
    state = cluster(rows, [topic("t", *[(1, 2)] * 6, *[(3, 2)] * 6)])
    limits = {1: BrokerLimit(bytes=0), 2: BrokerLimit(replicas=9, bytes=10 * GB)}
    plan = make_plan(state, PlanOptions(broker_limits=limits))

    assert np.bincount(apply_plan(state, plan).replicas.broker).tolist() == [0, 12, 12]
    assert plan.warnings == (
        "broker 2 remains at 11.2 GiB of replicas; --broker-limit allows at most 9.31 GiB",
        "broker 2 remains at 12 replicas; --broker-limit allows at most 9",
    )
