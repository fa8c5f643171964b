"""``rack-local``: partitions in the reader's rack first."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from kafkabal.config import Range
from kafkabal.errors import UsageError
from kafkabal.model import Bools
from kafkabal.routing.policy_protocol import About, Context, Input
from kafkabal.routing.topic_view import RoutingView
from kafkabal.routing.weighted_rings import RingPolicy


class RackLocal(RingPolicy):
    """Round-robin over the nearest partitions that there are.

    Nearest are those whose leader is in the rack, then those with any live replica there, which readers may fetch from
    (KIP-392), then all. Brokers of the rack that are much fuller than the mean are skipped.

    Parameters
    ----------
    rack
        Rack of the reader; that of the command or producer where it is empty.
    spill
        Used ratio over the mean, 1 to 1,000,000, above which a broker counts as too full to be near.
    """

    about: ClassVar = About(
        name="rack-local",
        meaning="partitions led in the reader's rack, else those with a replica there, else all",
        source="KIP-392, KIP-36",
        inputs=frozenset({Input.RACKS, Input.LOG_DIRS}),
        ranges={"spill": Range(1, 1_000_000)},
    )

    def __init__(self, context: Context, *, rack: str = "", spill: float = 1.5) -> None:
        self.about.expect(spill=spill)
        super().__init__(context)
        self._rack = rack or context.rack
        self._spill = spill

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`.

        Raises
        ------
        UsageError
            If no broker is in the reader's rack.
        """
        near = self._near_brokers(view)
        available = view.available
        led_near = available[near[view.leader[available]]]
        held = np.unique(view.replica_partition[near[view.replica_broker]])
        held_near = np.intersect1d(available, held)
        self.go_round(next(ring for ring in (led_near, held_near, available) if len(ring)))

    def _near_brokers(self, view: RoutingView) -> Bools:
        if self._rack is None:
            return np.ones(view.n_brokers, np.bool_)
        if self._rack not in view.racks:
            listed = ", ".join(view.racks) or "none"
            raise UsageError(f"unknown rack: {self._rack!r}", hint=f"racks of this cluster: {listed}")
        mean = view.used_bytes.sum() / view.capacity_bytes.sum()
        in_rack = view.rack == view.racks.index(self._rack)
        return np.asarray(in_rack & view.live & (view.used_ratio <= self._spill * mean))
