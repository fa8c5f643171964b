"""Routes the records of one topic that librdkafka's plug-in sends slot by slot.

::

    the topic is new, or its slots are used up   plan_slots      the plug-in gets the next slots; before the first view
                                                                 it leaves records to librdkafka's own partitioner
    many records are sent at once                parts           as many at a time as the planned slots take
    the cluster is about to be read              begin_reading   what has settled by now, as the plug-in counted it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import RLock

import numpy as np

from kafkabal.model import I64
from kafkabal.producer.reentered_locks import is_reentered
from kafkabal.producer.routing_plugin import Lane
from kafkabal.producer.slot_router import UNROUTED_BYTES, SlotRouter
from kafkabal.routing import Policy, RoutingView, SlotPolicy

# records of one slot that are sent by a call of their own: it costs 3 us, and saves 0.07 us per record (2026-11)
_LEAST_RUN = 64


class PluginRouter(SlotRouter):
    """The routing of one topic of one producer inside librdkafka; any thread may use it.

    Parameters
    ----------
    policy
        A new instance of a :class:`~kafkabal.routing.SlotPolicy`.
    lane
        The topic in the plug-in.
    clock, failed, recreated
        See :class:`~kafkabal.producer.slot_router.SlotRouter`.
    """

    def __init__(
        self,
        topic: str,
        policy: Policy,
        lane: Lane,
        *,
        clock: Callable[[], float],
        failed: Callable[[Exception], None],
        recreated: Callable[[RoutingView, int], None],
    ) -> None:
        assert isinstance(policy, SlotPolicy)
        # the plug-in counts what is delivered itself
        super().__init__(
            topic,
            policy,
            any_key_order=False,
            hears_of_deliveries=True,
            clock=clock,
            failed=failed,
            recreated=recreated,
        )
        # until then, librdkafka keeps records and partitions them later, in a thread that has no slots
        self.needs_known_partitions = True
        self._plan = policy.plan_slots
        self.lane = lane
        self.batch_lock = RLock()
        """Held by a thread that sends a batch: another one would use up slots that were planned for it, and librdkafka
        would route the rest of the batch."""

    @property
    def is_entered(self) -> bool:
        """Whether this thread is planning slots or sending a batch already, as in a signal's handler."""
        return is_reentered(self.batch_lock) or is_reentered(self._lock)

    def plan_slots(self, size_bytes: int, batch_bytes: int = 0) -> None:
        """Plan the next slots, for a record of this size and others that are sent with it, unless another thread has
        done so.

        If this thread is planning already, librdkafka's own partitioner takes the record.
        """
        if is_reentered(self._lock):
            return
        with self._lock:
            if not self._is_routing:
                self.leave_unrouted()
            elif self.lane.is_used_up:
                self.watch_in_flight()
                slots = self._plan(size_bytes, self.lane.overruns(), batch_bytes)
                self.lane.plan(slots)
                self._switches += len(slots)

    def parts(self, ends: I64, *, may_run: bool) -> Iterator[tuple[int, int, int]]:
        """First and end of records that are to be sent at once, and their bytes if all fall into the current slot, else
        0; slots are planned before a part if there are none left.

        Parameters
        ----------
        ends
            int64, shape (n_records,): bytes of the batch up to and with each record.
        may_run
            Whether all records are values without keys, so that they may be sent to a given partition.
        """
        first, sent_bytes = 0, 0
        while first < len(ends):
            room_bytes = self._room_bytes(int(ends[first]) - sent_bytes, int(ends[-1]) - sent_bytes)
            end = _end_within(ends, sent_bytes, self.lane.slot_left_bytes()) if may_run else first
            is_run = end - first >= _LEAST_RUN
            if not is_run:
                end = _end_within(ends, sent_bytes, room_bytes) if room_bytes > 0 else len(ends)
            yield first, end, int(ends[end - 1]) - sent_bytes if is_run else 0
            first, sent_bytes = end, int(ends[end - 1])

    def _room_bytes(self, size_bytes: int, batch_bytes: int) -> int:
        """Bytes that may be sent before slots are planned again; if there are none, that is done now, for a record of
        this size and the rest of its batch. Still none if this thread is planning already."""
        left_bytes = self.lane.left_bytes()
        if left_bytes <= 0:
            self.plan_slots(size_bytes or 1, batch_bytes)
            left_bytes = self.lane.left_bytes()
        return left_bytes

    def leave_unrouted(self) -> None:
        """Leave the next records to librdkafka's own partitioner."""
        self.lane.leave_unrouted(UNROUTED_BYTES)

    def show(self, view: RoutingView, waiting_records: int) -> None:
        """Route by a new view from the next slots on; may be called by any thread."""
        self.lane.know_partitions(view.n_partitions)
        super().show(view, waiting_records)

    def _start_routing(self, n_partitions: int) -> None:
        super()._start_routing(n_partitions)
        # the next record asks for slots
        self.lane.leave_unrouted(0)

    def _sent_so_far(self) -> list[int]:
        routed, _ = self.lane.routed_and_settled_bytes(len(self._sent))
        sent: list[int] = routed.tolist()
        return sent

    def _awaited_and_settled(self) -> tuple[I64, I64]:
        return self.lane.routed_and_settled_bytes(len(self._sent))

    def _settled_so_far(self) -> list[int]:
        _, settled = self.lane.routed_and_settled_bytes(len(self._sent))
        found: list[int] = settled.tolist()
        return found


def _end_within(ends: I64, sent_bytes: int, n_bytes: int) -> int:
    """End of the records that begin within so many bytes; one of which only a part fits is the last."""
    return min(len(ends), int(np.searchsorted(ends, sent_bytes + n_bytes)) + 1)
