"""Take over reassignments that another tool has started: from then on they are a run like any other.

Everything needed to resume or cancel them is known: before, a partition was on its current replicas without those being
added; afterwards, it is on them without those being removed. Only the previous order of replicas is lost, since Kafka
does not keep it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafkabal.clusters import ClusterLock, Reassignment
from kafkabal.errors import UsageError
from kafkabal.executor.begin_run import begin_run
from kafkabal.executor.execute_run import execute
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.state.find_run import find_run
from kafkabal.executor.state.run_states import Goal
from kafkabal.executor.throttle.leftover_throttles import (
    LeftoverThrottle,
    find_leftover_throttles,
    resources_of,
    throttles_on,
)
from kafkabal.model import ClusterState, TopicPartition, move_bytes
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan, partition_rows


@dataclass(frozen=True, slots=True)
class ForeignReassignment:
    """A reassignment in flight that belongs to no open run of ours."""

    name: TopicPartition
    reassignment: Reassignment
    leader: int
    """Broker id; -1 if there is none."""
    copy_bytes: int
    """Bytes of one copy; 0 if unknown."""
    arrived: Mapping[int, int]
    """Bytes that have arrived at each adding broker, as far as they report it."""

    @property
    def before(self) -> tuple[int, ...]:
        """Replicas before the reassignment started."""
        return tuple(b for b in self.reassignment.replicas if b not in self.reassignment.adding)

    @property
    def moved_bytes(self) -> int:
        """Bytes of all copies that the reassignment makes."""
        return self.copy_bytes * len(self.reassignment.adding)

    @property
    def left_bytes(self) -> int:
        """Bytes that have not arrived yet."""
        return sum(max(self.copy_bytes - self.arrived.get(b, 0), 0) for b in self.reassignment.adding)


def find_foreign(environment: RunEnvironment) -> tuple[ForeignReassignment, ...]:
    """Reassignments that another tool has started, by name."""
    cluster, found = environment.cluster, find_run(environment)
    ours = {p.name for p in found.record.partitions} if found is not None and found.is_open else set()
    running = {name: r for name, r in cluster.reassignments().items() if name not in ours}
    if not running:
        return ()
    state = environment.read_state()
    status = cluster.partition_status({name.topic for name in running})
    sizes = move_bytes(state)
    rows = dict(partition_rows(state, running))

    def foreign(name: TopicPartition) -> ForeignReassignment:
        leader = status[name].leader if name in status else -1
        if name not in rows:
            return ForeignReassignment(name, running[name], leader, 0, {})
        size = max(int(sizes[rows[name]]), 0)
        return ForeignReassignment(name, running[name], leader, size, _known_sizes(state, rows[name]))

    return tuple(foreign(name) for name in sorted(running))


def _known_sizes(state: ClusterState, row: int) -> dict[int, int]:
    """Broker to the bytes of its replica of a partition, without those that are unknown."""
    replicas = state.replicas
    of_partition = (replicas.partition == row) & (replicas.size_bytes >= 0)
    ids = state.brokers.id[replicas.broker[of_partition]]
    return dict(zip(ids.tolist(), replicas.size_bytes[of_partition].tolist(), strict=True))


def throttles_set(environment: RunEnvironment, foreign: Sequence[ForeignReassignment]) -> tuple[LeftoverThrottle, ...]:
    """Throttles, set by any tool, that the brokers and topics of these reassignments have now."""
    return throttles_on(environment.cluster, resources_of((f.name, f.reassignment.replicas) for f in foreign)).found


def throttles_left(environment: RunEnvironment, foreign: Sequence[ForeignReassignment]) -> tuple[LeftoverThrottle, ...]:
    """Throttles on their brokers and topics that no reassignment needs any more.

    A tool sets them before its reassignments and removes them afterwards. A run that takes the reassignments over
    cannot tell them from an operator's throttles.
    """
    among = resources_of((f.name, f.reassignment.replicas) for f in foreign)
    return find_leftover_throttles(environment.cluster, among).found


def adopt(
    environment: RunEnvironment,
    foreign: Sequence[ForeignReassignment],
    options: RunOptions,
    *,
    cancels: bool,
    lock: ClusterLock | None = None,
) -> RunResult:
    """Take the reassignments over, under the lock and in the journal, and wait until they finish, or cancel them.

    Parameters
    ----------
    lock
        The lock of the cluster if it is already held; the run releases it at the end.

    Raises
    ------
    UsageError
        If there is no such reassignment.
    BusyError, UnsafeError
        If another run is active or unfinished.
    KafkabalError
        The error that ended the run early.
    """
    if not foreign:
        raise UsageError(
            "no reassignment of another tool in flight", hint="see what is in flight with 'kafkabal rebalance status'"
        )
    # we record the start, since Kafka forgets it once a move has ended: without it nothing could be rolled back
    previous = {f.name: _placement(f.before, f.leader) for f in foreign}
    plan = Plan(
        partitions=tuple(
            PartitionChange(
                topic=f.name.topic,
                partition=f.name.partition,
                replicas=f.reassignment.target,
                log_dirs=(ANY_DIR,) * len(f.reassignment.target),
                previous=previous[f.name],
                bytes=f.moved_bytes,
                reason="started by another tool",
            )
            for f in foreign
        ),
        cluster_id=environment.cluster.cluster_id(),
        options={"adopted": True},
    )
    goal = Goal.CANCEL if cancels else Goal.APPLY
    context = begin_run(environment, plan, options, skip_drifted=True, previous=previous, goal=goal, lock=lock)
    if context is None:
        raise UsageError("the reassignments have finished meanwhile", hint="check the result with 'kafkabal inspect'")
    return execute(context, goal)


def _placement(replicas: tuple[int, ...], leader: int) -> Placement:
    return Placement(replicas=replicas, leader=leader, log_dirs=(ANY_DIR,) * len(replicas))
