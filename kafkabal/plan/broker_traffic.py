"""What the brokers of a plan receive and give up, as columns."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from kafkabal.model import I64, Bools
from kafkabal.plan.plan import Plan

NO_BROKER = -1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Traffic:
    """Replicas added and removed, over all partitions whose previous placement is known; brokers by id."""

    target: I64
    """shape (copies,): broker that receives each copy."""
    source: I64
    """shape (copies,): broker that gives up its replica in exchange; ``NO_BROKER`` if the copy is an additional one."""
    bytes: I64
    """shape (copies,)"""
    leaver: I64
    """shape (leaving,): broker that gives up a replica of a partition of which another broker receives one."""
    leaver_bytes: I64
    """shape (leaving,)"""

    @staticmethod
    def of(plan: Plan) -> Traffic:
        """Pair the brokers that receive a copy of each partition, in order, with those that lose theirs."""
        changes = [c for c in plan.partitions if c.previous is not None]
        target, owner = _flat([c.replicas for c in changes])
        leaver, leaver_owner = _flat([c.previous.replicas for c in plan.partitions if c.previous is not None])
        comes, goes = _missing(owner, target, leaver_owner, leaver), _missing(leaver_owner, leaver, owner, target)
        target, owner = target[comes], owner[comes]
        leaver, leaver_owner = leaver[goes], leaver_owner[goes]
        copies = np.bincount(owner, minlength=len(changes))
        all_bytes = np.fromiter((c.bytes for c in changes), np.int64, len(changes))
        each = all_bytes // np.maximum(copies, 1)
        traded = copies[leaver_owner] > 0
        leaver, leaver_owner = leaver[traded], leaver_owner[traded]
        return Traffic(
            target=target,
            source=_partner(owner, leaver_owner, leaver),
            bytes=each[owner],
            leaver=leaver,
            leaver_bytes=each[leaver_owner],
        )


def _flat(lists: list[tuple[int, ...]]) -> tuple[I64, I64]:
    """All values in one column, and the index of the list of each."""
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    values = np.fromiter(chain.from_iterable(lists), np.int64, int(counts.sum()))
    return values, np.repeat(np.arange(len(lists)), counts)


def _missing(owner: I64, value: I64, other_owner: I64, other: I64) -> Bools:
    """Which values are missing from the other list of the same owner."""
    span = int(max(value.max(initial=0), other.max(initial=0))) + 1
    key, others = owner * span + value, np.sort(other_owner * span + other)
    at = np.searchsorted(others, key)
    return np.asarray(np.append(others, NO_BROKER)[at] != key)


def _partner(owner: I64, other_owner: I64, other: I64) -> I64:
    """For the n-th entry of each owner, the n-th of the other list of the same owner; both are sorted by owner."""
    rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
    first = np.searchsorted(other_owner, owner)
    number = np.searchsorted(other_owner, owner, side="right") - first
    found = rank < number
    partner = np.full(len(owner), NO_BROKER, np.int64)
    partner[found] = other[(first + rank)[found]]
    return partner
