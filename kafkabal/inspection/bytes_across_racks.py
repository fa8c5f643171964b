"""Bytes per second that cross racks: exact for replication, estimated for clients.

::

    replicated across = rate of each partition x its followers in other racks than the leader
    read              = advance of committed offsets, at the leader
    clients across    = (produced + read) x (1 - 1 / racks), if clients are spread evenly over the racks

A rack may be a path such as ``dc1/row2/r7``, whose first parts are the larger units that contain it. Brokers do not
know the racks of producers, and know those of consumers only if these report it (``client.rack``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kafkabal.inspection.partition_and_holder_figures import rate_by
from kafkabal.model import F64, ClusterState, freeze

_SEPARATOR = "/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RackTraffic:
    """One value per rack, ordered as :attr:`ClusterState.racks`; NaN if no rate is known."""

    produced: F64
    """Bytes per second written to leaders in the rack."""
    replicated_in: F64
    """Bytes per second that followers in the rack copy from leaders in other racks."""
    replicated_out: F64
    """Bytes per second that followers in other racks copy from leaders in the rack."""
    read: F64
    """Bytes per second that consumers read from leaders in the rack."""
    clients_across: F64
    """Bytes per second of producers and consumers that cross racks if clients are spread evenly; NaN if what is read is
    unknown."""


def rack_traffic(state: ClusterState) -> RackTraffic:
    """Traffic of every rack; brokers without a rack are left out."""
    n, rack = len(state.racks), state.brokers.rack
    p, r = state.partitions, state.replicas
    led_in = np.where(p.leader >= 0, rack[p.leader], -1) if len(p) else np.empty(0, np.int32)
    sender, target = led_in[r.partition], rack[r.broker]
    crosses = (sender >= 0) & (target >= 0) & (sender != target) & ~r.removing
    # a known rate of which nothing crosses is zero, not unknown
    rate = p.in_bytes_per_s[r.partition] * crosses
    produced, read = rate_by(led_in, p.in_bytes_per_s, n), rate_by(led_in, p.out_bytes_per_s, n)
    return RackTraffic(
        produced=produced,
        replicated_in=rate_by(target, rate, n),
        replicated_out=rate_by(sender, rate, n),
        read=read,
        clients_across=(produced + read) * (1 - 1 / max(n, 1)),
    )


def with_rack_level(state: ClusterState, level: int) -> ClusterState:
    """Shorten racks to their first ``level`` parts, so that racks of one row or room count as one."""
    short = [_SEPARATOR.join(name.split(_SEPARATOR)[:level]) for name in state.racks]
    racks = tuple(sorted({*short}))
    row = np.array([racks.index(name) for name in short] or [0], np.int32)
    rack = np.where(state.brokers.rack >= 0, row[state.brokers.rack], -1).astype(np.int32)
    freeze(rack)
    return state.replace(racks=racks, brokers=replace(state.brokers, rack=rack))
