"""Record ages determine what half the retention deletes immediately, and when it first deletes anything else."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from kafkabal.advice.disk_relief import Relief, ReliefKind, relief_of
from kafkabal.advice.full_disk_advice import advise_relief
from kafkabal.advice.record_ages import RecordAges, read_record_ages
from kafkabal.clusters import FirstRecord
from kafkabal.history.topic_retention_limits import kafka_defaults, retention_of
from kafkabal.model import ClusterState, PartitionRow, TopicPartition, TopicRow
from kafkabal.testing.cluster_builders import brokers, cluster
from kafkabal.units import DAY_S

MB = 10**6
DAY_MS = 86_400_000
NOW_S = 1_700_000_000.0
SEGMENTS_OF_A_MB = {"retention.ms": str(2 * DAY_MS), "segment.bytes": str(MB)}


def written(configs: Mapping[str, str]) -> ClusterState:
    """A topic of 1,000 records and 100 MB on two brokers."""
    row = PartitionRow(
        partition=0,
        leader=1,
        replicas=[1, 2],
        isr=[1, 2],
        sizes=[100 * MB] * 2,
        log_dirs=[0, 0],
        start_offset=0,
        end_offset=1000,
    )
    return cluster(brokers(2), [TopicRow(topic="t", partitions=[row], configs=dict(configs))])


def ages_of(state: ClusterState, first: FirstRecord) -> RecordAges:
    """Ages as the leader would report them."""

    def ask(since_s: Mapping[int, Mapping[TopicPartition, float]]) -> Mapping[TopicPartition, FirstRecord]:
        ((leader, times),) = since_s.items()
        assert leader == 1
        return dict.fromkeys(times, first)

    return read_record_ages(ask, state, retention_of(state, kafka_defaults()), NOW_S)


def freed(state: ClusterState, first: FirstRecord) -> Relief | None:
    """What half the retention frees on broker 1."""
    retention = retention_of(state, kafka_defaults())
    found = relief_of(state, state.replicas.broker == 0, None, retention, ages=ages_of(state, first))
    return next((way for way in found if way.kind is ReliefKind.RETENTION), None)


def test_records_older_than_half_the_retention_go_in_whole_segments() -> None:
    """274 of 1,000 records are too old: 27 segments of a megabyte, on each replica, at the next check."""
    way = freed(written(SEGMENTS_OF_A_MB), FirstRecord(274, NOW_S - DAY_S))

    assert way is not None
    assert (way.freed_bytes, way.cluster_bytes, way.freed_after_s) == (27 * MB, 54 * MB, 360.0)


@pytest.mark.parametrize("configs", [SEGMENTS_OF_A_MB, {**SEGMENTS_OF_A_MB, "retention.ms": "-1"}])
def test_a_log_that_is_minutes_old_frees_nothing(configs: Mapping[str, str]) -> None:
    """Data that is minutes old is not deleted, even if it is large for its retention."""
    assert freed(written(configs), FirstRecord(0, NOW_S - 600)) is None


def test_the_active_segment_is_kept() -> None:
    """Most records are too old, but all are in the active segment, which stays."""
    assert freed(written({"retention.ms": str(2 * DAY_MS)}), FirstRecord(900, NOW_S - DAY_S)) is None


def test_records_that_are_all_too_old_are_all_deleted() -> None:
    """Kafka closes the last segment once its newest record is too old."""
    way = freed(written({"retention.ms": str(2 * DAY_MS)}), FirstRecord(-1, -1.0))

    assert way is not None
    assert way.freed_bytes == 100 * MB


def test_reports_when_the_first_bytes_would_be_deleted() -> None:
    """Ten minutes of data with two days of retention: half of it deletes nothing for a day minus ten minutes."""
    state = written(SEGMENTS_OF_A_MB)
    retention = retention_of(state, kafka_defaults())

    advice = advise_relief(state, None, retention, 1, 0.5, 0.1, ages_of(state, FirstRecord(0, NOW_S - 600)))

    assert (advice.young_topics, advice.first_expires_s) == (1, DAY_S - 600)
    assert np.isnan(ages_of(state, FirstRecord(1, NOW_S - 600)).first_expires_s).all()
