"""Rates from two samples: tables of offsets and rates, and properties against a plain recount."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.errors import UsageError
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, PartitionRow, TopicRow
from kafkabal.model.cluster_state import ClusterState, CommittedOffsets
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.telemetry.partition_rates import bytes_per_record, with_rates

Log = tuple[int | None, int | None, int | None]
"""start offset, end offset, bytes"""
KnownLog = tuple[int, int, int | None]


def sample(
    logs: Mapping[tuple[str, int], Log],
    commits: dict[tuple[str, str, int], int] | None = None,
    cluster_id: str = "c",
) -> ClusterState:
    """A cluster of one broker with these partitions and committed offsets (group, topic, partition)."""
    topics: dict[str, list[PartitionRow]] = {}
    for (topic, number), (start, end, size) in logs.items():
        row = PartitionRow(partition=number, leader=1, replicas=[1], sizes=[size], start_offset=start, end_offset=end)
        topics.setdefault(topic, []).append(row)
    commits = commits or {}
    groups = sorted({group for group, _, _ in commits})
    rows = [(topic, row.partition) for topic, parts in topics.items() for row in parts]
    return build_cluster(
        HeaderRow(kafkabal_snapshot=1, cluster_id=cluster_id, taken_at="2026-01-01T00:00:00Z"),
        [BrokerRow(broker=1)],
        [TopicRow(topic=topic, partitions=parts) for topic, parts in topics.items()],
        committed=CommittedOffsets(
            groups=tuple(groups),
            group=np.array([groups.index(g) for g, _, _ in commits], np.int32),
            partition=np.array([rows.index((t, p)) for _, t, p in commits], np.int32),
            offset=np.array(list(commits.values()), np.int64),
        ),
    )


@pytest.mark.parametrize(
    ("before", "after", "rate"),
    [
        pytest.param((0, 100, 1000), (0, 200, 2000), 100.0, id="steady growth"),
        pytest.param((0, 100, 1000), (150, 200, 500), 100.0, id="retention shrank the log while it was written to"),
        pytest.param((0, 100, 1000), (0, 100, 1000), 0.0, id="nothing written"),
        pytest.param((0, 0, 0), (0, 0, 0), 0.0, id="empty and idle"),
        pytest.param((0, 0, 0), (0, 50, 500), 50.0, id="first records of an empty log"),
        pytest.param((0, 100, 1000), (0, 90, 900), math.nan, id="truncated: the end went back"),
        pytest.param((50, 100, 500), (0, 300, 3000), math.nan, id="re-created: the start went back"),
        pytest.param((0, 100, 1000), (200, 200, 0), math.nan, id="all that was written is gone again"),
        pytest.param((0, 100, 1000), (0, 200, None), math.nan, id="size not read"),
        pytest.param((0, 100, 1000), (0, 100, None), 0.0, id="size not read, but nothing written"),
        pytest.param((None, None, 1000), (0, 200, 2000), math.nan, id="offsets not read before"),
        pytest.param((0, 100, 1000), (None, None, 2000), math.nan, id="offsets not read after"),
        pytest.param((0, 100, 1000), (0, 200, 0), math.nan, id="size read before the records arrived"),
    ],
)
def test_write_rate(before: Log, after: Log, rate: float) -> None:
    """The advance of the end offset times bytes per record, over the seconds; unknown if it cannot be computed."""
    state = with_rates(sample({("t", 0): before}), sample({("t", 0): after}), 10.0, group_offsets=False)
    assert state.partitions.in_bytes_per_s[0] == pytest.approx(rate, nan_ok=True)
    assert math.isnan(state.partitions.out_bytes_per_s[0]), "group offsets were not read"


@pytest.mark.parametrize(
    ("before", "after", "rate"),
    [
        pytest.param({}, {}, 0.0, id="no group reads"),
        pytest.param({"g": 10}, {"g": 60}, 50.0, id="one group"),
        pytest.param({"g": 10, "h": 0}, {"g": 60, "h": 30}, 80.0, id="groups add up"),
        pytest.param({"g": 10}, {"g": 10}, 0.0, id="a group that stands still"),
        pytest.param({"g": 60, "h": 0}, {"g": 10, "h": 30}, math.nan, id="one group went back"),
        pytest.param({}, {"g": 60}, math.nan, id="a group that appeared"),
        pytest.param({"g": 10, "h": 5}, {"h": 5}, math.nan, id="a group that disappeared"),
    ],
)
def test_read_rate(before: dict[str, int], after: dict[str, int], rate: float) -> None:
    """The advance of committed offsets; unknown if one of them went back, appeared or disappeared."""
    log: dict[tuple[str, int], Log] = {("t", 0): (0, 100, 1000)}
    state = with_rates(
        sample(log, {(g, "t", 0): offset for g, offset in before.items()}),
        sample(log, {(g, "t", 0): offset for g, offset in after.items()}),
        10.0,
        group_offsets=True,
    )
    assert state.partitions.out_bytes_per_s[0] == pytest.approx(rate, nan_ok=True)


def test_partitions_are_matched_by_name() -> None:
    """Topics and partitions that are created or deleted in between do not shift others; new ones have no rate."""
    before = sample({("a", 0): (0, 9, 90), ("b", 0): (0, 100, 1000), ("b", 1): (0, 7, 70)})
    after = sample({("b", 0): (0, 200, 2000), ("b", 2): (0, 5, 50), ("c", 0): (0, 5, 50), ("b", 1): (0, 7, 70)})
    state = with_rates(before, after, 10.0, group_offsets=True)
    rates = {str(state.topic_partition(p)): float(state.partitions.in_bytes_per_s[p]) for p in range(4)}
    assert rates == pytest.approx({"b-0": 100.0, "b-1": 0.0, "b-2": math.nan, "c-0": math.nan}, nan_ok=True)
    read = dict(zip(rates, state.partitions.out_bytes_per_s.tolist(), strict=True))
    assert read == pytest.approx({"b-0": 0.0, "b-1": 0.0, "b-2": math.nan, "c-0": math.nan}, nan_ok=True)


def test_a_group_of_a_deleted_topic_does_not_matter() -> None:
    """Offsets committed for a deleted topic do not count for another one."""
    log: Log = (0, 100, 1000)
    before = sample({("a", 0): log, ("b", 0): log}, {("g", "a", 0): 50, ("g", "b", 0): 10})
    state = with_rates(before, sample({("b", 0): log}, {("g", "b", 0): 30}), 10.0, group_offsets=True)
    assert state.partitions.out_bytes_per_s.tolist() == [20.0]


@pytest.mark.parametrize("elapsed_s", [0.0, -1.0, math.nan])
def test_no_time_between_samples_is_refused(elapsed_s: float) -> None:
    """Two samples at the same time have no rate, which the error says."""
    state = sample({("t", 0): (0, 1, 1)})
    with pytest.raises(UsageError, match="no time between"):
        with_rates(state, state, elapsed_s, group_offsets=False)


def test_samples_of_two_clusters_are_refused() -> None:
    """Offsets of different clusters are never compared."""
    with pytest.raises(UsageError, match="samples of different clusters: a and b"):
        with_rates(sample({}, cluster_id="a"), sample({}, cluster_id="b"), 1.0, group_offsets=False)


def test_nothing_else_changes_and_rates_are_read_only() -> None:
    """The result is the later sample; only its two rate columns differ, and they are frozen like the others."""
    before, after = sample({("t", 0): (0, 1, 10)}), sample({("t", 0): (0, 2, 20)})
    state = with_rates(before, after, 1.0, group_offsets=False)
    assert state.replicas is after.replicas
    assert state.partitions.end_offset is after.partitions.end_offset
    assert not state.partitions.in_bytes_per_s.flags.writeable
    assert not state.partitions.out_bytes_per_s.flags.writeable


OFFSETS = st.tuples(st.integers(0, 50), st.integers(0, 50), st.none() | st.integers(0, 500)).map(
    lambda log: (min(log[:2]), max(log[:2]), log[2])
)
LOGS = st.dictionaries(st.tuples(st.sampled_from("abc"), st.integers(0, 2)), OFFSETS, max_size=6)


@given(before=LOGS, after=LOGS, elapsed_s=st.floats(0.1, 100))
def test_rates_equal_a_plain_recount(
    before: dict[tuple[str, int], KnownLog], after: dict[tuple[str, int], KnownLog], elapsed_s: float
) -> None:
    """Whatever the samples, each partition has the rate that its own four numbers give, or none."""
    state = with_rates(sample(before), sample(after), elapsed_s, group_offsets=False)
    for p in range(len(state.partitions)):
        name = (state.topics.name[state.partitions.topic[p]], int(state.partitions.number[p]))
        assert state.partitions.in_bytes_per_s[p] == pytest.approx(
            plain_rate(before.get(name), after[name], elapsed_s), nan_ok=True
        )


def plain_rate(before: KnownLog | None, after: KnownLog, elapsed_s: float) -> float:
    """The rate of one partition, from the definition."""
    if before is None:
        return math.nan
    (old_start, old_end, _), (start, end, size) = before, after
    if end < old_end or start < old_start:
        return math.nan
    if end == old_end:
        return 0.0
    return (end - old_end) * size / (end - start) / elapsed_s if size and end > start else math.nan


@given(logs=LOGS, shift=st.integers(0, 1000))
def test_bytes_a_record_do_not_depend_on_where_offsets_begin(logs: dict[tuple[str, int], KnownLog], shift: int) -> None:
    """Bytes per record depend on the distance between the offsets, not on where they begin."""
    moved = {name: (start + shift, end + shift, size) for name, (start, end, size) in logs.items()}
    np.testing.assert_array_equal(bytes_per_record(sample(logs)), bytes_per_record(sample(moved)))
