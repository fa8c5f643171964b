"""Chooses what may start next: bounded per broker and direction, per log dir and per cluster, never onto a full disk.

Waiting partitions are considered in order of size, largest first: a large copy that starts late makes the run late. A
leader sends a copy to every added replica, so limits on outgoing copies spread the work over leaders. A copy that takes
less time than one observation counts as a fraction of a move; otherwise brokers with small partitions would be idle
between two observations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from kafkabal.executor.observe.disk_room import DiskRoom
from kafkabal.executor.observe.observation import Stage
from kafkabal.executor.reassign.partition_task import PartitionTask
from kafkabal.executor.run_options import RunLimits
from kafkabal.model import TopicPartition

_LEAST_FRACTION = 0.02
"""Least fraction of a move that a copy counts as: at most 50 tiny partitions count as one move. Nearer to 0, a broker
would be asked for thousands of copies at once."""
_NEARLY_FULL = 1e-9
"""Rounding error allowed in sums of fractions; without it ten tenths would exceed one move."""


@dataclass(slots=True)
class ConcurrentMoves:
    """Concurrent moves by broker and direction, by log dir, and in total, against their limits."""

    limits: RunLimits
    bytes_per_observation: float
    """Bytes that one broker copies between two observations; 0 if unknown."""
    inbound: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    outbound: defaultdict[int, float] = field(default_factory=lambda: defaultdict(float))
    copying: defaultdict[tuple[int, str], float] = field(default_factory=lambda: defaultdict(float))
    in_all: float = 0.0
    full_leaders: set[int] = field(default_factory=set)
    """Brokers that are at their limit of outgoing copies."""
    full_destinations: set[int] = field(default_factory=set)
    """Brokers that are at their limit of incoming copies."""

    def take(self, task: PartitionTask) -> None:
        """Count the moves of a task that is running or about to start."""
        fraction = self._fraction(task)
        if task.stage in (Stage.MISPLACED, Stage.COPYING):
            for target in task.misplaced.items():
                self.copying[target] += fraction
            return
        arriving = task.copying_to if task.is_running else task.to_add
        if not arriving or task.waits_in_place:
            return
        for broker in arriving:
            self.inbound[broker] += fraction
            if not _fits(self.inbound[broker], _LEAST_FRACTION, self.limits.moves_in_per_broker):
                self.full_destinations.add(broker)
        self.outbound[task.leader] += fraction * len(arriving)
        if not _fits(self.outbound[task.leader], _LEAST_FRACTION, self.limits.moves_out_per_broker):
            self.full_leaders.add(task.leader)
        self.in_all += fraction

    def fits(self, task: PartitionTask) -> bool:
        """Whether a task may start; one that exceeds a limit by itself may start alone."""
        fraction, limits = self._fraction(task), self.limits
        if task.stage is Stage.MISPLACED:
            return all(_fits(self.copying[t], fraction, limits.copies_per_log_dir) for t in task.misplaced.items())
        to_add = task.to_add
        return (
            _fits(self.in_all, fraction, limits.moves_per_cluster)
            and _fits(self.outbound[task.leader], fraction * len(to_add), limits.moves_out_per_broker)
            and all(_fits(self.inbound[b], fraction, limits.moves_in_per_broker) for b in to_add)
        )

    def is_full_for(self, task: PartitionTask) -> bool:
        """Whether a broker of a task is at a limit; quick, for the many tasks that wait for one."""
        return task.leader in self.full_leaders or not self.full_destinations.isdisjoint(task.to_add)

    @property
    def is_full(self) -> bool:
        """Whether the limit of the whole cluster is reached."""
        return self.in_all + _LEAST_FRACTION > self.limits.moves_per_cluster + _NEARLY_FULL

    def _fraction(self, task: PartitionTask) -> float:
        if not self.bytes_per_observation:
            return 1.0
        return min(max(task.target.copy_bytes / self.bytes_per_observation, _LEAST_FRACTION), 1.0)


@dataclass(frozen=True, slots=True)
class MoveBatch:
    """Tasks that start now, and tasks that wait only for disk space, with the reason."""

    starting: list[PartitionTask]
    held_up: dict[PartitionTask, str]


def start_order(task: PartitionTask) -> tuple[int, TopicPartition]:
    """The sort key for starting tasks: the largest first, equal ones by name.

    A large copy that starts late makes the run late.
    """
    return -task.target.copy_bytes, task.name


def choose_batch(waiting: Iterable[PartitionTask], concurrent: ConcurrentMoves, disks: DiskRoom) -> MoveBatch:
    """Choose the tasks to start; count their moves and reserve their disk space.

    Parameters
    ----------
    waiting
        Waiting tasks, sorted by :func:`start_order`.
    """
    starting: list[PartitionTask] = []
    held_up: dict[PartitionTask, str] = {}
    for task in waiting:
        if task.to_add and concurrent.is_full_for(task):
            continue
        if not task.to_add and not task.misplaced:
            starting.append(task)  # only another order or fewer replicas: takes effect at once
        elif concurrent.fits(task):
            arriving = arrivals(task)
            obstacles = (disks.obstacle(b, path, task.target.copy_bytes) for b, path in arriving)
            if (obstacle := next(filter(None, obstacles), None)) is not None:
                held_up[task] = obstacle
                continue
            for broker, path in arriving:
                disks.reserve(broker, path, task.target.copy_bytes)
            concurrent.take(task)
            starting.append(task)
            if concurrent.is_full:
                break
    return MoveBatch(starting, held_up)


def arrivals(task: PartitionTask) -> list[tuple[int, str | None]]:
    """Broker and path (None for any) of each copy that the next step of a task makes."""
    if task.stage in (Stage.MISPLACED, Stage.COPYING):
        return list(task.misplaced.items())
    return [(b, task.target.log_dirs.get(b)) for b in task.to_add]


def _fits(used: float, fraction: float, limit: int) -> bool:
    return used <= _NEARLY_FULL or used + fraction <= limit + _NEARLY_FULL
