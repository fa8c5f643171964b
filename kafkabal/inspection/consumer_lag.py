"""The lag of each consumer group: in records, and in seconds at the current write rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kafkabal.model import F64, ClusterState
from kafkabal.telemetry import bytes_per_record


@dataclass(frozen=True, slots=True, eq=False)
class GroupLag:
    """Columns of the groups that have committed offsets."""

    groups: tuple[str, ...]
    records: F64
    """Records after the committed offsets; NaN if no end offset is known."""
    seconds: F64
    """How long it takes to write as many records at current rates; NaN if none are written, 0 if none are behind."""


def group_lag(state: ClusterState) -> GroupLag:
    """The lag of all groups; empty if offsets were not requested."""
    commits, partitions = state.committed, state.partitions
    n = len(commits.groups)
    end = partitions.end_offset[commits.partition]
    known = (end >= 0) & (commits.offset >= 0)
    behind = np.where(known, np.maximum(end - commits.offset, 0), 0).astype(np.float64)
    record_bytes = bytes_per_record(state)
    usable = record_bytes > 0
    records_per_s = np.divide(
        partitions.in_bytes_per_s, record_bytes, out=np.full(len(partitions), np.nan), where=usable
    )
    rate = np.where((behind > 0) & known, np.nan_to_num(records_per_s[commits.partition]), 0.0)
    records = np.bincount(commits.group, behind, n)
    written_per_s = np.bincount(commits.group, rate, n)
    seconds = np.divide(records, written_per_s, out=np.full(n, np.nan), where=written_per_s > 0)
    is_known = np.bincount(commits.group, known, n) > 0
    return GroupLag(
        groups=commits.groups,
        records=np.where(is_known, records, np.nan),
        seconds=np.where(is_known & (records == 0), 0.0, seconds),
    )
