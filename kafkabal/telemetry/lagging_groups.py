"""Finds consumer groups that do not keep up, from two samples of a cluster."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from kafkabal.model import ClusterState
from kafkabal.telemetry.partition_rates import matching_partitions, records_committed, records_written

_KEPT_UP = 0.75
"""Groups commit every few seconds, so in half a minute some of what they read is not committed yet."""
_LEAST_RECORDS = 100
"""With fewer records a fraction is meaningless: one uncommitted fetch would look like lag."""


def groups_behind(before: ClusterState, after: ClusterState, leaders: Collection[int]) -> frozenset[str]:
    """Groups that read, but clearly less than was written meanwhile to the partitions they read.

    A group that commits nothing has stopped, which says nothing about the brokers.

    Parameters
    ----------
    leaders
        Ids of the brokers whose partitions count.
    """
    earlier = matching_partitions(before, after)
    commits, partitions = after.committed, after.partitions
    led = np.isin(after.brokers.id[partitions.leader], list(leaders)) & (partitions.leader >= 0)
    written = records_written(before, after, earlier)[commits.partition]
    read = records_committed(before, after, earlier)
    counted = led[commits.partition] & ~np.isnan(written) & ~np.isnan(read)
    n, group = len(commits.groups), commits.group[counted]
    read_by = np.bincount(group, read[counted], n)
    written_for = np.bincount(group, written[counted], n)
    behind = (written_for >= _LEAST_RECORDS) & (read_by > 0) & (read_by < _KEPT_UP * written_for)
    return frozenset(commits.groups[row] for row in np.flatnonzero(behind).tolist())
