"""How much brokers hold."""

import numpy as np
import pytest

from kafkabal.errors import ConfigError
from kafkabal.model.bytes_of_other_programs import foreign_of_brokers, foreign_on_volumes
from kafkabal.model.capacity import (
    broker_capacity_bytes,
    dir_capacity_bytes,
    has_no_working_dir,
    reports_no_log_dir,
    with_capacity,
)
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.testing import cluster_builders

GIB = 2**30
UNKNOWN = float("nan")


def log_dir(
    number: int, total: int | None = None, usable: int | None = None, state: str = "online", volume: str | None = None
) -> LogDirRow:
    """A log dir of which nothing is known unless it is said."""
    return LogDirRow(path=f"/d{number}", total_bytes=total, usable_bytes=usable, state=state, volume=volume)  # type: ignore[arg-type]


def cluster(*brokers: list[LogDirRow]) -> ClusterState:
    """Brokers 1, 2, ... with these dirs, and one log of 10 bytes in the first dir of broker 1."""
    rows = [BrokerRow(broker=i, log_dirs=dirs) for i, dirs in enumerate(brokers, 1)]
    return cluster_builders.cluster(rows, [cluster_builders.topic("t", [1], size_bytes=10)] if brokers[0] else [])


@pytest.mark.parametrize(
    ("dirs", "capacity"),
    [
        ([log_dir(0, 100, 1)], 100),
        ([log_dir(0, 100, 1), log_dir(1, 200, 1)], 300),
        ([log_dir(0, 100, 1, volume="a"), log_dir(1, 100, 1, volume="a")], 100),
        ([log_dir(0, 100, 1), log_dir(1, state="offline")], 100),
        ([log_dir(0, 100, 1, "offline", "a"), log_dir(1, 100, 1, volume="a")], 100),
        ([log_dir(0, 100, 1, state="cordoned")], 100),
        ([log_dir(0, 100, 1), log_dir(1)], UNKNOWN),
        ([log_dir(0)], UNKNOWN),
        ([log_dir(0, 0, 0)], UNKNOWN),
        ([log_dir(0, state="offline")], UNKNOWN),
        ([], UNKNOWN),
    ],
    ids=[
        "one dir",
        "two volumes",
        "one volume counts once",
        "an offline dir holds nothing",
        "an offline dir does not speak for its volume",
        "a cordoned dir holds what it has",
        "one dir not known",
        "nothing known",
        "a volume of no bytes",
        "all dirs offline",
        "no dirs",
    ],
)
def test_the_capacity_of_a_broker_is_that_of_its_volumes(dirs: list[LogDirRow], capacity: float) -> None:
    """Each working volume counts once; a volume of unknown size makes the total unknown."""
    np.testing.assert_equal(broker_capacity_bytes(cluster(dirs)).tolist(), [capacity])


def test_a_broker_whose_log_dirs_are_all_offline_has_reported_them() -> None:
    """None of them works, as on a broker without a response; a cordoned dir works."""
    state = cluster([log_dir(0)], [], [log_dir(0, state="offline")], [log_dir(0, state="cordoned")])
    assert reports_no_log_dir(state).tolist() == [False, True, False, False]
    assert has_no_working_dir(state).tolist() == [False, True, True, False]


@pytest.mark.parametrize(
    ("stated", "capacity"),
    [
        ({}, [UNKNOWN, UNKNOWN, 500]),
        ({"default": 100}, [100, 100, 500]),
        ({"default": 100, 2: 60}, [100, 60, 500]),
        ({"default": {"/d0": 7}, 2: {"/d1": 5, "/d0": 1}}, [7, 6, 7]),
        ({3: {"/d0": 90}}, [UNKNOWN, UNKNOWN, 90]),
        ({9: 100, 1: 30}, [30, UNKNOWN, 500]),
    ],
    ids=["nothing", "default", "broker before default", "by dir", "a dir overrides what is reported", "absent broker"],
)
def test_a_configuration_fills_in_capacity(stated: dict, capacity: list[float]) -> None:
    """A number fills in only unreported capacity; bytes of a dir override what is reported."""
    state = with_capacity(cluster([log_dir(0)], [log_dir(0), log_dir(1)], [log_dir(0, 500, 100)]), stated)
    np.testing.assert_equal(broker_capacity_bytes(state).tolist(), capacity)


def test_a_stated_dir_is_a_separate_volume_with_room_for_more() -> None:
    """Dirs that looked like one volume are two once each has its own bytes; logs are subtracted from usable bytes."""
    alike = [log_dir(i, 100 * GIB, 50 * GIB) for i in range(2)]
    before = cluster(alike)
    after = with_capacity(before, {1: {"/d0": 100, "/d1": 200}})
    assert before.log_dirs.volume.tolist() == [0, 0]
    assert after.log_dirs.volume.tolist() == [0, 1]
    assert after.log_dirs.usable_bytes.tolist() == [90, 200]
    assert broker_capacity_bytes(after).tolist() == [300]
    assert dir_capacity_bytes(after).tolist() == [100, 200]
    assert not after.log_dirs.total_bytes.flags.writeable


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({1: {"/d0": 1, "/d9": 1}}, "capacity: broker 1 has no log dir /d9"),
        ({"default": {"/d9": 1}}, "capacity: unknown log dir: /d9"),
    ],
)
def test_capacity_of_an_unknown_dir_is_refused(stated: dict, message: str) -> None:
    """A misspelt path is named instead of being ignored."""
    with pytest.raises(ConfigError, match=message):
        with_capacity(cluster([log_dir(0)]), stated)


def test_dirs_stated_for_a_broker_that_is_down_are_no_fault() -> None:
    """A broker that did not respond has no dirs at the moment, and its configuration is still valid."""
    state = with_capacity(cluster([log_dir(0, 5, 5)], []), {2: {"/d0": 7}})
    np.testing.assert_equal(broker_capacity_bytes(state).tolist(), [5, UNKNOWN])


@pytest.mark.parametrize(
    ("dirs", "of_broker", "on_volumes"),
    [
        ([log_dir(0, 100, 40, volume="a"), log_dir(1, 100, 40, volume="a")], 50, [50, 50]),
        ([log_dir(0, 100, 40, "offline", "a"), log_dir(1, 100, 40, volume="a")], 50, [UNKNOWN, 50]),
        ([log_dir(0, 100, 40), log_dir(1, 200, 30)], 220, [50, 170]),
        ([log_dir(0)], UNKNOWN, [UNKNOWN]),
    ],
    ids=["one volume", "its first dir offline", "two volumes", "unknown"],
)
def test_bytes_of_other_programs_count_once_a_volume(
    dirs: list[LogDirRow], of_broker: float, on_volumes: list[float]
) -> None:
    """A broker counts a volume once, by a dir that reports it; each dir alone has the bytes of its volume."""
    np.testing.assert_array_equal(foreign_of_brokers(cluster(dirs)), [of_broker])
    np.testing.assert_array_equal(foreign_on_volumes(cluster(dirs)), on_volumes)
