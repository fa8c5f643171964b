"""The search's columns for small clusters in which every value is known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from kafkabal.errors import InfeasibleError, UsageError
from kafkabal.model import NO_RACK, UNLIMITED, BrokerRow, ClusterState, LogDirRow, PartitionRow, TopicRow
from kafkabal.plan import PartitionChange, Placement, Plan
from kafkabal.planner.plan_options import BrokerLimit, Mode, PlanOptions
from kafkabal.planner.problem import Problem, build_problem
from kafkabal.scoring import load_scores
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition

HALF = 0.5


def _with(row: Any, **changes: Any) -> Any:
    return msgspec.structs.replace(row, **changes)


def _partition(number: int, replicas: Sequence[int], sizes: Sequence[int | None], **changes: Any) -> PartitionRow:
    """Sizes in GB, leader first."""
    given = [None if size is None else size * GB for size in sizes]
    return _with(partition(number, replicas), **{"sizes": given, **changes})


def _rows() -> list[BrokerRow]:
    """Five brokers in racks a, b, a, none, b with two dirs of 100 GB: 3 has an offline dir, 5 is dead."""
    rows = brokers(5, dirs=2, dir_bytes=100 * GB)
    racks = ("a", "b", "a", None, "b")
    rows = [_with(row, rack=rack) for row, rack in zip(rows, racks, strict=True)]
    rows[2] = _with(rows[2], log_dirs=[rows[2].log_dirs[0], LogDirRow(path="/d1", state="offline")])
    rows[4] = _with(rows[4], state="dead", rack=None, log_dirs=[])
    return rows


def _broken() -> ClusterState:
    """Topics ``a`` (three partitions) and internal ``__b``: a dead broker, an offline dir, an unknown size."""
    a = [
        _partition(0, [1, 2], [4, 4]),
        _partition(1, [5, 3, 1], [None, None, 6], leader=1, isr=[1], log_dirs=[None, 1, 0]),
        _partition(2, [4, 2], [None, None], leader=-1, isr=[4]),
    ]
    b = [_partition(0, [2, 5], [1, None], leader=2, isr=[2], log_dirs=[1, None]), _partition(1, [2, 1], [1, 1])]
    return cluster(_rows(), [TopicRow(topic="a", partitions=a), TopicRow(topic="__b", partitions=b, internal=True)])


def _built(state: ClusterState | None = None, **options: Any) -> Problem:
    return build_problem(state or _broken(), PlanOptions(**options))


def _rank(state: ClusterState, topic: str) -> int:
    return state.topics.name.index(topic)


def _of(problem: Problem, column: Any, topic: str = "a") -> Any:
    """Rows of a topic as lists."""
    return column[problem.topic == _rank(problem.state, topic)].tolist()


def test_arrays_of_the_problem_hold_the_placement() -> None:
    """Replicas, bytes, leaders and racks are those of the cluster, padded to the widest partition."""
    made = _built()
    assert (made.n_brokers, made.n_topics, made.width, made.n_racks) == (5, 2, 3, 3)
    assert _of(made, made.previous) == [[0, 1, -1], [4, 2, 0], [3, 1, -1]]
    # an unknown copy counts as the leader's; if none is known, as nothing
    assert _of(made, made.held_bytes) == [[4 * GB, 4 * GB, 0], [6 * GB, 6 * GB, 6 * GB], [0, 0, 0]]
    assert _of(made, made.arriving_bytes) == [4 * GB, 6 * GB, 0]
    assert _of(made, made.size_known) == [True, True, False]
    assert _of(made, made.positions) == [2, 3, 2]
    # without a leader the first replica is used in its place
    assert _of(made, made.leader) == [0, 0, 3]
    assert _of(made, made.electable) == [[True, True, False], [False, False, True], [True, False, False]]
    assert _of(made, made.lost) == [[False] * 3, [False, True, False], [False] * 3]
    same, other, alone, dead = made.rack[0], made.rack[1], made.rack[3], made.rack[4]
    assert made.rack.tolist() == [same, other, same, alone, dead]
    assert dead == NO_RACK
    assert len({same, other, alone, dead}) == 4
    assert made.score("disk").name == "disk"
    assert made.has_score("log-dir")
    assert not made.has_score("latency")
    assert made.limit_replicas.tolist() == [UNLIMITED] * 5
    assert made.asked_bytes.tolist() == [UNLIMITED] * 5


def test_movable_partitions_and_replicas() -> None:
    """Internal topics are only repaired; a partition of unknown size moves only if it must."""
    made = _built()
    assert _of(made, made.movable) == [True, True, True]
    assert _of(made, made.movable, "__b") == [True, False]
    assert _of(made, made.movable_positions.all(1)) == [True, True, False]
    assert _of(made, made.movable_positions.any(1), "__b") == [False, False]
    assert _of(made, made.rules.movable) == [True] * 3
    assert _of(made, made.rules.movable, "__b") == [False] * 2
    assert _of(made, made.rules.ignored) == [False] * 3
    assert _of(made, made.rules.ignored, "__b") == [True] * 2
    made = _built(include_internal=True)
    assert made.movable.all()
    assert _of(made, made.movable_positions.all(1), "__b") == [True, True]
    assert not made.rules.ignored.any()
    made = _built(exclude_topics=("a",))
    assert _of(made, made.movable) == [False] * 3
    made = _built(mode=Mode.LEADERS_ONLY)
    assert _of(made, made.movable, "__b") == [False, False]


def test_which_brokers_take_and_which_leave() -> None:
    """Dead and drained brokers give up replicas and have no share; excluded ones keep what they have.

    One with an offline log dir takes what no other can, unless all have one.
    """
    made = _built(drain=frozenset({2}), exclude_brokers=frozenset({4}))
    assert made.counted.tolist() == [True, False, True, True, False]
    assert made.leaves.tolist() == made.rules.leaves.tolist() == [False, True, False, False, True]
    assert made.takes_unplaced.tolist() == made.rules.takes.tolist() == [True, False, True, False, False]
    assert made.takes.tolist() == [True, False, False, False, False]
    assert _built(drain=frozenset({1, 2, 4})).takes.tolist() == [False, False, True, False, False]
    # rack b has no broker left, rack a two, and a broker without a rack is a rack of its own
    assert made.n_racks == 2
    # what the drained broker holds has to leave, internal or not
    assert _of(made, made.movable, "__b") == [True, True]


def test_only_empty_brokers_receive_on_request() -> None:
    """With ``--only-to-new`` brokers with replicas receive none, which does not affect what is fair."""
    state = cluster(brokers(3), [TopicRow(topic="a", partitions=[partition(0, [1, 2])])])
    made = _built(state, mode=Mode.ONLY_TO_NEW)
    assert made.takes.tolist() == [False, False, True]
    assert made.rules.takes.tolist() == [True, True, True]


@pytest.mark.parametrize(("damaged", "takes"), [({3}, [False] * 3), ({1, 2, 3}, [False, False, True])])
def test_an_empty_broker_with_an_offline_log_dir(damaged: set[int], takes: list[bool]) -> None:
    """It gets nothing for balance unless all brokers have an offline log dir, empty or not."""
    rows = brokers(3, dirs=2)
    rows = [
        _with(row, log_dirs=[row.log_dirs[0], _with(row.log_dirs[1], state="offline")])
        if row.broker in damaged
        else row
        for row in rows
    ]
    state = cluster(rows, [TopicRow(topic="a", partitions=[partition(0, [1, 2])])])
    made = _built(state, mode=Mode.ONLY_TO_NEW)
    assert made.takes.tolist() == takes
    assert made.takes_unplaced.tolist() == [False, False, True]


def test_a_broker_filled_by_other_programs_receives_nothing() -> None:
    """No plan sends a copy to a volume that other programs fill beyond the limit."""
    rows = brokers(3, dir_bytes=100 * GB)
    rows[1] = _with(rows[1], log_dirs=[_with(rows[1].log_dirs[0], usable_bytes=49 * GB)])
    state = cluster(rows, [TopicRow(topic="a", partitions=[partition(0, [1, 3])])])
    assert _built(state, log_dir_limit=HALF).takes.tolist() == [True, False, True]
    assert _built(state, log_dir_limit=0.6).takes.tolist() == [True, True, True]


def test_a_broker_that_reports_no_log_dirs_has_no_fair_share_of_bytes() -> None:
    """A broker that did not report its log dirs counts for replicas and leaders, and receives none."""
    rows = brokers(3)
    rows[2] = _with(rows[2], log_dirs=[])
    made = _built(cluster(rows, [TopicRow(topic="a", partitions=[partition(0, [1, 2])])]))
    assert made.counted.tolist() == [True] * 3
    assert made.weighed.tolist() == [True, True, False]
    assert made.takes.tolist() == [True, True, False]


def test_how_much_a_broker_may_hold() -> None:
    """A broker may hold its open volumes up to the limit, minus other programs' bytes; less if requested."""
    rows = brokers(4, dirs=2, dir_bytes=100 * GB)
    one, two = rows[0].log_dirs
    # broker 1: 20 GB of another program beside 10 GB of ours, and a volume that is full already
    rows[0] = _with(rows[0], log_dirs=[_with(one, usable_bytes=70 * GB), _with(two, usable_bytes=10 * GB)])
    # broker 2: both dirs on one volume, the first of them cordoned
    dirs = [_with(d, volume="v", usable_bytes=90 * GB) for d in rows[1].log_dirs]
    rows[1] = _with(rows[1], log_dirs=[_with(dirs[0], state="cordoned"), dirs[1]])
    a = [_partition(0, [1, 2], [10, 10]), _partition(1, [4], [0])]
    state = cluster(rows, [TopicRow(topic="a", partitions=a)])
    made = _built(state, log_dir_limit=HALF)
    assert made.limit_bytes.tolist() == [30 * GB, 50 * GB, 100 * GB, 100 * GB]
    assert made.asked_bytes.tolist() == [UNLIMITED] * 4
    limits = {1: BrokerLimit(bytes=7), 4: BrokerLimit(replicas=3, bytes=200 * GB)}
    made = _built(state, log_dir_limit=HALF, broker_limits=limits)
    assert made.limit_bytes.tolist() == [7, 50 * GB, 100 * GB, 100 * GB]
    assert made.asked_bytes.tolist() == [7, UNLIMITED, UNLIMITED, 200 * GB]
    assert made.limit_replicas.tolist() == [UNLIMITED, UNLIMITED, UNLIMITED, 3]


