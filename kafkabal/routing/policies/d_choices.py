"""``d-choices``: heavy keys get as many partitions as they need, the others two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.heavy_key_choices import choices_needed
from kafkabal.routing.heavy_keys import HeavyKeys, count_key
from kafkabal.routing.policies.pkg import PartialKeyGrouping
from kafkabal.routing.policy_protocol import About, Feedback, Input

_RECOMPUTE_EVERY = 1000
"""d is recomputed after this many keyed records: it takes 30 µs for 12 partitions and 230 µs for 300, at most a tenth
of a pick per record."""


class DChoicesState(NamedTuple):
    """Columns of the kernel."""

    available: list[int]
    sent_bytes: list[int]
    head: list[int]
    """Two items: keyed records so far, and the current number of choices of a heavy key."""
    heavy: HeavyKeys


@kernel
def pick_kernel(
    state: DChoicesState, size_bytes: int, hashes: Sequence[int], uniforms: Sequence[float], now_s: float
) -> int:
    """The least loaded of d partitions for a heavy key (of all if it needs them), of two for any other."""
    available = state.available
    n = len(available)
    if hashes[0] < 0:
        best = less_loaded_of(state, available[int(uniforms[0] * n)], available[int(uniforms[1] * n)])
    else:
        best = less_loaded_of(state, available[hashes[0] % n], available[hashes[1] % n])
        if is_heavy(state, hashes[0], n):
            if state.head[0] % _RECOMPUTE_EVERY == 0 or state.head[1] < 2:
                state.head[1] = choices_needed(state.heavy.counts, count_heavy_keys(state, n), state.head[0], n)
            best = least_loaded_of_d(state, hashes, best) if state.head[1] < n else least_loaded_of_all(state, best)
    state.sent_bytes[best] += size_bytes
    return best


@kernel
def least_loaded_of_d(state: DChoicesState, hashes: Sequence[int], best: int) -> int:
    """The least loaded of the partitions that d hashes of the key give, which may coincide; the first of equals."""
    available = state.available
    n = len(available)
    for i in range(2, state.head[1]):
        mixed = (hashes[0] + i * hashes[1]) & 0x7FFFFFFF
        mixed = ((mixed * 1103515245 + 12345) & 0x7FFFFFFF) >> 8
        best = less_loaded_of(state, best, available[mixed % n])
    return best


@kernel
def least_loaded_of_all(state: DChoicesState, best: int) -> int:
    """The least loaded of all partitions; of equals ``best``, or the first."""
    for partition in state.available:
        best = less_loaded_of(state, best, partition)
    return best


@kernel
def less_loaded_of(state: DChoicesState, a: int, b: int) -> int:
    """The one of two partitions that this producer sent fewer bytes to; the first of equals."""
    sent_bytes = state.sent_bytes
    return b if sent_bytes[b] < sent_bytes[a] else a


@kernel
def is_heavy(state: DChoicesState, key: int, n: int) -> bool:
    """Count a key; returns whether it makes up more than 1 / (5 n) of the keyed records."""
    state.head[0] += 1
    return count_key(state.heavy, key) * 5 * n > state.head[0]


@kernel
def count_heavy_keys(state: DChoicesState, n: int) -> int:
    """The current number of heavy keys."""
    found = 0
    at = len(state.heavy.counts) - 1
    while at >= 0 and state.heavy.counts[at] * 5 * n > state.head[0]:
        found += 1
        at -= 1
    return found


class DChoices(PartialKeyGrouping):
    """Partial key grouping, with d choices for keys that are too heavy for two partitions.

    If they need as many choices as there are partitions, they may go anywhere, as in W-Choices: that many hashes would
    meet in some partitions and miss others.
    """

    about: ClassVar = About(
        name="d-choices",
        meaning="the less loaded of two partitions by hashes of the key; of as many as needed for heavy keys",
        source="Nasir et al., When Two Choices Are not Enough, ICDE 2016 (arXiv 1510.05714)",
        inputs=frozenset({Input.KEYS}),
        feedback=Feedback.SENT,
    )
    pick_kernel = staticmethod(pick_kernel)

    def _empty_state(self, n_partitions: int) -> Any:
        # 1 / f counters are enough to count every key of frequency f; twice as many keep the counts close
        return DChoicesState([], [0] * n_partitions, [0, 0], HeavyKeys.empty(10 * n_partitions))
