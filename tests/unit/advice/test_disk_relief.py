"""Ways to free a disk: bytes from the same steady states as in the forecast."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from kafkabal.advice.disk_relief import Relief, ReliefKind, relief_of
from kafkabal.history.history_point import HistoryPoint, point_of
from kafkabal.history.partition_growth import PartitionGrowth, measure_growth
from kafkabal.history.topic_retention_limits import kafka_defaults, retention_of
from kafkabal.model import ClusterState, TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster, partition

MB = 10**6
DAY_MS = 86_400_000
NOW_S = 1_700_000_000.0


def a_cluster(size: int, configs: dict[str, str]) -> ClusterState:
    """A topic of one partition with two replicas."""
    return cluster(brokers(2), [TopicRow(topic="t", partitions=[partition(0, [1, 2], size)], configs=configs)])


def written(state: ClusterState, bytes_per_s: float, over_s: float = 7 * 86400.0) -> PartitionGrowth:
    """Growth at this rate."""
    rate = np.full(len(state.partitions), bytes_per_s)
    return PartitionGrowth(
        span_s=np.array([over_s]),
        rates=rate[np.newaxis],
        mean=rate,
        is_known=np.ones(len(rate), np.bool_),
        is_idle=rate == 0,
        is_by_size=np.zeros(len(rate), np.bool_),
    )


def ways(state: ClusterState, growth: PartitionGrowth | None) -> dict[ReliefKind, Relief]:
    """Ways on broker 1, by kind."""
    found = relief_of(state, state.replicas.broker == 0, growth, retention_of(state, kafka_defaults()))
    return {way.kind: way for way in found}


def test_half_the_retention_frees_half_of_a_steady_log() -> None:
    """Half the retention frees half of a steady log, on the fullest disk and on all disks."""
    configs = {"retention.ms": str(2 * DAY_MS), "segment.bytes": str(MB)}
    state = a_cluster(1000 * MB, configs)
    way = ways(state, written(state, 1000 * MB / (2 * 86400)))[ReliefKind.RETENTION]
    assert (way.topic, way.config, way.before, way.after) == ("t", "retention.ms", 2 * DAY_MS, DAY_MS)
    assert way.freed_bytes == pytest.approx(500 * MB, rel=0.01)
    assert way.cluster_bytes == pytest.approx(1000 * MB, rel=0.01)


def test_a_young_log_frees_only_bytes_beyond_the_new_retention() -> None:
    """A log half a day old with two days of retention: a limit of one day frees nothing."""
    state = a_cluster(250 * MB, {"retention.ms": str(2 * DAY_MS), "segment.bytes": str(MB)})
    assert ReliefKind.RETENTION not in ways(state, written(state, 1000 * MB / (2 * 86400)))


def test_without_history_a_log_counts_as_steady() -> None:
    """Without history half of a log counts as freed; a topic without limits is skipped, its age being unknown."""
    state = a_cluster(1000 * MB, {"retention.ms": str(2 * DAY_MS), "segment.bytes": str(MB)})
    assert ways(state, None)[ReliefKind.RETENTION].freed_bytes == pytest.approx(500 * MB, rel=0.01)
    assert ways(a_cluster(1000 * MB, {"retention.ms": "-1"}), None) == {}


def test_tiered_topics_keep_less_locally() -> None:
    """Tiered topics get a shorter local retention, which loses no data."""
    configs = {"remote.storage.enable": "true", "retention.ms": "-1", "local.retention.ms": str(2 * DAY_MS)}
    state = a_cluster(1000 * MB, {**configs, "segment.bytes": str(MB)})
    way = ways(state, written(state, 1000 * MB / (2 * 86400)))[ReliefKind.LOCAL_RETENTION]
    assert (way.config, way.after) == ("local.retention.ms", DAY_MS)


def test_idle_topics_free_all_of_it_only_if_watched_for_a_day() -> None:
    """A topic without writes for a week can be freed entirely; an hour without writes proves nothing."""
    state = a_cluster(1000 * MB, {"retention.ms": "-1"})
    assert ways(state, written(state, 0.0))[ReliefKind.IDLE].freed_bytes == 1000 * MB
    assert ReliefKind.IDLE not in ways(state, written(state, 0.0, over_s=3600.0))


def test_oversized_segments_hold_back_half_of_what_they_are_too_large() -> None:
    """2 GiB segments of a 4 GiB log keep 1 GiB longer than needed."""
    gib = 2**30
    configs = {"retention.ms": str(DAY_MS), "retention.bytes": str(3 * gib), "segment.bytes": str(2 * gib)}
    state = a_cluster(4 * gib, configs)
    way = ways(state, written(state, 4 * gib / 86400))[ReliefKind.SEGMENTS]
    assert way.freed_bytes == pytest.approx(gib * (1 - 1 / 16), rel=0.02)
    assert (way.config, way.after) == ("segment.bytes", 128 * 2**20)


def test_compacted_and_internal_topics_are_left_alone() -> None:
    """Compacted data is needed, and the internal offsets of consumer groups must not expire early."""
    state = a_cluster(1000 * MB, {"cleanup.policy": "compact", "retention.ms": "1000"})
    assert ways(state, written(state, 1.0)) == {}


def test_rates_come_from_history_where_it_exists() -> None:
    """The measured rate is used instead of the assumption, unless offsets and thus the rate are unknown."""
    state = a_cluster(1000 * MB, {"retention.ms": str(2 * DAY_MS), "segment.bytes": str(MB)})
    point: HistoryPoint = point_of(state, NOW_S - 86400)
    growth = measure_growth([point], state, NOW_S, np.array([False]))
    assert growth.is_known.tolist() == [False]
    assert ways(state, growth) == {}

    p = state.partitions
    state = state.replace(partitions=replace(p, start_offset=p.start_offset * 0, end_offset=np.array([7])))
    growth = measure_growth([point_of(state, NOW_S - 86400)], state, NOW_S, np.array([False]))
    found = ways(state, growth)
    assert found[ReliefKind.RETENTION].freed_bytes == found[ReliefKind.IDLE].freed_bytes == 1000 * MB


@pytest.mark.parametrize(
    ("policy", "end_offsets"),
    [("compact", [100, 200, 300]), ("delete", [900, 300, 300]), ("delete", [-1, 300, 300]), ("delete", [-1, -1, -1])],
)
def test_a_topic_that_may_have_been_written_to_is_not_idle(policy: str, end_offsets: list[int]) -> None:
    """No topic is called idle that is compacted, that was re-created, or whose offsets are unknown."""
    state = a_cluster(1000 * MB, {"cleanup.policy": policy, "retention.ms": "-1"})

    def at(days_ago: int, end: int) -> HistoryPoint:
        return replace(point_of(state, NOW_S - days_ago * 86400), end_offset=np.array([end]))

    *past, now = end_offsets
    p = state.partitions
    state = state.replace(partitions=replace(p, start_offset=p.start_offset * 0, end_offset=np.array([now])))
    retention = retention_of(state, kafka_defaults())
    growth = measure_growth([at(2, past[0]), at(1, past[1])], state, NOW_S, retention.is_compacted)

    assert growth.mean[0] == 0
    assert ReliefKind.IDLE not in ways(state, growth)
    idle = measure_growth([at(2, now), at(1, now)], state, NOW_S, retention.is_compacted)
    assert (ReliefKind.IDLE in ways(state, idle)) == (now >= 0 and policy == "delete")