@pytest.mark.parametrize(
    ("usable_gb", "limit_gb"),
    [
        pytest.param((30, 45), 10 + 15 + 30, id="room on both"),
        pytest.param((30, 5), 10 + 15, id="room on one: what is beyond the limit on the other may stay"),
        pytest.param((3, 5), 10 - 10, id="both beyond it: at least one has to shed 10 GB"),
    ],
)
def test_a_broker_beyond_its_limit_holds_less_before_anything_arrives(usable_gb: list[int], limit_gb: int) -> None:
    """Of two volumes of 100 GB, filled up to 85%, one holds 10 GB of replicas, the rest belongs to others."""
    row = brokers(1, dirs=2, dir_bytes=100 * GB)[0]
    dirs = [_with(d, usable_bytes=gb * GB) for d, gb in zip(row.log_dirs, usable_gb, strict=True)]
    parts = [PartitionRow(partition=0, leader=1, replicas=[1], isr=[1], sizes=[10 * GB], log_dirs=[0])]
    state = cluster([_with(row, log_dirs=dirs)], [TopicRow(topic="a", partitions=parts)])
    assert _built(state).limit_bytes.tolist() == [limit_gb * GB]


def test_volumes_of_unknown_size_have_no_limit() -> None:
    """Volumes of unknown size are unlimited unless a limit is requested."""
    rows = [_with(row, log_dirs=[LogDirRow(path="/d0")]) for row in brokers(2)]
    state = cluster(rows, [TopicRow(topic="a", partitions=[_partition(0, [1, 2], [10, 10])])])
    assert _built(state, broker_limits={2: BrokerLimit(bytes=7)}).limit_bytes.tolist() == [UNLIMITED, 7]
    state = cluster([_with(row, log_dirs=[]) for row in rows], [TopicRow(topic="a", partitions=[])])
    assert _built(state, mode=Mode.REPAIR_ONLY).limit_bytes.tolist() == [UNLIMITED, UNLIMITED]


