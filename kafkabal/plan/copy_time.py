"""How long copies take at a given rate: the busiest broker decides.

For each broker: the bytes its leaders send, one copy per receiving broker, and the bytes it receives, each divided by
the rate, which Kafka applies to both ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kafkabal.plan.plan import PartitionChange

_OVERHEAD = 1.12
"""For fetch rounds and last segments: real runs under throttles of 5 to 50 MB/s took 1.1 to 1.2 times as long; checked
by tests/live/test_prediction.py."""


def copy_s(loads: Iterable[Mapping[int, int]], bytes_per_s: float) -> float:
    """Seconds until the last broker is done, from bytes by broker in each direction."""
    busiest = max((count for load in loads for count in load.values()), default=0)
    return busiest / bytes_per_s * _OVERHEAD


def bytes_of_copies(copies: Iterable[tuple[int, Sequence[int], int]]) -> tuple[Counter[int], Counter[int]]:
    """Bytes that each broker sends, and that each receives.

    Parameters
    ----------
    copies
        For each partition: its leader, -1 if unknown; the brokers that receive a copy; the bytes of one copy.
    """
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    for leader, to_add, copy_bytes in copies:
        for broker in to_add:
            received[broker] += copy_bytes
        if leader >= 0:
            sent[leader] += copy_bytes * len(to_add)
    return sent, received


def plan_copy_s(changes: Iterable[PartitionChange], bytes_per_s: float) -> float:
    """Seconds that the copies of a plan take."""
    copies = (
        (c.previous.leader if c.previous else -1, to_add, c.bytes // len(to_add))
        for c in changes
        if (to_add := c.to_add)
    )
    return copy_s(bytes_of_copies(copies), bytes_per_s)
