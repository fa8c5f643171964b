"""Bytes of a plan that cross racks: copies to a rack other than that of the sending leader.

Replicas are only copied from the leader (KIP-392 is for consumers), so the leader decides where a copy comes from.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafkabal.model import ClusterState
from kafkabal.plan.plan import PartitionChange


def cross_rack_bytes(state: ClusterState, changes: Iterable[PartitionChange]) -> int | None:
    """Bytes that cross racks; None if a broker has no rack."""
    brokers = state.brokers
    if (brokers.rack[brokers.is_live] < 0).any():
        return None
    rack = dict(zip(brokers.id.tolist(), brokers.rack.tolist(), strict=True))
    crossing = 0
    for change in changes:
        if not change.bytes or change.previous is None:
            continue
        held, from_rack = change.previous.replicas, rack.get(change.previous.leader)
        copies = crosses = 0
        # runs once per partition of a plan: create no objects
        for broker in change.replicas:
            if broker not in held:
                copies += 1
                crosses += rack[broker] != from_rack
        crossing += crosses * (change.bytes // copies)
    return crossing
