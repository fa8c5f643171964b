"""What a plan leaves on drained brokers and in unbalanced log dirs is reported."""

from __future__ import annotations

import msgspec
import pytest

from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_phases import make_plan
from kafkabal.scoring.registry import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic


def _moving(number: int) -> PartitionRow:
    """A partition that another reassignment takes from broker 3 to broker 1."""
    ids = [2, 3, 1]
    return PartitionRow(partition=number, leader=2, replicas=ids, isr=ids, sizes=[GB] * 3, adding=[1], removing=[3])


def _warnings_of_drain(options: PlanOptions) -> list[str]:
    """Warnings about broker 3, which holds selected, internal and moving partitions."""
    state = cluster(
        brokers(4),
        [
            TopicRow(topic="__offsets", partitions=[partition(0, (3, 1)), partition(1, (1, 3))], internal=True),
            topic("img", (1, 3), (2, 3), (1, 2)),
            TopicRow(topic="sent", partitions=[_moving(0)]),
        ],
    )
    plan = make_plan(state, options)
    return [line for line in plan.warnings if line.startswith("broker 3 keeps")]


def test_replicas_that_stay_on_a_drained_broker_are_named() -> None:
    """Partitions with a reassignment in flight are named; internal topics move with a drain."""
    assert _warnings_of_drain(PlanOptions(drain=frozenset({3}))) == [
        "broker 3 keeps 1 replica of partitions that another tool is reassigning",
    ]


def test_topics_that_were_not_chosen_are_named_too() -> None:
    """Topics that a pattern excludes are named; included topics, and brokers that are not drained, are not."""
    drained = PlanOptions(drain=frozenset({3}), topics=("__*", "sent"), include_internal=True)

    assert _warnings_of_drain(drained)[0] == "broker 3 keeps 2 replicas of excluded topics: img"
    assert _warnings_of_drain(PlanOptions()) == []


def test_a_drain_that_empties_a_rack_says_who_loses_it() -> None:
    """A plan may drain the last broker of a rack, but not silently; a drain that keeps the spread has no warning."""
    state = cluster(brokers(5, racks=3), [topic("img", (1, 2, 3), (3, 4, 5), (4, 5)), topic("log", (2, 3, 4))])

    def warnings(broker: int) -> list[str]:
        plan = make_plan(state, PlanOptions(drain=frozenset({broker}), mode=Mode.REPAIR_ONLY))
        return [line for line in plan.warnings if "racks" in line]

    assert warnings(3) == ["no broker remains in rack r2: 3 partitions span fewer racks: img, log"]
    assert warnings(1) == []


def _warnings_of_dirs(options: PlanOptions, *, brokers_: int = 2) -> list[str]:
    """Warnings about brokers with two log dirs, one of which holds a replica larger than all others."""
    parts = [
        part
        for b in range(1, brokers_ + 1)
        for part in (partition(2 * b, [b], 90 * GB), partition(2 * b + 1, [b], GB, log_dirs=[1]))
    ]
    state = cluster(brokers(brokers_, dirs=2), [TopicRow(topic="big", partitions=parts)])
    plan = make_plan(state, options)
    return [line for line in plan.warnings if "log dirs remain outside" in line or "with log dirs outside" in line]


@pytest.mark.parametrize("mode", [Mode.FULL, Mode.LOG_DIRS_ONLY, Mode.ONLY_TO_NEW])
def test_log_dirs_that_stay_outside_are_named_with_the_reason(mode: Mode) -> None:
    """One line per broker names the dirs and the replica that makes up most of the fullest."""
    shares = "/d0 at 1.98x its fair share, /d1 at 0.02x its fair share"

    assert _warnings_of_dirs(PlanOptions(mode=mode)) == [
        f"broker 1: log dirs remain outside their band: {shares}: big-2 is 100% of /d0",
        f"broker 2: log dirs remain outside their band: {shares}: big-4 is 100% of /d0",
    ]


def test_log_dirs_of_a_few_replicas_say_so() -> None:
    """Five equal replicas cannot be shared evenly by two log dirs, so the count is the reason."""
    parts = [partition(n, [b], GB, log_dirs=[n % 2]) for b in (1, 2) for n in range(5 * b, 5 * b + 5)]
    plan = make_plan(cluster(brokers(2, dirs=2), [TopicRow(topic="t", partitions=parts)]))

    assert plan.partitions == ()
    assert [line.rpartition(": ")[2] for line in plan.warnings] == [
        "3 replicas make up 100% of /d1",
        "3 replicas make up 100% of /d0",
    ]


def test_log_dirs_are_named_only_where_they_are_aimed_at() -> None:
    """Log dirs are not named in a mode that skips them, or if another score was selected."""
    assert _warnings_of_dirs(PlanOptions(mode=Mode.REPAIR_ONLY)) == []
    assert _warnings_of_dirs(PlanOptions(scores=load_scores(["disk"]))) == []


def test_many_brokers_with_uneven_log_dirs_are_summed_up() -> None:
    """Ten are named, the others counted."""
    reported = _warnings_of_dirs(PlanOptions(), brokers_=13)

    assert (len(reported), reported[-1]) == (11, "3 more brokers with log dirs outside their bands")


def _with_one_large_replica(dirs: int) -> ClusterState:
    """Broker 1 holds a replica that fills 99% of its first log dir; broker 2 as much in small ones."""
    of_one, of_two = brokers(2, dirs=dirs)
    full = msgspec.structs.replace(of_one.log_dirs[0], usable_bytes=10 * GB)
    of_one = msgspec.structs.replace(of_one, log_dirs=[full, *of_one.log_dirs[1:]])
    large = TopicRow(topic="big", partitions=[partition(0, (1,), 990 * GB, log_dirs=[0])])
    small = TopicRow(topic="t", partitions=[partition(i, (2,), 100 * GB, log_dirs=[i % dirs]) for i in range(10)])
    return cluster([of_one, of_two], [large, small])


def test_a_full_log_dir_of_a_broker_below_the_asked_usage_is_named() -> None:
    """``--below`` compares whole brokers: that a log dir stays full must not read as nothing to do."""
    plan = make_plan(_with_one_large_replica(dirs=2), PlanOptions(below=0.85))

    line = (
        "log dir still more than 85% full: /d0 of broker 1; --below takes all disks of a broker together, "
        "--log-dirs-only moves data between its log dirs"
    )
    assert (plan.partitions, plan.warnings) == ((), (line,))


def test_the_only_log_dir_of_a_broker_is_not_named_besides_its_broker() -> None:
    """A broker with one log dir that stays above ``--below`` is named once."""
    warnings = make_plan(_with_one_large_replica(dirs=1), PlanOptions(below=0.85)).warnings

    assert [line.partition(" remains")[0] for line in warnings if "broker 1" in line] == ["broker 1"]
