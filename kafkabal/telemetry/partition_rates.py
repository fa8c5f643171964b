"""Rates of partitions from two samples of a cluster.

::

    bytes per record = (size of the leader's log + what remote storage holds of it) / (end offset - start offset)
    in               = advance of the end offset x bytes per record / seconds
    out              = advance of the committed offsets of all groups x bytes per record / seconds

Sizes are never subtracted: retention shrinks a log while it is written to. Compaction leaves gaps between offsets, so a
record looks smaller; a log truncated by DeleteRecords keeps its segment for a while, so a record looks larger. Unknown
values are NaN, never zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import F64, I32, I64, ClusterState, freeze, is_tiered, move_bytes

_NUMBER_BITS = 32
"""Partition numbers are 32 bits wide in Kafka's protocol, so topic and number fit into one sortable key."""


def with_rates(before: ClusterState, after: ClusterState, elapsed_s: float, *, group_offsets: bool) -> ClusterState:
    """The later sample, with the bytes per second that flowed into and out of each partition since the earlier one.

    A rate is unknown if the partition was created, re-created or truncated in between (an offset went back), or if its
    offsets or size were not read. The outgoing rate is also unknown if an offset that a group had committed went back,
    appeared or disappeared.

    Parameters
    ----------
    elapsed_s
        Seconds between the samples, above 0.
    group_offsets
        Whether both samples include the offsets of consumer groups; if not, the outgoing rates are unknown.

    Raises
    ------
    UsageError
        If the samples are of different clusters, or no time has passed between them.
    """
    if before.cluster_id != after.cluster_id:
        raise UsageError(f"samples of different clusters: {before.cluster_id} and {after.cluster_id}")
    if not elapsed_s > 0:
        raise UsageError(f"no time between two samples: {elapsed_s:g} s")
    earlier = matching_partitions(before, after)
    record_bytes = bytes_per_record(after)
    read = _records_read(before, after, earlier) if group_offsets else np.full(len(after.partitions), np.nan)
    in_rate = bytes_of_records(records_written(before, after, earlier), record_bytes) / elapsed_s
    out_rate = bytes_of_records(read, record_bytes) / elapsed_s
    freeze(in_rate, out_rate)
    return after.replace(partitions=replace(after.partitions, in_bytes_per_s=in_rate, out_bytes_per_s=out_rate))


def bytes_per_record(state: ClusterState) -> F64:
    """float64, shape (n_partitions,): mean bytes of a record as stored in the log; NaN if that is empty, or its local
    or remote bytes are unknown."""
    p = state.partitions
    lacks_remote = is_tiered(state)[p.topic] & (p.remote_bytes < 0)
    local = move_bytes(state)
    size = (local + np.maximum(p.remote_bytes, 0)).astype(np.float64)
    records = (p.end_offset - p.start_offset).astype(np.float64)
    known = (local >= 0) & (size > 0) & (p.start_offset >= 0) & (records > 0) & ~lacks_remote
    return np.asarray(np.divide(size, records, out=np.full(len(p), np.nan), where=known), np.float64)


def bytes_of_records(records: F64, record_bytes: F64) -> F64:
    """Bytes of this many records; zero records have zero bytes, even if the size of a record is unknown."""
    return np.where(records == 0, 0.0, records * record_bytes)


def matching_partitions(before: ClusterState, after: ClusterState) -> I64:
    """int64, shape (n_partitions of ``after``,): row of the same partition in ``before``, -1 if it did not exist."""
    topic_after = _rows_by_name(before.topics.name, after.topics.name)[before.partitions.topic]
    kept = np.flatnonzero(topic_after >= 0)
    keys = _partition_keys(topic_after[kept], before.partitions.number[kept])
    wanted = _partition_keys(after.partitions.topic, after.partitions.number)
    return _find(wanted, keys, kept)


def _rows_by_name(names: Sequence[str], among: Sequence[str]) -> I64:
    """Index of each name among the others, -1 if it is not there."""
    row = {name: i for i, name in enumerate(among)}
    return np.fromiter((row.get(name, -1) for name in names), np.int64, len(names))


def _partition_keys(topic: I32 | I64, number: I32) -> I64:
    return (topic.astype(np.int64) << _NUMBER_BITS) | number


def _find(wanted: I64, keys: I64, values: I64) -> I64:
    """The value of each wanted key, -1 if the key is missing."""
    if not keys.size:
        return np.full(len(wanted), -1, np.int64)
    order = np.argsort(keys, kind="stable")
    at = order[np.minimum(np.searchsorted(keys, wanted, sorter=order), len(keys) - 1)]
    return np.where(keys[at] == wanted, values[at], -1)


def records_written(before: ClusterState, after: ClusterState, earlier: I64) -> F64:
    """float64, shape (n_partitions,): advance of the end offset; NaN if it is unknown or an offset went back."""
    old, new = before.partitions, after.partitions
    found = earlier >= 0
    old_end = np.where(found, old.end_offset[earlier], -1) if len(old) else np.full(len(new), -1, np.int64)
    old_start = np.where(found, old.start_offset[earlier], -1) if len(old) else old_end
    known = (old_end >= 0) & (new.end_offset >= 0)
    steady = (new.end_offset >= old_end) & ((new.start_offset >= old_start) | (new.start_offset < 0))
    return np.where(known & steady, (new.end_offset - old_end).astype(np.float64), np.nan)


def _records_read(before: ClusterState, after: ClusterState, earlier: I64) -> F64:
    """float64, shape (n_partitions,): advance of the committed offsets of all groups; NaN if any is unknown."""
    n = len(after.partitions)
    new = after.committed
    old_partition, old_key, new_key = _commit_keys(before, after, earlier)
    advance = records_committed(before, after, earlier)
    records = np.asarray(np.bincount(new.partition, advance, n), np.float64)
    gone = old_partition[(old_partition >= 0) & ~np.isin(old_key, new_key)]
    records[gone] = np.nan
    records[np.isnan(records_written(before, after, earlier))] = np.nan
    return records


def records_committed(before: ClusterState, after: ClusterState, earlier: I64) -> F64:
    """float64, shape (n rows of ``after.committed``,): advance of each offset; NaN if it is new or went back."""
    _, old_key, new_key = _commit_keys(before, after, earlier)
    old_offset, offset = _find(new_key, old_key, before.committed.offset), after.committed.offset
    return np.where((old_offset >= 0) & (offset >= old_offset), offset - old_offset, np.nan)


def _commit_keys(before: ClusterState, after: ClusterState, earlier: I64) -> tuple[I64, I64, I64]:
    """For each commit of ``before``, its partition in ``after`` and a number for its group and partition; -1 if
    gone."""
    n, old, new = len(after.partitions), before.committed, after.committed
    later = np.full(len(before.partitions), -1, np.int64)
    later[earlier[earlier >= 0]] = np.flatnonzero(earlier >= 0)
    old_partition = later[old.partition]
    old_group = _rows_by_name(old.groups, new.groups)[old.group]
    old_key = np.where((old_group >= 0) & (old_partition >= 0), old_group * n + old_partition, -1)
    return old_partition, old_key, new.group.astype(np.int64) * n + new.partition
