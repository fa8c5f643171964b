"""``power-of-d``: of d partitions drawn at random, the one with the least used broker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from kafkabal.config import DRAWS
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Context, Feedback, Input
from kafkabal.routing.routing_view import RoutingView


class PowerOfDState(NamedTuple):
    """Columns of the kernel."""

    available: list[int]
    leader: list[int]
    used_bytes: list[float]
    """By broker: as of the last view, plus what this producer sent since."""
    capacity_bytes: list[float]


@kernel
def pick_kernel(
    state: PowerOfDState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The least used of the drawn ones; the first of equals."""
    available, leader, used_bytes, capacity_bytes = state
    n = len(available)
    best = available[int(uniforms[0] * n)]
    picked = leader[best]
    least = used_bytes[picked] / capacity_bytes[picked]
    for i in range(1, len(uniforms)):
        partition = available[int(uniforms[i] * n)]
        broker = leader[partition]
        used = used_bytes[broker] / capacity_bytes[broker]
        if used < least:
            best, picked, least = partition, broker, used
    used_bytes[picked] += size_bytes
    return best


class PowerOfD(PerRecordPolicy):
    """Least used ratio among d draws with replacement; own records count as soon as they are sent.

    Parameters
    ----------
    d
        Draws per record, 1 to 100; 1 is random.
    """

    about: ClassVar = About(
        name="power-of-d",
        meaning="the partition on the least used broker out of d drawn at random",
        source="Azar, Broder, Karlin, Upfal 1994; Mitzenmacher 2001",
        inputs=frozenset({Input.LOG_DIRS}),
        feedback=Feedback.SENT,
        ranges={"d": DRAWS},
    )
    pick_kernel = staticmethod(pick_kernel)
    hash_seeds = ()

    def __init__(self, context: Context, *, d: int = 2) -> None:
        self.about.expect(d=d)
        super().__init__(context)
        self.draws = d

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        self.state = PowerOfDState(
            available=view.available.tolist(),
            leader=view.leader.tolist(),
            used_bytes=view.used_bytes.tolist(),
            capacity_bytes=view.capacity_bytes.tolist(),
        )
