"""Which log dirs share a volume."""

import pytest

from kafkabal.errors import ConfigError
from kafkabal.model.cluster_rows import BrokerRow, LogDirRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.volumes import with_volumes
from kafkabal.testing import cluster_builders

GIB = 2**30


def cluster(*dirs: LogDirRow, logs: tuple[int, ...] = ()) -> ClusterState:
    """Broker 1 with these dirs, in each of which lies a log of so many bytes."""
    partitions = [
        PartitionRow(partition=i, leader=1, replicas=[1], sizes=[size], log_dirs=[i]) for i, size in enumerate(logs)
    ]
    return cluster_builders.cluster(
        [BrokerRow(broker=1, log_dirs=list(dirs))], [TopicRow(topic="t", partitions=partitions)]
    )


def dir_row(
    number: int, total: int | None = 100 * GIB, usable: int | None = 50 * GIB, volume: str | None = None
) -> LogDirRow:
    """A log dir; equal figures unless given otherwise."""
    return LogDirRow(path=f"/d{number}", total_bytes=total, usable_bytes=usable, volume=volume)


@pytest.mark.parametrize(
    ("dirs", "logs", "volumes"),
    [
        ([dir_row(0), dir_row(1)], (), [0, 0]),
        ([dir_row(0), dir_row(1, usable=50 * GIB - 2**20)], (), [0, 0]),
        ([dir_row(0), dir_row(1, usable=49 * GIB)], (), [0, 1]),
        ([dir_row(0), dir_row(1, total=99 * GIB, usable=49 * GIB)], (), [0, 1]),
        ([dir_row(0, usable=99 * GIB), dir_row(1, usable=99 * GIB)], (), [0, 1]),
        ([dir_row(0, usable=99 * GIB - 1), dir_row(1, usable=99 * GIB - 1)], (), [0, 0]),
        ([dir_row(0), dir_row(1)], (25 * GIB, 25 * GIB), [0, 0]),
        ([dir_row(0), dir_row(1)], (25 * GIB, 25 * GIB + 1), [0, 1]),
        ([dir_row(0), dir_row(1), dir_row(2)], (20 * GIB, 20 * GIB, 20 * GIB), [0, 0, 1]),
        ([dir_row(0), dir_row(1, total=99 * GIB), dir_row(2)], (), [0, 1, 0]),
        ([dir_row(0, None, None), dir_row(1, None, None)], (), [0, 1]),
        ([dir_row(0, usable=None), dir_row(1, usable=None)], (), [0, 1]),
        ([dir_row(0, volume="a"), dir_row(1, volume="b")], (), [0, 1]),
        ([dir_row(0, 1, 1, "a"), dir_row(1, 2, 2, "b"), dir_row(2, 3, 3, "a")], (), [0, 1, 0]),
        ([dir_row(0, volume="a"), dir_row(1)], (), [0, 1]),
    ],
    ids=[
        "equal figures",
        "written to between two looks",
        "other usable bytes",
        "other total bytes",
        "no more than 1 GiB used",
        "just above 1 GiB used",
        "use covers the logs of both",
        "use does not cover the logs of both",
        "use covers the logs of two of three",
        "alike dirs need not be neighbours",
        "nothing known",
        "usable bytes not known",
        "names say otherwise",
        "names say the same of other figures",
        "a named dir is not like a nameless one",
    ],
)
def test_dirs_are_put_on_volumes(dirs: list[LogDirRow], logs: tuple[int, ...], volumes: list[int]) -> None:
    """Equal figures whose used bytes cover the logs mean one volume; names take precedence."""
    assert cluster(*dirs, logs=logs).log_dirs.volume.tolist() == volumes


def test_alike_dirs_of_two_brokers_are_two_volumes() -> None:
    """Only dirs of one broker can share a volume."""
    state = cluster_builders.cluster([BrokerRow(broker=b, log_dirs=[dir_row(0), dir_row(1)]) for b in (1, 2)], [])
    assert state.log_dirs.volume.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("stated", "volumes"),
    [
        ({}, [0, 0, 1]),
        ({1: {"/d0": "x", "/d1": "y"}}, [0, 1, 2]),
        ({"default": {"/d0": "x", "/d2": "x"}}, [0, 1, 0]),
        ({1: {"/d1": "x"}, "default": {"/d0": "x", "/d1": "x"}}, [0, 1, 2]),
        ({7: {"/gone": "x"}}, [0, 0, 1]),
    ],
    ids=["nothing", "apart", "by default", "a broker before the default", "a broker that is not there"],
)
def test_a_configuration_decides_which_dirs_share_a_volume(stated: dict, volumes: list[int]) -> None:
    """Named dirs are joined by their names; the others stay on their detected volumes."""
    state = cluster(dir_row(0), dir_row(1), dir_row(2, total=1, usable=1))
    assert with_volumes(state, stated).log_dirs.volume.tolist() == volumes


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ({1: {"/d9": "x"}}, "volumes: broker 1 has no log dir /d9"),
        ({"default": {"/d9": "x"}}, "volumes: unknown log dir: /d9"),
    ],
)
def test_a_volume_of_an_unknown_dir_is_refused(stated: dict, message: str) -> None:
    """A misspelt path is named instead of being ignored."""
    with pytest.raises(ConfigError, match=message):
        with_volumes(cluster(dir_row(0)), stated)
