"""How long the copies of a plan take at a rate."""

from __future__ import annotations

from collections import Counter

from kafkabal.plan.plan import Plan


def copy_s(plan: Plan, bytes_per_s: float) -> float:
    """Seconds of the busiest broker: what it receives, or its leaders send, one copy for each replica that comes."""
    busy: Counter[tuple[str, int]] = Counter()
    for change in plan.partitions:
        adding = change.adding
        if not adding:
            continue
        busy.update(dict.fromkeys((("in", broker) for broker in adding), change.bytes // len(adding)))
        if change.previous is not None:
            busy["out", change.previous.leader] += change.bytes
    return max(busy.values(), default=0) / bytes_per_s
