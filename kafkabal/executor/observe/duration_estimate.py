"""How long the copies of a run take under its throttle: between brokers, and between log dirs of one broker."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import RunPartition
from kafkabal.plan import bytes_of_copies, copy_s


def predicted_s(partitions: Sequence[RunPartition], throttle: Throttle) -> float | None:
    """Seconds until the last copy is complete; None if no throttle bounds the rate."""
    copied: Counter[int] = Counter()
    for p in partitions:
        copied.update(dict.fromkeys(dir_changes(p), p.copy_bytes))
    between_brokers = bytes_of_copies((p.previous.leader, p.to_add, p.copy_bytes) for p in partitions)
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
