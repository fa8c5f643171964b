"""``w-choices``: heavy keys may go anywhere, the others to two partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.policies.d_choices import DChoices, DChoicesState, is_heavy, least_loaded_of_all, less_loaded_of
from kafkabal.routing.policy_protocol import About, Feedback, Input


@kernel
def pick_kernel(
    state: DChoicesState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The least loaded of all partitions for a heavy key, of two for any other; the first of equals."""
    n = len(state.available)
    if hashes[0] < 0:
        best = less_loaded_of(state, state.available[int(uniforms[0] * n)], state.available[int(uniforms[1] * n)])
    else:
        best = less_loaded_of(state, state.available[hashes[0] % n], state.available[hashes[1] % n])
        if is_heavy(state, hashes[0], n):
            best = least_loaded_of_all(state, best)
    state.sent_bytes[best] += size_bytes
    return best


class WChoices(DChoices):
    """Partial key grouping, with every partition open to heavy keys."""

    about: ClassVar = About(
        name="w-choices",
        meaning="the less loaded of two partitions by hashes of the key; of all for heavy keys",
        source="Nasir et al., When Two Choices Are not Enough, ICDE 2016 (arXiv 1510.05714)",
        inputs=frozenset({Input.KEYS}),
        feedback=Feedback.SENT,
    )
    pick_kernel = staticmethod(pick_kernel)
