"""Since when brokers are dead, also if hosts' clocks differ or are set."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kafkabal.clusters.cluster_protocol import Capability
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.executor.state.dead_since import (
    Sightings,
    known_to_cluster,
    read_sightings,
    record_brokers,
    record_on_cluster,
)

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
BROKERS = (1, 2, 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a host stores its sightings."""
    return tmp_path / "new" / "dead.json"


def test_the_first_sighting_counts_until_it_is_back(path: Path) -> None:
    """Seen dead again it is dead since the first time; seen alive in between, since the last."""
    assert read_sightings(path) is None
    record_brokers(path, BROKERS, [3], NOW)
    assert record_brokers(path, BROKERS, [3, 2], NOW + HOUR).dead_since == {3: NOW, 2: NOW + HOUR}
    assert record_brokers(path, [1, 2], [2], NOW + 2 * HOUR).dead_since == {2: NOW + HOUR}
    found = record_brokers(path, BROKERS, [3], NOW + 3 * HOUR)
    assert found == read_sightings(path)
    assert (found.dead_since, found.seen, found.checked_at) == ({3: NOW + 3 * HOUR}, BROKERS, NOW + 3 * HOUR)


def test_a_clock_that_was_ahead_puts_off_no_repair(path: Path) -> None:
    """A sighting dated next year counts from the first look after the clock was corrected, and not from later ones."""
    record_brokers(path, BROKERS, [3], NOW + timedelta(days=365))
    assert record_brokers(path, BROKERS, [3], NOW).dead_since == {3: NOW}
    assert record_brokers(path, BROKERS, [3], NOW + HOUR).dead_since == {3: NOW}


def test_a_file_that_cannot_be_kept_or_read_is_none(tmp_path: Path) -> None:
    """If it cannot be written it is only known for now, and a damaged file counts as empty."""
    in_the_way = tmp_path / "file"
    in_the_way.write_text("{")
    assert read_sightings(in_the_way) is None
    assert record_brokers(in_the_way / "dead.json", BROKERS, [3], NOW).dead_since == {3: NOW}


def _host(dead: dict[int, datetime], checked_at: datetime = NOW) -> Sightings:
    return Sightings(checked_at=checked_at, dead_since=dead, seen=(1,))


@pytest.mark.parametrize(
    ("theirs", "before", "expected"),
    [
        # another host saw it earlier
        ({3: NOW - HOUR}, None, NOW - HOUR),
        ({3: NOW - HOUR}, _host({3: NOW - MINUTE}, NOW - MINUTE), NOW - HOUR),
        # this host saw it alive since
        ({3: NOW - HOUR}, _host({}, NOW - MINUTE), NOW),
        ({3: NOW - MINUTE}, _host({}, NOW - HOUR), NOW - MINUTE),
        # a host whose clock is ahead
        ({3: NOW + HOUR}, None, NOW),
        ({3: NOW + HOUR}, _host({}, NOW - MINUTE), NOW),
        ({2: NOW - HOUR}, None, NOW),
    ],
)
def test_times_recorded_by_other_hosts(
    scene: Any, theirs: dict[int, datetime], before: Sightings | None, expected: datetime
) -> None:
    """The earlier of two times counts, unless this host has seen the broker alive after it."""
    record_on_cluster(scene.memory, Sightings(checked_at=NOW, dead_since=theirs, seen=(2, 3)), NOW)
    found = known_to_cluster(scene.memory, _host({3: NOW}), before)
    assert (found.dead_since, found.seen) == ({3: expected}, (1, 2, 3))


def test_a_host_whose_clock_is_behind(scene: Any, path: Path) -> None:
    """Its sighting is older than when this host last saw the broker alive, and never shortens the grace."""
    record_brokers(path, BROKERS, [], NOW - MINUTE)
    record_on_cluster(
        scene.memory, Sightings(checked_at=NOW - HOUR, dead_since={3: NOW - HOUR}, seen=BROKERS), NOW - HOUR
    )
    for minutes in range(3):
        before, now = read_sightings(path), NOW + minutes * MINUTE
        found = known_to_cluster(scene.memory, record_brokers(path, BROKERS, [3], now), before)
        assert found.dead_since == {3: NOW}


def test_a_host_that_sees_a_dead_broker_for_the_first_time(scene: Any, path: Path) -> None:
    """It never saw the broker alive, and believes the host that recorded its death an hour ago, at every look."""
    record_on_cluster(scene.memory, Sightings(checked_at=NOW, dead_since={3: NOW - HOUR}, seen=BROKERS), NOW)
    for minutes in range(3):
        before, now = read_sightings(path), NOW + minutes * MINUTE
        found = known_to_cluster(scene.memory, record_brokers(path, BROKERS, [3], now), before)
        assert found.dead_since == {3: NOW - HOUR}


def test_a_host_that_was_suspended_since_it_observed_the_cluster(scene: Any) -> None:
    """It records nothing: the broker may have returned and died again, with a new grace."""
    record_on_cluster(scene.memory, _host({3: NOW - HOUR}, NOW - MINUTE), NOW)
    assert known_to_cluster(scene.memory, _host({3: NOW}), None).dead_since == {3: NOW}


def test_a_cluster_that_keeps_no_records(scene: Any) -> None:
    """Then each host knows what it has seen itself, and a damaged record counts as none."""
    bare = InMemoryCluster(scene.memory.kafka, without=[Capability.RECORDS])
    record_on_cluster(bare, _host({3: NOW - HOUR}), NOW)
    assert known_to_cluster(bare, _host({3: NOW}), None) == _host({3: NOW})
    scene.memory.records().put("dead-brokers", b"{")
    assert known_to_cluster(scene.memory, _host({3: NOW}), None) == _host({3: NOW})
    record_on_cluster(scene.memory, _host({3: NOW - HOUR}), NOW)
    assert known_to_cluster(scene.memory, _host({3: NOW}), None).dead_since == {3: NOW - HOUR}
