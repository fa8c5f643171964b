"""The rack rule: how many racks a partition has to be in, and so which racks its next replica may go to.

A partition with ``r`` replicas, in a cluster whose brokers are in ``R`` racks, has to be in ``min(r, R)`` racks: so the
loss of a rack costs it as few replicas as possible. It follows for one replica, given the others of its partition::

    it may enter a rack  if  none of the others is in that rack, or the others are in min(r, R) racks by themselves

so that no move makes the spread narrower, and one of a replica that shares its rack, while racks are missing, makes it
wider. A broker without a rack is a rack of its own. ``R`` counts the racks of brokers that may still hold replicas:
live, and not drained.

The functions take the numbers of racks, those of one partition along the last axis; any axes before it are those of
the answer, so that one definition serves a single replica and a million. :data:`NO_RACK` stands for an empty position
or a dead broker, and is not a rack.
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
    """int32, shape (...): racks that partitions with so many replicas have to be in."""
    return np.minimum(factor, n_racks).astype(np.int32)


def most_in_a_rack(factor: I32 | I64 | int, n_racks: I32 | I64 | int) -> I32:
    """int32, shape (...): most replicas that partitions may have in one rack: the other racks have one each then."""
    return np.asarray(factor - required_racks(factor, n_racks) + 1, np.int32)


def distinct_racks(racks: I32) -> I32:
    """int32, shape (...): racks that the replicas of each partition are in."""
    distinct = np.zeros(racks.shape[:-1], np.int32)
    for i in range(racks.shape[-1]):
        is_first = racks[..., i] != NO_RACK
        for j in range(i):
            is_first &= racks[..., j] != racks[..., i]
        distinct += is_first
    return distinct


def missing_racks(racks: I32, required: I32) -> I32:
    """int32, shape (...): in how many more racks each partition has to be; 0 and less where it is in enough."""
    return np.asarray(required - distinct_racks(racks), np.int32)


def may_enter(others: I32, rack: I32, required: I32 | None) -> Bools:
    """bool, shape (...): whether a replica may enter a rack, given the racks of the others of its partition.

    Parameters
    ----------
    required
        Racks that the partition has to be in; None where it has at most one replica for each rack, whose others never
        are in enough racks by themselves: they need not be counted then.
    """
    is_held = (others == rack[..., None]).any(-1)
    return np.asarray(~is_held if required is None else ~is_held | (distinct_racks(others) >= required))


def may_enter_each(others: I32, n_racks: int, required: I32 | None) -> Bools:
    """bool, shape (n, n_racks): :func:`may_enter` for the racks 0 to ``n_racks`` - 1, given a matrix of others."""
    rows = np.arange(len(others))
    # one column more, which NO_RACK points at
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
    """Whether each partition has to have one replica in every rack, so that replicas can move only within theirs."""
    return n_racks > 1 and bool((factor == n_racks).all())


def racks_by_partition(partition: I32 | I64, rack: I32, n_partitions: int) -> I64:
    """int64, shape (n_partitions,): :func:`distinct_racks` of replicas in columns, each with its partition and rack."""
    if not len(partition):
        return np.zeros(n_partitions, np.int64)
    span = int(rack.max()) + 1
    pairs = np.unique(partition.astype(np.int64) * span + rack)
    return np.bincount(pairs // span, minlength=n_partitions).astype(np.int64)


def in_emptiest_racks(candidates: Bools, rack: I32, chosen: list[int]) -> Bools:
    """bool, shape (n_brokers,): candidates in racks with the fewest replicas of a partition: new racks come first.

    Parameters
    ----------
    chosen
        Rows of brokers that hold the partition already; none of them is a candidate.
    """
    held = np.bincount(rack[chosen], minlength=int(rack.max()) + 1)[rack]
    free = candidates.copy()
    free[chosen] = False
    return np.asarray(free & (held == held[free].min(initial=len(chosen))))
