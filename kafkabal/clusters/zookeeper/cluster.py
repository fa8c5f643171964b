"""A Kafka cluster with ZooKeeper as a :class:`~kafkabal.clusters.cluster_protocol.Cluster`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from kafkabal.clusters.clock import Clock, SystemClock
from kafkabal.clusters.cluster_protocol import (
    Capability,
    ClusterLock,
    Fault,
    NewTopic,
    Reassignment,
)
from kafkabal.clusters.kafka import KafkaCluster, factor_changes
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.clusters.zookeeper.znode_lock import ZookeeperLock, lock_holders
from kafkabal.clusters.zookeeper.znodes import RESPONDS_WITHIN_S, Znodes
from kafkabal.config import ConnectionSettings, ZookeeperAddress
from kafkabal.model import TopicPartition

_NO_CANCEL = Fault("UNSUPPORTED_VERSION", "brokers before Kafka 2.4 cannot cancel a reassignment")


class ZookeeperCluster(KafkaCluster):
    """Finds brokers through ZooKeeper and then talks to them directly; the lock is in ZooKeeper.

    With brokers older than Kafka 2.4, znodes are used for reassignments; with those older than 2.2, also for elections.

    Raises
    ------
    UnreachableError
        If ZooKeeper does not respond, or lists no broker.
    """

    source = "zookeeper"

    def __init__(self, address: ZookeeperAddress, clock: Clock | None = None) -> None:
        self._servers = address.servers
        settings = address.connection or ConnectionSettings(bootstrap_servers=())
        self._within_s = min(RESPONDS_WITHIN_S, settings.connect_timeout_s)
        self._znodes = Znodes(address.servers, self._within_s)
        try:
            found = self._znodes.bootstrap_servers(settings.security_protocol)
        except BaseException:
            self._znodes.close()
            raise
        clock = clock or SystemClock()
        super().__init__(replace(settings, bootstrap_servers=found), clock)
        self._lock_clock = clock

    @property
    def name(self) -> str:
        """Its ZooKeeper."""
        return f"zookeeper {self._servers}"

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The brokers' capabilities, and those that ZooKeeper adds."""
        return super().capabilities | {Capability.REASSIGN, Capability.ELECT_LEADERS, Capability.LOCK}

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics; returns those that failed.

        A controller with ZooKeeper would accept unknown brokers, and the topic would be offline forever.
        """
        registered = self.broker_ids()
        faults = {
            topic.name: Fault("INVALID_REPLICA_ASSIGNMENT", "names a broker that is not registered")
            for topic in topics
            if any(not registered.issuperset(brokers) for brokers in topic.assignment)
        }
        sound = [topic for topic in topics if topic.name not in faults]
        return faults | dict(super().create_topics(sound, validate_only=validate_only)) if sound else faults

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """Start reassignments, or cancel those whose target is None; returns those that failed."""
        if Capability.REASSIGN in super().capabilities:
            return super().alter_reassignments(targets, allow_replication_factor_change=allow_replication_factor_change)
        faults = {name: _NO_CANCEL for name, target in targets.items() if target is None}
        requested = {name: target for name, target in targets.items() if target is not None}
        if not allow_replication_factor_change:
            now = self.partition_status({name.topic for name in requested})
            faults |= factor_changes(requested, {name: status.replicas for name, status in now.items()})
            requested = {name: target for name, target in requested.items() if name not in faults}
        if requested:
            self._znodes.reassign(requested)
        return faults

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """All reassignments in flight."""
        if Capability.REASSIGN in super().capabilities:
            return super().reassignments()
        asked = self._znodes.reassignments()
        now = self.partition_status({name.topic for name in asked})
        return {
            name: Reassignment(
                # the old replicas stay in the list until it completes
                replicas=tuple(dict.fromkeys((*now[name].replicas, *target))),
                adding=tuple(b for b in target if b not in now[name].replicas),
                removing=tuple(b for b in now[name].replicas if b not in target),
            )
            for name, target in asked.items()
            if name in now
        }

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """Elect the first replica of each; returns those that failed; one that already leads counts as elected."""
        if Capability.ELECT_LEADERS in super().capabilities:
            return super().elect_preferred_leaders(partitions)
        self._znodes.elect(partitions)
        return {}

    def lock(self, request: LockRequest) -> ClusterLock:
        """Acquire the lock of this cluster, or a separate lock for another purpose than changing it.

        Raises
        ------
        BusyError
            If another process holds it; the message names the holder.
        """
        return ZookeeperLock(self._servers, self._lock_clock, request, self._within_s)

    def lock_holders(self) -> tuple[str, ...]:
        """The holders of the cluster's lock, by the names they gave; does not acquire it."""
        return lock_holders(self._servers, self._within_s)

    def close(self) -> None:
        """Close all connections."""
        super().close()
        self._znodes.close()
