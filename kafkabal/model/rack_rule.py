"""The rack rule: how many racks a partition must span, and so which racks its next replica may be in.

A partition with ``r`` replicas, in a cluster whose brokers are in ``R`` racks, must span ``min(r, R)`` racks, so that
the loss of a rack costs it as few replicas as possible. For one replica, given the others of its partition, this
means::

    it may enter a rack  if  none of the others is in that rack, or the others already span min(r, R) racks

Thus no move narrows the spread, and while racks are missing, moving a replica that shares its rack widens it. A broker
without a rack is a rack of its own. ``R`` counts the racks of brokers that may still hold replicas: live, and not
drained.

The functions take rack numbers, with the replicas of one partition along the last axis; any leading axes are those of
the result, so that one definition serves a single replica and a million. :data:`NO_RACK` marks an empty position or a
dead broker, and is not a rack.
"""

from __future__ import annotations

import numpy as np

from kafkabal.model.cluster_state import I32, I64, Bools, ClusterState

NO_RACK = -1


def rack_numbers(state: ClusterState) -> I32:
    """int32, shape (n_brokers,): number of the rack of each broker; one without a rack is a rack of its own."""
    rack = state.brokers.rack.copy()
    alone = np.flatnonzero(rack < 0)
    rack[alone] = len(state.racks) + alone
    return rack


def required_racks(factor: I32 | I64 | int, n_racks: I32 | I64 | int) -> I32:
    """int32, shape (...): number of racks that partitions with this many replicas must span."""
    return np.minimum(factor, n_racks).astype(np.int32)


def most_in_a_rack(factor: I32 | I64 | int, n_racks: I32 | I64 | int) -> I32:
    """int32, shape (...): most replicas of a partition in one rack: all other required racks then have one each."""
    return np.asarray(factor - required_racks(factor, n_racks) + 1, np.int32)


def distinct_racks(racks: I32) -> I32:
    """int32, shape (...): number of racks that each partition spans."""
    distinct = np.zeros(racks.shape[:-1], np.int32)
    for i in range(racks.shape[-1]):
        is_first = racks[..., i] != NO_RACK
        for j in range(i):
            is_first &= racks[..., j] != racks[..., i]
        distinct += is_first
    return distinct


def missing_racks(racks: I32, required: I32) -> I32:
    """int32, shape (...): how many more racks each partition must span; 0 or less if it spans enough."""
    return np.asarray(required - distinct_racks(racks), np.int32)


def may_enter(others: I32, rack: I32, required: I32 | None) -> Bools:
    """bool, shape (...): whether a replica may enter a rack, given the racks of the partition's other replicas.

    Parameters
    ----------
    required
        Number of racks that the partition must span; None if it has at most one replica per rack: the others then never
        span enough racks and need not be counted.
    """
    is_held = (others == rack[..., None]).any(-1)
    return np.asarray(~is_held if required is None else ~is_held | (distinct_racks(others) >= required))


def may_enter_each(others: I32, n_racks: int, required: I32 | None) -> Bools:
    """bool, shape (n, n_racks): :func:`may_enter` for the racks 0 to ``n_racks`` - 1, given a matrix of others."""
    rows = np.arange(len(others))
    # an extra column for NO_RACK
    is_held = np.zeros((len(others), n_racks + 1), np.bool_)
    for i in range(others.shape[1]):
        is_held[rows, others[:, i]] = True
    if required is not None:
        is_held[distinct_racks(others) >= required] = False
    return ~is_held[:, :-1]


def shares_rack(racks: I32) -> Bools:
    """bool, shape (..., width): another replica of the partition is in the same rack."""
    shared = np.zeros(racks.shape, np.bool_)
    for i in range(racks.shape[-1]):
        for j in range(i):
            is_same = (racks[..., i] == racks[..., j]) & (racks[..., i] != NO_RACK)
            shared[..., i] |= is_same
            shared[..., j] |= is_same
    return shared


def is_bound_to_racks(factor: I32, n_racks: int) -> bool:
    """Whether each partition must have a replica in every rack, so that replicas can only move within their rack."""
    return n_racks > 1 and bool((factor == n_racks).all())


def racks_by_partition(partition: I32 | I64, rack: I32, n_partitions: int) -> I64:
    """int64, shape (n_partitions,): :func:`distinct_racks` for replicas in columns, with their partition and rack."""
    if not len(partition):
        return np.zeros(n_partitions, np.int64)
    span = int(rack.max()) + 1
    # np.unique of numpy 2.4 hashes, which takes a hundred times as long with so many different pairs
    pairs = np.sort(partition.astype(np.int64) * span + rack)
    is_first = np.concatenate(([True], pairs[1:] != pairs[:-1]))
    return np.bincount(pairs[is_first] // span, minlength=n_partitions).astype(np.int64)


def in_emptiest_racks(candidates: Bools, rack: I32, chosen: list[int]) -> Bools:
    """bool, shape (n_brokers,): the candidates in racks with the fewest replicas of a partition: new racks come first.

    Parameters
    ----------
    chosen
        Rows of brokers that already hold the partition; none of them is a candidate.
    """
    held = np.bincount(rack[chosen], minlength=int(rack.max()) + 1)[rack]
    free = candidates.copy()
    free[chosen] = False
    return np.asarray(free & (held == held[free].min(initial=len(chosen))))