def test_another_replication_factor() -> None:
    """For movable topics, positions are added or removed; others keep theirs, and all have the same width."""
    made = _built(replication_factor=4, include_internal=False)
    assert made.width == 4
    assert _of(made, made.positions) == [4, 4, 4]
    assert _of(made, made.positions, "__b") == [2, 2]
    assert _of(made, made.previous) == [[0, 1, -1, -1], [4, 2, 0, -1], [3, 1, -1, -1]]
    assert _of(made, made.held_bytes)[1] == [6 * GB, 6 * GB, 6 * GB, 0]
    assert made.lost.shape == made.movable_positions.shape == (5, 4)
    assert made.rules.factor.tolist() == made.positions.tolist()
    made = _built(replication_factor=1)
    assert (made.width, _of(made, made.positions)) == (3, [1, 1, 1])


def test_removed_replicas_do_not_count_toward_the_replication_factor() -> None:
    """A partition that another tool is moving has its final width, and is not touched."""
    moving = _with(partition(0, [3, 1, 2]), isr=[1, 2], adding=[3], removing=[1])
    made = _built(cluster(brokers(3), [TopicRow(topic="a", partitions=[moving, partition(1, [1, 2])])]))
    assert made.rules.factor.tolist() == [2, 2]
    assert made.movable.tolist() == [False, True]


