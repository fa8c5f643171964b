"""Which brokers and log dirs accept replicas, how much room they have, and what may stay on a closed one."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.eligibility import (
    UNLIMITED,
    can_choose_log_dir,
    did_not_report,
    dir_room_bytes,
    first_open_dirs,
    lasting_factor,
    named_brokers,
    room_for_replicas,
    takes_replicas,
    volume_room_bytes,
    with_choosable_log_dir,
)
from kafkabal.testing.cluster_builders import GB, brokers, cluster, partition, topic


@pytest.mark.parametrize(
    ("length", "number", "can"), [(213, 0, True), (213, 9, True), (213, 10, False), (214, 0, False), (1, 10**6, True)]
)
def test_no_log_dir_is_chosen_for_the_longest_names(length: int, number: int, can: bool) -> None:
    """A name too long for the folder of a copy between log dirs, alone and in the columns of a cluster."""
    name = "x" * length
    assert can_choose_log_dir(name, number) is can
    rows = [TopicRow(topic=name, partitions=[partition(number, [1], 0)])]
    assert np.array_equal(with_choosable_log_dir(cluster(brokers(1), rows)), [can])


@pytest.mark.parametrize(("placed_in", "total_gb", "stays_gb"), [(0, 1000, 3), (-1, 1000, 3), (-1, 2, 1)])
def test_replicas_of_a_cordoned_broker_may_stay(placed_in: int, total_gb: int, stays_gb: int) -> None:
    """A replica of unknown size counts like the other copy, in whichever dir it is; no dir exceeds its limit."""
    first, second = brokers(2, dir_bytes=total_gb * GB)
    second = msgspec.structs.replace(
        second, log_dirs=[msgspec.structs.replace(d, state="cordoned") for d in second.log_dirs]
    )
    unknown = msgspec.structs.replace(partition(0, [1, 2], 2 * GB), sizes=[2 * GB, -1], log_dirs=[0, placed_in])
    rows = [TopicRow(topic="t", partitions=[unknown, partition(1, [1, 2], GB)])]

    assert room_for_replicas(cluster([first, second], rows), 0.5)[1] == stays_gb * GB


def _broker(number: int, *dirs: LogDirRow, is_dead: bool = False) -> BrokerRow:
    return BrokerRow(broker=number, log_dirs=list(dirs), state="dead" if is_dead else "online")


def _dir(name: str, state: str = "online", *, total_gb: int | None = 100, usable_gb: int | None = 60) -> LogDirRow:
    """A log dir on a volume of its own."""
    total, usable = (None if gb is None else gb * GB for gb in (total_gb, usable_gb))
    return msgspec.convert(
        {"path": f"/{name}", "total_bytes": total, "usable_bytes": usable, "state": state, "volume": name}, LogDirRow
    )


@pytest.fixture
def mixed() -> ClusterState:
    """Broker 1 as usual; 2 with one open dir of three; 3 cordoned; 4 with a failed disk; 5 unreported; 6 dead."""
    rows = [
        _broker(1, _dir("a")),
        _broker(2, _dir("a", "cordoned"), _dir("b", "offline", total_gb=None, usable_gb=None), _dir("c")),
        _broker(3, _dir("a", "cordoned"), _dir("b", "cordoned")),
        _broker(4, _dir("a", "offline", total_gb=None, usable_gb=None)),
        _broker(5),
        _broker(6, is_dead=True),
    ]
    return cluster(rows, [topic("t", [1, 2])])


@pytest.mark.parametrize(("excluded", "open_brokers"), [((), [1, 2]), ((1, 6), [2]), ((1, 2), [])])
def test_brokers_that_take_replicas(mixed: ClusterState, excluded: tuple[int, ...], open_brokers: list[int]) -> None:
    """Live ones that are not excluded and have reported a log dir that is online and not cordoned."""
    rows = named_brokers(mixed, excluded, "--exclude-brokers")
    assert mixed.brokers.id[rows].tolist() == list(excluded)
    assert mixed.brokers.id[takes_replicas(mixed, rows)].tolist() == open_brokers
    assert mixed.brokers.id[did_not_report(mixed)].tolist() == [5]


def test_brokers_of_a_cluster_that_reports_no_log_dirs() -> None:
    """All live ones accept replicas: the cluster's version cannot report dirs, which says nothing about a single
    broker."""
    unplaced = msgspec.structs.replace(partition(0, [1, 2]), log_dirs=None)
    rows = [_broker(1), _broker(2), _broker(3, is_dead=True)]
    state = cluster(rows, [TopicRow(topic="t", partitions=[unplaced])])
    assert not did_not_report(state).any()
    assert takes_replicas(state, np.zeros(3, np.bool_)).tolist() == [True, True, False]


def test_an_unknown_broker_is_refused(mixed: ClusterState) -> None:
    """It is named with the option that names it."""
    with pytest.raises(UsageError, match="--drain: unknown broker: 7"):
        named_brokers(mixed, [1, 7], "--drain")


@pytest.mark.parametrize(("limit", "free_gb"), [(0.5, 10), (0.85, 45), (1.0, 55), (0.3, 0)])
def test_room_of_a_volume(limit: float, free_gb: int) -> None:
    """Up to the limit, with 5% of the volume always free, minus what is in use; never below zero."""
    state = cluster([_broker(1, _dir("a"))], [topic("t", [1])])
    assert volume_room_bytes(state, limit).tolist() == [free_gb * GB]
    assert dir_room_bytes(state, limit).tolist() == [free_gb * GB]


@pytest.mark.parametrize(("total_gb", "room", "for_replicas"), [(20, 0, 0.0), (0, UNLIMITED, np.inf)])
def test_a_full_volume_has_no_room_and_one_that_reports_no_byte_is_unknown(
    total_gb: int, room: int, for_replicas: float
) -> None:
    """A total of 0 is that of a file system that does not report its size, not that of a full disk."""
    state = cluster([_broker(1, _dir("a", total_gb=total_gb, usable_gb=0))], [topic("t", [1])])
    assert volume_room_bytes(state, 0.85).tolist() == [room]
    assert room_for_replicas(state, 0.85).tolist() == [for_replicas]


def test_room_of_dirs_that_accept_no_replicas(mixed: ClusterState) -> None:
    """None in cordoned and offline dirs, whatever their volumes have; unlimited if a size is unknown."""
    free = [45 * GB, 45 * GB, UNLIMITED, 45 * GB, 45 * GB, 45 * GB, UNLIMITED]
    assert volume_room_bytes(mixed, 0.85).tolist() == free
    assert dir_room_bytes(mixed, 0.85).tolist() == [45 * GB, 0, 0, 45 * GB, 0, 0, 0]


def test_a_volume_of_several_dirs_has_its_room_once() -> None:
    """It is that of the volume's first open dir, even if an earlier one is cordoned."""
    shared = [
        msgspec.structs.replace(_dir(name, state), volume="v")
        for name, state in (("a", "cordoned"), ("b", "online"), ("c", "online"))
    ]
    state = cluster([_broker(1, *shared, _dir("d", "cordoned")), _broker(2, _dir("e"))], [topic("t", [2])])
    assert first_open_dirs(state).tolist() == [1, 4]


