"""``rack-local``: partitions in the reader's rack first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.config import Range
from kafkabal.errors import UsageError
from kafkabal.model import Bools
from kafkabal.routing.cyclic_sequences import CyclicSequencePolicy
from kafkabal.routing.policy_protocol import About, Context, Input
from kafkabal.routing.routing_view import RoutingView
from kafkabal.wording import first_of


class RackLocal(CyclicSequencePolicy):
    """Round-robin over the nearest available partitions.

    Nearest are those whose leader is in the rack, then those with any live replica there, from which readers may fetch
    (KIP-392), then all others. Brokers that are fuller than the mean by more than ``max_skew`` are skipped, near or
    far; this limits the skew that locality causes, except for what is written between two views.

    Parameters
    ----------
    rack
        Rack of the reader; if empty, the rack given to the command or producer.
    max_skew
        Used ratio over the mean, minus 1, above which a broker gets nothing while others are below it: 0 to 1,000,000;
        ``2%`` or 0.02. If the same volume is written in each rack, 2% keeps nearly all records near.
    """

    about: ClassVar = About(
        name="rack-local",
        meaning="partitions led in the reader's rack in turn, else those with a replica there, else all",
        source="KIP-392, KIP-36, KIP-1123",
        inputs=frozenset({Input.RACKS, Input.LOG_DIRS}),
        ranges={"max-skew": Range(0, 1_000_000)},
    )

    def __init__(self, context: Context, *, rack: str = "", max_skew: float = 0.5) -> None:
        self.about.expect(max_skew=max_skew)
        super().__init__(context)
        self._rack = rack or context.rack
        self._max_skew = max_skew

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`.

        Raises
        ------
        UsageError
            If no broker is in the reader's rack.
        """
        near, available, live = self._near_brokers(view), view.available, view.live
        mean = view.used_bytes[live].sum() / view.capacity_bytes[live].sum()
        has_room = view.used_ratio <= (1 + self._max_skew) * mean
        roomy = available[has_room[view.leader[available]]]
        led_near = roomy[near[view.leader[roomy]]]
        held_near = np.intersect1d(roomy, view.replica_partition[near[view.replica_broker]])
        self.set_ring(next(ring for ring in (led_near, held_near, roomy, available) if len(ring)))

    def _near_brokers(self, view: RoutingView) -> Bools:
        if self._rack is None:
            return np.ones(view.n_brokers, np.bool_)
        if self._rack not in view.racks:
            listed = first_of(view.racks) or "none"
            raise UsageError(f"unknown rack: {self._rack!r}", hint=f"racks of this cluster: {listed}")
        return np.asarray((view.rack == view.racks.index(self._rack)) & view.live)
