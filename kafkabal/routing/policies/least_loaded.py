"""``least-loaded``: every record to the least used broker known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns, next_partition, turns_of
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView


class LeastLoadedState(NamedTuple):
    """Columns of the kernel."""

    turns: Turns
    used_bytes: list[float]
    capacity_bytes: list[float]
    own: list[int]
    """One item: 1 if the producer's own records count as soon as they are sent."""


@kernel
def pick_kernel(
    state: LeastLoadedState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The least used broker, the first of equals; its partitions take turns."""
    turns, used_bytes, capacity_bytes, own = state
    best = turns.broker[0]
    least = used_bytes[best] / capacity_bytes[best]
    for broker in turns.broker:
        used = used_bytes[broker] / capacity_bytes[broker]
        if used < least:
            best, least = broker, used
    used_bytes[best] += size_bytes * own[0]
    return next_partition(turns, best)


class LeastLoaded(PerRecordPolicy):
    """Least used ratio as of the last view, with or without what this producer has sent since.

    Without, every producer sends everything to one broker until the next view: the herd effect of stale measurements.

    Parameters
    ----------
    own
        Count own records as soon as they are sent.
    """

    about: ClassVar = About(
        name="least-loaded",
        meaning="the least used broker; with own=true, counting records sent since the last view",
        source="Mitzenmacher, How Useful Is Old Information?, TPDS 2000",
        inputs=frozenset({Input.LOG_DIRS}),
        feedback=Feedback.SENT,
    )
    pick_kernel = staticmethod(pick_kernel)
    hash_seeds = ()
    draws = 0

    def __init__(self, context: Context, *, own: bool = False) -> None:
        super().__init__(context)
        self._own = own

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None)
        self.state = LeastLoadedState(
            turns=turns_of(view, before.turns if before is not None else None),
            used_bytes=view.used_bytes.tolist(),
            capacity_bytes=view.capacity_bytes.tolist(),
            own=[int(self._own)],
        )
