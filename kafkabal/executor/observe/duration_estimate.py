"""How long the copies of a run take under its throttle: between brokers, and between log dirs of one broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.plan import bytes_of_copies, copy_s


@dataclass(frozen=True, slots=True)
class PartitionCopies:
    """Bytes that are to be copied of one partition."""

    leader: int
    """Broker that sends the copies; -1 if unknown."""
    between_brokers: Mapping[int, int]
    """Bytes by the broker that receives them."""
    between_log_dirs: Mapping[int, int]
    """Bytes by the broker that copies them from one of its log dirs to another."""


def planned_copies(p: RunPartition) -> PartitionCopies:
    """What the run is to copy of a partition from its previous placement to its target."""
    between_brokers, between_log_dirs = (dict.fromkeys(to, p.copy_bytes) for to in (p.to_add, dir_changes(p)))
    return PartitionCopies(p.previous.leader, between_brokers, between_log_dirs)


def predicted_s(copies: Collection[PartitionCopies], throttle: Throttle) -> float | None:
    """Seconds until the last copy is complete; None if no throttle bounds the rate."""
    copied: Counter[int] = Counter()
    for one in copies:
        copied.update(one.between_log_dirs)
    between_brokers = bytes_of_copies((c.leader, (b,), size) for c in copies for b, size in c.between_brokers.items())
    between_s = _bounded_s(between_brokers, throttle.bytes_per_s)
    within_s = _bounded_s((copied,), throttle.log_dir_bytes_per_s)
    return None if between_s is None or within_s is None else max(between_s, within_s)


def _bounded_s(loads: Iterable[Mapping[int, int]], bytes_per_s: int | None) -> float | None:
    if bytes_per_s:
        return copy_s(loads, bytes_per_s)
    return None if any(any(load.values()) for load in loads) else 0.0


def dir_changes(p: RunPartition) -> list[int]:
    """Brokers that keep their copy but in another log dir."""
    previous = p.previous_dirs
    return [b for b, path in p.target_dirs.items() if b in previous and previous[b] != path]
