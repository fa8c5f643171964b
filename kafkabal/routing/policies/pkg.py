"""``pkg``: partial key grouping, every key has two partitions and each record takes the emptier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from kafkabal.routing.compiled import kernel
from kafkabal.routing.decision import DecisionPolicy
from kafkabal.routing.policy import About, Feedback, Input

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView

# two hash functions of one family; any two seeds do
HASH_SEEDS = (13, 17)


class State(NamedTuple):
    """Columns of the decision."""

    available: list[int]
    sent_bytes: list[int]
    """Of each partition, by this producer alone."""


@kernel
def choose(state: Any, size_bytes: Any, hashes: Any, uniforms: Any, now_s: Any) -> int:
    """The one of two partitions that this producer sent fewer bytes to; the first of equals."""
    n = len(state.available)
    if hashes[0] >= 0:
        a = state.available[hashes[0] % n]
        b = state.available[hashes[1] % n]
    else:
        a = state.available[int(uniforms[0] * n)]
        b = state.available[int(uniforms[1] * n)]
    best: int = b if state.sent_bytes[b] < state.sent_bytes[a] else a
    state.sent_bytes[best] += size_bytes
    return best


class PartialKeyGrouping(DecisionPolicy):
    """Two choices by two hashes of the key, judged by what the producer itself has sent; without a key, by chance."""

    about: ClassVar = About(
        name="pkg",
        meaning="the emptier of the two partitions that two hashes of the key give",
        source="Nasir et al., The Power of Both Choices, ICDE 2015 (arXiv 1504.00788)",
        inputs=frozenset({Input.KEYS}),
        feedback=Feedback.SENT,
    )
    choose = staticmethod(choose)
    hash_seeds = HASH_SEEDS
    draws = 2

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        sent = getattr(self, "state", None)
        same = sent is not None and len(sent.sent_bytes) == view.n_partitions
        self.state = State(
            available=view.available.tolist(),
            sent_bytes=sent.sent_bytes if same else [0] * view.n_partitions,
        )
