"""Progress of a run's copies: how much is copied, how fast, and how long the rest may take."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence

from kafkabal.executor.observe.observation import Observation
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.run_events import RunProgress
from kafkabal.model import TopicPartition

_WINDOW_S = 30.0
"""The rate is a mean over this time: brokers report sizes in steps of one fetch, so over a few seconds it jumps; over
minutes, the time left would still follow a throttle that was changed long ago."""


def arrived_bytes(task: PartitionTask, seen: Observation) -> dict[int, int]:
    """Bytes of the copies in flight of a partition, by broker.

    A topic that is written to grows during the copy: without the limit, progress would exceed 100%.
    """
    return {b: min(count, task.target.copy_bytes) for b, count in seen.arrived_bytes(task.target).items()}


class CopyProgress:
    """Counts bytes by the sizes of arriving replicas.

    Parameters
    ----------
    before
        Bytes of copies in flight that do not count, since they arrived before, as when a crashed run is resumed.
    """

    def __init__(self, tasks: Sequence[PartitionTask], before: Mapping[TopicPartition, int]) -> None:
        self._missing = {t: (*t.missing_on, *t.misplaced) for t in tasks if not t.is_over}
        self._planned_bytes = sum(t.target.copy_bytes * len(brokers) for t, brokers in self._missing.items())
        self._before = {t: before[t.name] for t in self._missing if t.name in before}
        self._total_tasks = len(tasks)
        self._placed: set[PartitionTask] = set()
        self._arrived: Counter[int] = Counter()
        """Bytes of completed copies, by broker."""
        self._partial = dict(self._before)
        """Bytes of the copies that were in flight when last measured."""
        self._samples: deque[tuple[float, int]] = deque()
        self._changed_s = 0.0
        self._noted_bytes = 0

    @property
    def total_bytes(self) -> int:
        """Total bytes to copy."""
        return self._planned_bytes - sum(self._before.values())

    @property
    def done_bytes(self) -> int:
        """Bytes copied, those of incomplete copies included."""
        return self._arrived.total() + sum(self._partial.values()) - sum(self._before.values())

    @property
    def partial_bytes(self) -> dict[TopicPartition, int]:
        """All bytes of incomplete copies."""
        return {task.name: count for task, count in self._partial.items()}

    def finish(self, task: PartitionTask) -> int:
        """Count the copies of a task that is in place; returns their bytes."""
        if task in self._placed:
            return 0
        self._placed.add(task)
        self._partial.pop(task, None)
        brokers = self._missing.get(task, ())
        self._arrived.update(dict.fromkeys(brokers, task.target.copy_bytes))
        return task.target.copy_bytes * len(brokers)

    def measure(
        self, still_open: Sequence[PartitionTask], running: Sequence[PartitionTask], seen: Observation, now_s: float
    ) -> RunProgress:
        """Update the counts; the rate is over the last half minute."""
        arrived = self._arrived.copy()
        self._partial = {}
        for task in running:
            parts = arrived_bytes(task, seen)
            arrived.update(parts)
            self._partial[task] = sum(parts.values())
        # a copy that is lost or cancelled starts again from nothing, and then all of its bytes count
        lost = self._before.keys() - self._placed
        self._before |= {task: min(self._before[task], self._partial.get(task, 0)) for task in lost}
        self._note(now_s)
        rate = self._rate()
        postponed = sum(1 for t in still_open if t.problem and not t.is_running)
        return RunProgress(
            done_bytes=self.done_bytes,
            total_bytes=self.total_bytes,
            done_partitions=len(self._placed),
            total_partitions=self._total_tasks,
            in_flight=len(running),
            waiting=len(still_open) - len(running) - postponed,
            postponed=postponed,
            bytes_per_s=rate,
            left_s=max(self.total_bytes - self.done_bytes, 0) / rate if rate > 0 else None,
            arriving_bytes=dict(sorted(arrived.items())),
        )

    def seconds_without_a_byte(self, now_s: float) -> float:
        """Seconds since any byte arrived."""
        return now_s - self._changed_s

    def restart_stall(self, now_s: float) -> None:
        """Restart the wait for bytes now."""
        self._changed_s = now_s

    def _note(self, now_s: float) -> None:
        if self.done_bytes != self._noted_bytes:
            self._changed_s = now_s
        self._noted_bytes = self.done_bytes
        self._samples.append((now_s, self._noted_bytes))
        while self._samples[0][0] < now_s - _WINDOW_S:
            self._samples.popleft()

    def _rate(self) -> float:
        (first_s, first), (last_s, last) = self._samples[0], self._samples[-1]
        return max(last - first, 0) / (last_s - first_s) if last_s > first_s else 0.0
