"""A live Kafka cluster as a :class:`~kafkabal.clusters.cluster_protocol.Cluster`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial

from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    CreateTopicsRequest,
    DescribeLogDirsRequest,
    ElectLeadersRequest,
    IncrementalAlterConfigsRequest,
)
from kafka.protocol.consumer import JoinGroupRequest, ListOffsetsRequest, OffsetFetchRequest

from kafkabal.closing_context import ClosingContext
from kafkabal.clusters.clock import Clock, SystemClock
from kafkabal.clusters.cluster_protocol import (
    Capability,
    ClusterLock,
    ConsumerRacks,
    Fault,
    FirstRecord,
    NewTopic,
    PartitionStatus,
    Reading,
    ReadRequest,
    Reassignment,
    RecordStore,
    ReplicaLog,
    ReplicaOn,
    ResponseTime,
    TopicDescription,
)
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigValue
from kafkabal.clusters.kafka.authorized_operations import (
    Operation,
    cluster_operations,
    group_operations,
    topic_operations,
)
from kafkabal.clusters.kafka.broker_reachability import BrokerReachability, controller_time_s, reach_brokers
from kafkabal.clusters.kafka.compacted_topic_store import CompactedTopicStore
from kafkabal.clusters.kafka.configs import alter_configs, client_metrics_subscriptions, describe_configs
from kafkabal.clusters.kafka.consumer_racks import consumer_racks
from kafkabal.clusters.kafka.controller_quorum import quorum_voters
from kafkabal.clusters.kafka.create_topics import create_topics
from kafkabal.clusters.kafka.elections import elect_preferred_leaders
from kafkabal.clusters.kafka.group_lock import GroupLock, lock_holders
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.kafka.leader_and_group_offsets import first_records_since
from kafkabal.clusters.kafka.log_dirs import move_log_dirs, replica_logs
from kafkabal.clusters.kafka.metadata import describe_topic, partition_status
from kafkabal.clusters.kafka.reassignments import GUARD_VERSION, alter_reassignments, list_reassignments
from kafkabal.clusters.kafka.response_times import response_times
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.config import ConnectionSettings
from kafkabal.errors import KafkabalError
from kafkabal.model import TopicPartition

# the request and minimum version that a capability requires
_NEEDS = {
    Capability.LOG_DIRS: (DescribeLogDirsRequest, 1),
    Capability.VOLUME_BYTES: (DescribeLogDirsRequest, 4),
    Capability.OFFSETS: (ListOffsetsRequest, 1),
    Capability.GROUP_OFFSETS: (OffsetFetchRequest, 2),
    Capability.CREATE_TOPICS: (CreateTopicsRequest, 1),
    Capability.REASSIGN: (AlterPartitionReassignmentsRequest, 0),
    Capability.REPLICATION_FACTOR_GUARD: (AlterPartitionReassignmentsRequest, GUARD_VERSION),
    Capability.MOVE_LOG_DIRS: (AlterReplicaLogDirsRequest, 1),
    Capability.ELECT_LEADERS: (ElectLeadersRequest, 1),
    Capability.CONFIGS: (IncrementalAlterConfigsRequest, 0),
    Capability.LOCK: (JoinGroupRequest, 4),
    Capability.RECORDS: (CreateTopicsRequest, 1),
}


class KafkaCluster(ClosingContext):
    """A cluster accessed through its brokers; the first call opens connections.

    Parameters
    ----------
    settings
        How to reach it.
    clock
        Time, and how to wait.
    """

    source = "kafka"

    def __init__(self, settings: ConnectionSettings, clock: Clock | None = None) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._client = KafkaClient(settings, self._clock)
        self._abandoned_members: set[str] = set()

    @property
    def name(self) -> str:
        """Its bootstrap servers."""
        return ",".join(self._settings.bootstrap_servers)

    @cached_property
    def capabilities(self) -> frozenset[Capability]:
        """What the brokers' version supports; missing permissions show only when an operation is tried."""
        supports = self._client.supports
        return frozenset(c for c, (request, version) in _NEEDS.items() if supports(request, version))

    def read(self, request: ReadRequest) -> Reading:
        """Read the whole state.

        Raises
        ------
        UnreachableError
            If no broker responds, or no controller whose response is required.
        NotAuthorizedError
            If the principal may not describe the cluster, or topics that brokers hold.
        """
        may_list = Capability.REASSIGN in self.capabilities
        reassignments = partial(list_reassignments, self._client, request.deadline_s) if may_list else dict
        # needs numpy, which is imported while connections are being opened
        from kafkabal.clusters.kafka.read_state import KafkaReader

        return KafkaReader(self._client, request, self.source, reassignments).read()

    def cluster_id(self) -> str:
        """The id of the cluster."""
        return self._client.nodes().cluster_id

    def broker_ids(self) -> frozenset[int]:
        """Ids of the currently registered brokers."""
        self._client.metadata(())
        return frozenset(self._client.nodes().by_id)

    def quorum_voters(self) -> frozenset[int] | None:
        """Ids of the nodes that vote for the controller (KRaft); None if no such quorum is known."""
        return quorum_voters(self._client)

    def response_times(self, deadline_s: float) -> Mapping[int, ResponseTime | None]:
        """Seconds that each registered broker took to respond to a request for no topic; None if it did not respond."""
        return response_times(self._client, self.broker_ids(), deadline_s)

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of every partition of these topics; a deleted topic has none."""
        return partition_status(self._client, topics)

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """The log dirs of these partitions on these brokers, and the brokers that did not respond."""
        return replica_logs(self._client, brokers, partitions)

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics; returns those that failed."""
        return create_topics(self._client, topics, validate_only=validate_only)

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """Start reassignments, or cancel those whose target is None; returns those that failed."""
        return alter_reassignments(
            self._client, targets, allow_replication_factor_change=allow_replication_factor_change
        )

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """All reassignments in flight."""
        return list_reassignments(self._client)

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> Mapping[ReplicaOn, Fault]:
        """Ask brokers to move replicas to these log dirs; returns those that failed.

        A broker that does not hold the replica yet stores the request; it responds with ``REPLICA_NOT_AVAILABLE``, or
        with ``UNKNOWN_TOPIC_OR_PARTITION`` before the topic is created.
        """
        return move_log_dirs(self._client, targets)

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """Elect the first replica of each; returns those that failed; one that already leads counts as elected."""
        return elect_preferred_leaders(self._client, partitions)

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Values of some keys, without keys that have no value; and the resources that did not respond."""
        return describe_configs(self._client, resources, keys)

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:
        """Change keys, all of one resource in one request; returns the resources that failed."""
        return alter_configs(self._client, changes)

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """See :func:`.metadata.describe_topic`; not in the protocol, since only live topics have ids."""
        return describe_topic(self._client, topic, self._client.deadline(deadline_s))

    def topic_names(self) -> Collection[str]:
        """Topics that may be described, to suggest one for a mistyped name; none if no broker responds."""
        try:
            return [topic.name for topic in self._client.metadata(None).topics]
        except KafkabalError:
            return []

    def client_metrics_subscriptions(self) -> tuple[str, ...]:
        """Names of the client metrics subscriptions; not in the protocol, since only live brokers have any."""
        return client_metrics_subscriptions(self._client)

    def first_records_since(
        self, since_s: Mapping[int, Mapping[TopicPartition, float]]
    ) -> Mapping[TopicPartition, FirstRecord]:
        """The first record of each partition at or after a time, by leader; without partitions whose leader did not
        report it.

        Not in the protocol, since only live brokers store records.
        """
        found = self._client.for_each(since_s, lambda b, d: first_records_since(self._client, b, since_s[b], d))
        said = (records for records in found.values() if not isinstance(records, KafkabalError))
        return {name: record for records in said for name, record in records.items()}

    def consumer_racks(self) -> ConsumerRacks:
        """The racks of consumers, if they report them; not in the protocol, since only live brokers know any."""
        return consumer_racks(self._client)

    def cluster_operations(self) -> frozenset[Operation]:
        """What the principal may do to the cluster itself, see :mod:`.authorized_operations`."""
        return cluster_operations(self._client)

    def topic_operations(
        self, topics: Collection[str] | None
    ) -> tuple[Mapping[str, frozenset[Operation]], Mapping[str, Fault]]:
        """What the principal may do to topics, see :mod:`.authorized_operations`."""
        return topic_operations(self._client, topics)

    def group_operations(self, group: str) -> frozenset[Operation] | None:
        """What the principal may do to a consumer group, see :mod:`.authorized_operations`."""
        return group_operations(self._client, group)

    def reach(self, deadline_s: float) -> Mapping[int, BrokerReachability]:
        """How each registered broker responds at its advertised address."""
        return reach_brokers(self._client, deadline_s)

    def controller_time_s(self) -> float | None:
        """Time of the controller's clock, in seconds since the epoch; None if it does not report it."""
        return controller_time_s(self._client)

    def lock_holders(self) -> tuple[str, ...]:
        """The current holders of this cluster's lock, by the names they gave.

        Raises
        ------
        NotAuthorizedError
            If the principal may not describe the group of the lock.
        """
        return lock_holders(self._client)

    def lock(self, request: LockRequest) -> ClusterLock:
        """Acquire the lock of this cluster, or a separate lock for another purpose than changing it.

        Raises
        ------
        BusyError
            If another process holds it; the message names the holder.
        """
        return GroupLock(self._settings, self._clock, request, abandoned=self._abandoned_members)

    def records(self, avoid: Collection[int] = ()) -> RecordStore:
        """The internal topic that stores run records; the first write creates it, if possible not on ``avoid``."""
        return CompactedTopicStore(self._client, avoid=avoid)

    def records_in(self, topic: str, configs: Mapping[str, str]) -> RecordStore:
        """An internal topic for another purpose, created with these configs in addition to the usual ones."""
        return CompactedTopicStore(self._client, topic, configs)

    def close(self) -> None:
        """Close all connections."""
        self._client.close()
