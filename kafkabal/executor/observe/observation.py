"""One observation of some partitions of the cluster, and the stage of each of them.

The cluster is asked in this order: which brokers are alive, which reassignments are in flight, what the metadata says,
what the brokers hold. The answers are not of one moment: a reassignment may end in between, and metadata may lag behind
the controller. The replicas seen are then one of the sets of :attr:`TargetPlacement.passing`, and the next observation
decides.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from kafkabal.clusters import Cluster, Fault, PartitionStatus, Reassignment, ReplicaLog, ReplicaOn
from kafkabal.executor.reassign.target_placement import TargetPlacement
from kafkabal.model import TopicPartition


class Stage(StrEnum):
    """Where a partition is on its way to its target."""

    WAITING = "waiting"
    """Its replicas are not those of the target, and no reassignment is in flight."""
    MOVING = "moving"
    """A reassignment to the target is in flight."""
    LAGGING = "lagging"
    """No reassignment is in flight, but metadata shows the replicas of one: it lags, or another tool set them."""
    WRONG_TARGET = "wrong-target"
    """A reassignment of ours to another placement is in flight."""
    MISPLACED = "misplaced"
    """The right brokers hold it, but one of them in the wrong log dir."""
    COPYING = "copying"
    """A copy to the right log dir is in flight."""
    LOG_DIR_UNKNOWN = "log-dir-unknown"
    """The right brokers hold it, but one of them does not report in which log dir."""
    PLACED = "placed"
    """At its target."""
    FOREIGN = "foreign"
    """Another tool is moving it, or has moved it."""
    GONE = "gone"
    """Its topic was deleted."""


@dataclass(frozen=True, slots=True)
class Observation:
    """What was observed."""

    brokers: frozenset[int]
    """Ids of the live brokers."""
    reassignments: Mapping[TopicPartition, Reassignment]
    status: Mapping[TopicPartition, PartitionStatus]
    logs: Mapping[ReplicaOn, ReplicaLog]
    no_response: Mapping[int, Fault]
    """Brokers that were asked for their logs and did not respond."""

    @property
    def responding(self) -> frozenset[int]:
        """Live brokers, except those that were asked and did not respond."""
        return self.brokers - self.no_response.keys()

    def stage(self, target: TargetPlacement) -> Stage:
        """The stage of a partition."""
        status = self.status.get(target.name)
        running = self.reassignments.get(target.name)
        # otherwise the plan would move a topic that was recreated under the name of its predecessor
        if status is None or _is_another_topic(status, target):
            return Stage.GONE
        # first: while the controller works on a partition, its replicas are the union of both ends and prove nothing
        if running is not None:
            return _stage_of_running(target, running)
        if status.replicas == target.replicas:
            return self._stage_of_log_dirs(target)
        found = frozenset(status.replicas)
        if found in target.resting:
            return Stage.WAITING
        # neither end of a move, and not in flight: lagging metadata, or the work of another tool, which is left alone
        return Stage.LAGGING if found in target.passing else Stage.FOREIGN

    def misplaced(self, target: TargetPlacement) -> dict[int, str]:
        """Target dirs of brokers that hold the partition in another log dir, or are copying it to one."""
        return {
            replica.broker: path
            for replica, path in _replicas(target).items()
            if (log := self.logs.get(replica)) is not None
            and (path != log.log_dir or log.future_log_dir not in (None, path))
        }

    def unseen(self, target: TargetPlacement) -> tuple[int, ...]:
        """Brokers with a target log dir that did not report which one holds the partition."""
        return tuple(replica.broker for replica in _replicas(target) if replica not in self.logs)

    def arrived_bytes(self, target: TargetPlacement) -> dict[int, int]:
        """Bytes that have arrived so far at each adding broker, or in each copy between log dirs."""
        running = self.reassignments.get(target.name)
        arrived: dict[int, int] = {}
        for broker in running.adding if running else target.log_dirs:
            log = self.logs.get(ReplicaOn(*target.name, broker))
            if log is not None and (running is not None or log.future_log_dir is not None):
                arrived[broker] = log.size_bytes if running else log.future_bytes
        return arrived

    def _stage_of_log_dirs(self, target: TargetPlacement) -> Stage:
        on_the_way = is_unseen = False
        for replica, path in _replicas(target).items():
            log = self.logs.get(replica)
            if log is None:
                is_unseen = True
            elif path != log.log_dir or log.future_log_dir is not None:
                if log.future_log_dir != path:
                    return Stage.MISPLACED
                on_the_way = True
        return Stage.COPYING if on_the_way else Stage.LOG_DIR_UNKNOWN if is_unseen else Stage.PLACED


def observe(cluster: Cluster, partitions: Collection[TargetPlacement]) -> Observation:
    """Read these partitions, and all reassignments in flight."""
    brokers = cluster.broker_ids()
    # before the replicas: a move that ends between the two reads is then seen as in flight once more, not as lagging
    reassignments = cluster.reassignments()
    status = cluster.partition_status({target.name.topic for target in partitions})
    logs, no_response = _logs(cluster, brokers, reassignments, partitions)
    return Observation(brokers, reassignments, status, logs, no_response)


def observe_again(cluster: Cluster, before: Observation, partitions: Collection[TargetPlacement]) -> Observation:
    """Observe other partitions shortly after an observation, and reuse its brokers and reassignments."""
    status = cluster.partition_status({target.name.topic for target in partitions})
    at_rest = [t for t in partitions if t.name in status and status[t.name].replicas == t.replicas]
    logs, no_response = _logs(cluster, before.brokers, before.reassignments, at_rest)
    return Observation(before.brokers, before.reassignments, status, logs, no_response)


def _logs(
    cluster: Cluster,
    brokers: frozenset[int],
    reassignments: Mapping[TopicPartition, Reassignment],
    partitions: Collection[TargetPlacement],
) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
    """Log dirs of partitions on the brokers that matter: those with a target log dir, and those that get a copy."""
    holders = {b for t in partitions for b in (*t.log_dirs, *_adding(reassignments, t))} & brokers
    return cluster.replica_logs(holders, {t.name for t in partitions}) if holders else ({}, {})


def _is_another_topic(status: PartitionStatus, target: TargetPlacement) -> bool:
    """Whether the topic was deleted and recreated under its name: what is known of the former topic is void."""
    return bool(status.topic_id and target.topic_id) and status.topic_id != target.topic_id


def _adding(reassignments: Mapping[TopicPartition, Reassignment], target: TargetPlacement) -> tuple[int, ...]:
    running = reassignments.get(target.name)
    return running.adding if running else ()


def _replicas(target: TargetPlacement) -> dict[ReplicaOn, str]:
    return {ReplicaOn(*target.name, broker): path for broker, path in target.log_dirs.items()}


def _stage_of_running(target: TargetPlacement, running: Reassignment) -> Stage:
    if running.target == target.replicas:
        return Stage.MOVING
    heading_for = frozenset(running.target)
    if heading_for not in target.resting:
        return Stage.FOREIGN
    is_step_on_the_way = target.by_steps and heading_for != frozenset(target.replicas)
    return Stage.MOVING if is_step_on_the_way else Stage.WRONG_TARGET