def test_leaders_stay_where_their_changes_are_limited() -> None:
    """With a limit on leader changes followers move instead, if there are any."""
    rows = [partition(0, [1, 2]), _with(partition(1, [1, 2]), leader=2), partition(2, [1])]
    made = _built(cluster(brokers(3), [TopicRow(topic="a", partitions=rows)]), max_leader_changes=5)
    assert made.movable_positions[:, :2].tolist() == [[False, True], [True, False], [True, True]]


def test_replicas_moved_by_earlier_plans_stay() -> None:
    """Only replicas that an earlier plan placed stay, and nothing else of their partitions."""
    previous = Placement(replicas=(3, 2), leader=3, log_dirs=("any", "any"))
    change = PartitionChange(topic="a", partition=0, replicas=(1, 2), log_dirs=("any", "any"), previous=previous)
    state = cluster(brokers(3), [TopicRow(topic="a", partitions=[partition(0, [1, 2]), partition(1, [1, 2])])])
    made = _built(state, keep_moved=(Plan(partitions=(change,)),))
    assert made.movable_positions.tolist() == [[False, True], [True, True]]


def _names(problem: Problem) -> list[str]:
    return [weighted.score.name for weighted in problem.scores]


def test_scores() -> None:
    """The requested ones, or else the default ones; log dir scores only if a broker has several dirs."""
    one = cluster(brokers(2), [TopicRow(topic="a", partitions=[partition(0, [1, 2])])])
    assert _names(_built(one)) == ["disk", "replicas", "leaders", "topic-spread"]
    assert "log-dir" in _names(_built())
    assert _names(_built(one, scores=load_scores(["leaders"]))) == ["leaders"]
    assert _names(_built(one, below=0.8)) == ["disk"]
    assert _names(_built(one, below=0.8, scores=load_scores(["disk=2"]))) == ["disk"]
    with pytest.raises(UsageError, match="--below supports only the score disk, not leaders, replicas") as refused:
        _built(one, below=0.8, scores=load_scores(["leaders", "disk", "replicas"]))
    assert refused.value.hint == "leave out --score, or use --score disk"
    # without log dirs bytes cannot be balanced, but leaders can, and what is broken can be repaired
    blind = cluster(
        [_with(b, log_dirs=[]) for b in brokers(2)],
        [TopicRow(topic="a", partitions=[_with(partition(0, [1, 2]), sizes=None, log_dirs=None)])],
    )
    assert "disk" not in _names(_built(blind, mode=Mode.LEADERS_ONLY))
    assert "leaders" in _names(_built(blind, mode=Mode.REPAIR_ONLY))
    for options in ({}, {"mode": Mode.REPAIR_ONLY, "scores": load_scores(["disk"])}):
        with pytest.raises(UsageError, match="score 'disk' needs"):
            _built(blind, **options)


@pytest.mark.parametrize(
    ("options", "error", "message", "hint"),
    [
        (
            {"broker_limits": {9: BrokerLimit()}},
            UsageError,
            "--broker-limit: unknown broker: 9",
            "see 'kafkabal inspect'",
        ),
        ({"drain": frozenset({9})}, UsageError, "--drain: unknown broker: 9", "see 'kafkabal inspect'"),
        (
            {"exclude_brokers": frozenset({9})},
            UsageError,
            "--exclude-brokers: unknown broker: 9",
            "see 'kafkabal inspect'",
        ),
        (
            {"drain": frozenset({1, 2, 3, 4})},
            InfeasibleError,
            "no live broker remains to take replicas",
            "drain fewer brokers",
        ),
        (
            {"replication_factor": 4, "drain": frozenset({1})},
            UsageError,
            "--replication-factor 4 needs as many brokers: 3 are alive and not drained",
            "choose at most 3",
        ),
    ],
)
def test_impossible_problems_are_refused(options: Any, error: Any, message: str, hint: str | None) -> None:
    """Goals that no search can reach are refused before searching."""
    with pytest.raises(error) as refused:
        _built(**options)
    assert (str(refused.value), refused.value.hint) == (message, hint)


def test_a_cluster_without_topics() -> None:
    """An empty cluster needs no moves, and causes no error."""
    made = _built(cluster(brokers(2), []))
    assert made.previous.shape == (0, 1)
    assert made.leader.shape == (0,)
    assert made.capacity.dtype == np.float64


def test_a_cluster_of_dead_brokers_is_not_told_to_drain_fewer() -> None:
    """Nothing was drained: the hint says what is wrong instead."""
    dead = [BrokerRow(broker=b, state="dead") for b in (1, 2)]
    with pytest.raises(InfeasibleError) as refused:
        _built(cluster(dead, []))
    assert refused.value.hint == "all brokers are dead: see 'kafkabal inspect'"
