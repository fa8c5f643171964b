"""``pkg``: partial key grouping; each record takes the less loaded of its key's two partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.policy_protocol import About, Feedback, Input
from kafkabal.routing.routing_view import RoutingView

# two hash functions of one family; any two seeds do
HASH_SEEDS = (13, 17)


class PkgState(NamedTuple):
    """Columns of the kernel."""

    available: list[int]
    sent_bytes: list[int]
    """By partition, counting this producer only."""


@kernel
def pick_kernel(
    state: PkgState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The one of two partitions that this producer sent fewer bytes to; the first of equals."""
    available, sent_bytes = state
    n = len(available)
    if hashes[0] >= 0:
        a, b = available[hashes[0] % n], available[hashes[1] % n]
    else:
        a, b = available[int(uniforms[0] * n)], available[int(uniforms[1] * n)]
    best: int = b if sent_bytes[b] < sent_bytes[a] else a
    sent_bytes[best] += size_bytes
    return best


class PartialKeyGrouping(PerRecordPolicy):
    """Two choices by two hashes of the key, compared by what the producer itself has sent; random without a key."""

    about: ClassVar = About(
        name="pkg",
        meaning="the less loaded of two partitions by hashes of the key",
        source="Nasir et al., The Power of Both Choices, ICDE 2015 (arXiv 1504.00788)",
        inputs=frozenset({Input.KEYS}),
        feedback=Feedback.SENT,
    )
    pick_kernel: ClassVar[Callable[..., int]] = staticmethod(pick_kernel)
    hash_seeds = HASH_SEEDS
    draws = 2

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None or len(before.sent_bytes) != view.n_partitions:
            before = self._empty_state(view.n_partitions)
        self.state = before._replace(available=view.available.tolist())

    def _empty_state(self, n_partitions: int) -> Any:
        """The state of a policy that has sent nothing; it has ``available`` and ``sent_bytes``, whatever a subclass
        adds."""
        return PkgState([], [0] * n_partitions)
