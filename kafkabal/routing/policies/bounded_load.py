"""``bounded-load``: consistent hashing in which no partition gets more than c times the average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from kafkabal.config import Range
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.key_hashes import KeyTable
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView

_POINTS_A_PARTITION = 64
"""Arcs differ by 1/sqrt(64), an eighth, which the bound on the load cuts off; fewer points make more keys move on."""
_CIRCLE_BITS = 31
_CIRCLE = 2.0**_CIRCLE_BITS


class BoundedLoadState(NamedTuple):
    """Columns of the kernel."""

    point: list[int]
    """Positions on the circle, ascending, from 0 to 2^31 - 1."""
    owner: list[int]
    """Partition at each position."""
    first: list[int]
    """For each of equal arcs, a power of two of them: the first position in or after it."""
    sent_bytes: list[int]
    total_bytes: list[int]
    limit: list[float]
    """One item: c over the number of partitions."""


@kernel
def pick_kernel(
    state: BoundedLoadState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The first partition clockwise from the key's position that is below the bound."""
    point, owner, first, sent_bytes, total_bytes, limit = state
    place = hashes[0] if hashes[0] >= 0 else int(uniforms[0] * _CIRCLE)
    at = first[place * len(first) >> _CIRCLE_BITS]
    while at < len(point) and point[at] < place:
        at += 1
    total_bytes[0] += size_bytes
    bound = limit[0] * total_bytes[0]
    at = at % len(point)
    # this ends: some partition is at or below the average, and c is above 1
    while sent_bytes[owner[at]] > bound:
        at = (at + 1) % len(point)
    best = owner[at]
    sent_bytes[best] += size_bytes
    return best


class BoundedLoad(PerRecordPolicy):
    """A key goes where the circle puts it, unless that partition already has c times the average.

    Parameters
    ----------
    c
        Bound on a partition's bytes relative to the average, above 1 and at most 1,000,000.
    """

    about: ClassVar = About(
        name="bounded-load",
        meaning="the partition by consistent hash of the key, skipping those with more than c times the average load",
        source="Mirrokni, Thorup, Zadimoghaddam, SODA 2018; HAProxy 'hash-balance-factor'",
        inputs=frozenset({Input.KEYS}),
        feedback=Feedback.SENT,
        ranges={"c": Range(1, 1_000_000, above=True)},
    )
    pick_kernel = staticmethod(pick_kernel)

    def __init__(self, context: Context, *, c: float = 1.25) -> None:
        self.about.expect(c=c)
        super().__init__(context)
        self._c = c

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None or len(before.sent_bytes) != view.n_partitions:
            before = BoundedLoadState([], [], [], [0] * view.n_partitions, [0], [])
        available = view.available
        names = [b"%d/%d" % (p, i) for p in available.tolist() for i in range(_POINTS_A_PARTITION)]
        place = (KeyTable.of(names).murmur2() & np.uint32(0x7FFFFFFF)).astype(np.int64)
        order = np.argsort(place, kind="stable")
        arcs = 1 << len(place).bit_length()
        first = np.searchsorted(place[order], np.arange(arcs) * (2**_CIRCLE_BITS // arcs))
        self.state = before._replace(
            point=place[order].tolist(),
            owner=np.repeat(available, _POINTS_A_PARTITION)[order].tolist(),
            first=first.tolist(),
            limit=[self._c / len(available)],
        )
