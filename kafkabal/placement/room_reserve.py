"""Keeps enough room for the later partitions of a topic while the first ones are placed by score."""

from __future__ import annotations

import numpy as np

from kafkabal.model import Bools
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.placement_request import PlacementRequest


class RoomReserve:
    """Which brokers the next partition must use, so that all partitions still to be placed fit.

    A rack takes at most one replica of a partition, or a broker does if there are more replicas than racks. Let
    ``room`` be how many replicas fit on such a unit. By the theorem of Gale and Ryser, the partitions fit exactly if ::

        surplus = sum over units of min(room, left) - left x replication factor  >=  0

    A partition that leaves out a unit with room for all of them wastes one place, so it may leave out at most
    ``surplus`` of these. With more replicas than racks, each rack also keeps one place for every later partition; a few
    topics that only just fit are refused then, since replicas are spread evenly over racks first.

    Without this, brokers with little data were filled first, and topics were refused though 27% more had fitted.

    Parameters
    ----------
    left
        Partitions that are still to be placed, the next one included.
    """

    def __init__(self, request: PlacementRequest, sites: EligibleBrokers, left: int) -> None:
        self._factor = factor = request.replication_factor
        self._left, self._rack = left, sites.rack
        slots = sites.slots(request.partition_bytes, left)
        self._rack_slots = np.bincount(sites.rack, slots)
        self._shares_racks = factor > sites.n_racks
        self._unit = np.arange(len(slots), dtype=np.int32) if self._shares_racks else sites.rack
        room = np.minimum(np.bincount(self._unit, slots), left)
        self._is_ample = room >= left
        self._surplus = int(room.sum()) - left * factor

    def kept(self, candidates: Bools, chosen: list[int]) -> Bools:
        """The candidates among which the scores may choose.

        Parameters
        ----------
        chosen
            Rows of the brokers that the partition has so far.
        """
        kept = candidates
        if self._shares_racks:
            held = np.bincount(self._rack[chosen], minlength=len(self._rack_slots))
            kept = _if_any(kept & (self._rack_slots - held >= self._left)[self._rack], kept)
        is_open = self._is_ample.copy()
        is_open[self._unit[chosen]] = False
        if is_open.sum() - (self._factor - len(chosen) - 1) > self._surplus:
            kept = _if_any(kept & is_open[self._unit], kept)
        return kept


def _if_any(chosen: Bools, otherwise: Bools) -> Bools:
    return chosen if chosen.any() else otherwise