def test_room_for_replicas_excludes_bytes_of_other_programs() -> None:
    """Below the limit, minus what other programs use, once per volume; a log dir above it has no room."""
    ours = [partition(0, [1, 2], 10 * GB), msgspec.structs.replace(partition(1, [2], 50 * GB))]
    rows = [
        _broker(1, _dir("a"), _dir("b", total_gb=200, usable_gb=200)),
        _broker(2, _dir("a", usable_gb=0)),
        _broker(3, _dir("a", total_gb=None, usable_gb=None)),
        _broker(4),
    ]
    state = cluster(rows, [TopicRow(topic="t", partitions=ours)])
    # broker 1: 40 GB in use, 10 GB of them its replica; broker 2: 100 GB, 60 GB of them replicas
    assert room_for_replicas(state, 0.5).tolist() == [20 * GB + 100 * GB, 10 * GB, np.inf, np.inf]
    assert room_for_replicas(state, 1.0).tolist() == [65 * GB + 190 * GB, 55 * GB, np.inf, np.inf]
    assert room_for_replicas(state, 0.1).tolist() == [20 * GB, 0.0, np.inf, np.inf]


def test_replicas_in_one_cordoned_dir_of_several_may_stay() -> None:
    """On top of the open dir's room; a replica in an unknown dir may be in the open one."""
    strayed = msgspec.structs.replace(partition(1, [1], 5 * GB), log_dirs=[-1])
    rows = [
        _broker(1, _dir("a", "cordoned", usable_gb=96), _dir("b", usable_gb=100)),
        _broker(2, _dir("a")),
        _broker(3),
    ]
    state = cluster(rows, [TopicRow(topic="t", partitions=[partition(0, [1], 4 * GB), strayed])])
    assert room_for_replicas(state, 0.5).tolist() == [50 * GB + 4 * GB, 10 * GB, np.inf]


def test_replicas_that_are_leaving_do_not_count() -> None:
    """A partition's lasting factor excludes replicas that its reassignment removes."""
    moving = msgspec.structs.replace(partition(1, [1, 2, 3]), adding=[3], removing=[1])
    state = cluster(brokers(3), [TopicRow(topic="t", partitions=[partition(0, [1, 2]), moving, partition(2, [3])])])
    assert lasting_factor(state).tolist() == [2, 2, 1]
    assert lasting_factor(state).dtype == np.int32
