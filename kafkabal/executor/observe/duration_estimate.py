"""How long the copies of a run take under its throttle.

The time is the busiest broker's: what its leaders send, one copy per adding replica, over the leader rate; what
it receives over the follower rate; what it copies between its log dirs over that rate. Fetching in rounds and the last
segments cost 10 to 20 % on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import PlannedPartition

_OVERHEAD = 1.12
"""Between 1.1 and 1.2, where real runs under throttles of 5 to 50 MB/s ended; tests/live/test_prediction.py holds
it."""


def predicted_s(partitions: Iterable[PlannedPartition], throttle: Throttle) -> float | None:
    """Seconds until the last copy is there; None where no throttle bounds the rate."""
    sent: Counter[int] = Counter()
    received: Counter[int] = Counter()
    copied: Counter[int] = Counter()
    for p in partitions:
        sent[p.previous.leader] += p.copy_bytes * len(p.adding)
        received.update(dict.fromkeys(p.adding, p.copy_bytes))
        copied.update(dict.fromkeys(dir_changes(p), p.copy_bytes))
    between_s = _busiest_s((sent, received), throttle.bytes_per_s)
    within_s = _busiest_s((copied,), throttle.log_dir_bytes_per_s)
    if between_s is None or within_s is None:
        return None
    return max(between_s, within_s) * _OVERHEAD


def _busiest_s(loads: tuple[Counter[int], ...], bytes_per_s: int | None) -> float | None:
    busiest = max((count for load in loads for count in load.values()), default=0)
    if not busiest:
        return 0.0
    return busiest / bytes_per_s if bytes_per_s else None


def dir_changes(p: PlannedPartition) -> list[int]:
    """Brokers that keep their copy and are to have it in another log dir."""
    previous = p.previous_dirs
    return [b for b, path in p.target_dirs.items() if b in previous and previous[b] != path]
