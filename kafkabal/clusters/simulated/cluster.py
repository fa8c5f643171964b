"""A whole cluster in memory: the :class:`~kafkabal.clusters.cluster_protocol.Cluster` protocol over a simulated Kafka.

Deterministic and without network: placement, reassignments that progress with a fake clock under replication throttles,
moves between log dirs, elections, configs with their sources, brokers that die or hang, a lock with a session, records.
Wrap it in :class:`~kafkabal.clusters.simulated.fault_injection.FaultyCluster` to script faults.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kafkabal.closing_context import ClosingContext
from kafkabal.clusters.cluster_protocol import (
    BrokerProblem,
    Capability,
    Fault,
    InFlight,
    NewTopic,
    PartitionStatus,
    Reading,
    ReadRequest,
    Reassignment,
    ReplicaLog,
    ReplicaOn,
    ResponseTime,
)
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigValue, ResourceKind
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.clusters.simulated import configs, controller, memory_lock, simulated_kafka_to_rows
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.memory_lock import MemoryLock
from kafkabal.clusters.simulated.simulated_kafka import SimulatedKafka
from kafkabal.errors import MissingCapabilityError, NoResponseError, UnreachableError
from kafkabal.model import (
    SNAPSHOT_VERSION,
    ClusterState,
    HeaderRow,
    TopicPartition,
    broker_rows,
    build_cluster,
    can_choose_log_dir,
    topic_rows,
)

_NO_RESPONSE = Fault("timeout", "no response within the deadline", retriable=True)


class MemoryRecordStore:
    """Records in a dictionary."""

    def __init__(self, records: dict[str, bytes]) -> None:
        self._records = records

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:  # noqa: ARG002 - done at once
        """Store a value, or delete the key."""
        if value is None:
            self._records.pop(key, None)
        else:
            self._records[key] = value

    def get_all(self, *, within_s: float | None = None) -> Mapping[str, bytes]:  # noqa: ARG002 - done at once
        """A copy of all records."""
        return dict(self._records)


class InMemoryCluster(ClosingContext):
    """One client of a simulated Kafka; :meth:`connect` creates another client of it.

    Parameters
    ----------
    kafka
        The simulated Kafka, with which tests manipulate the cluster.
    without
        Capabilities that this client lacks, as if it had no permission or the brokers were too old.
    request_timeout_s
        How long a call waits for a hanging broker.
    """

    def __init__(
        self,
        kafka: SimulatedKafka,
        *,
        name: str = "memory",
        without: Collection[Capability] = (),
        request_timeout_s: float = 5.0,
    ) -> None:
        self.kafka = kafka
        self.lateness_s = 0.0
        """How late this client wakes from its pauses; a test sets it to starve its host."""
        self._is_stopped = False
        self._name = name
        self._capabilities = frozenset(Capability) - frozenset(without)
        self._request_timeout_s = request_timeout_s

    @classmethod
    def of(cls, state: ClusterState, clock: FakeClock | None = None) -> InMemoryCluster:
        """A cluster that starts in this state."""
        kafka = SimulatedKafka(broker_rows(state), topic_rows(state), clock or FakeClock(), cluster_id=state.cluster_id)
        return cls(kafka)

    def connect(self, name: str) -> InMemoryCluster:
        """Another client, such as one on another host."""
        return InMemoryCluster(
            self.kafka,
            name=name,
            without=frozenset(Capability) - self._capabilities,
            request_timeout_s=self._request_timeout_s,
        )

    def stop(self) -> None:
        """Simulate that this client's process is stopped or dead: its lock gets no heartbeats."""
        memory_lock.beat_all(self.kafka)
        self._is_stopped = True

    def resume_process(self) -> None:
        """Simulate that its process continues; a lock whose session has expired stays lost."""
        memory_lock.drop_expired(self.kafka, self)
        self._is_stopped = False

    @property
    def is_stopped(self) -> bool:
        """Whether its process is stopped."""
        return self._is_stopped

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """All capabilities, except those removed."""
        return self._capabilities

    def read(self, request: ReadRequest) -> Reading:
        """Read the whole state; hanging brokers cost their deadline and are reported."""
        parts = self.kafka.catch_up()
        no_response = [b for b in parts.brokers.values() if b.registered and not b.responds]
        if no_response:
            self.kafka.clock.sleep(request.deadline_s)
            parts = self.kafka.catch_up()
        in_flight_problem = self._in_flight_problem(request)
        knows_reassignments = request.in_flight is not InFlight.OMITTED and not in_flight_problem
        header = HeaderRow(
            kafkabal_snapshot=SNAPSHOT_VERSION,
            cluster_id=parts.cluster_id,
            taken_at=self.kafka.clock.utc_now().isoformat(),
            source="memory",
            reassignments_known=knows_reassignments,
        )
        state = build_cluster(
            header,
            simulated_kafka_to_rows.broker_rows(self.kafka),
            simulated_kafka_to_rows.topic_rows(
                self.kafka, configs=request.configs, knows_reassignments=knows_reassignments
            ),
        )
        problems = tuple(BrokerProblem(b.id, f"broker {b.id} did not respond") for b in no_response)
        return Reading(state, problems, in_flight_problem)

    def _in_flight_problem(self, request: ReadRequest) -> str:
        """Why the reassignments in flight are unknown, if the request asks for them."""
        if self.kafka.parts.controller_responds or request.in_flight is InFlight.OMITTED:
            return ""
        self.kafka.clock.sleep(request.deadline_s)
        message = f"no controller responded within {request.deadline_s:g} s"
        if request.in_flight is InFlight.REQUIRED:
            raise NoResponseError(message)
        return message

    def cluster_id(self) -> str:
        """The id of the cluster."""
        return self.kafka.parts.cluster_id

    def broker_ids(self) -> frozenset[int]:
        """Ids of the brokers whose session is alive."""
        return frozenset(b.id for b in self.kafka.catch_up().brokers.values() if b.registered)

    def quorum_voters(self) -> frozenset[int] | None:
        """The voters that a test has set."""
        return self.kafka.parts.quorum_voters

    def response_times(self, deadline_s: float) -> Mapping[int, ResponseTime | None]:  # noqa: ARG002
        """A constant two milliseconds, or what a test has set; None for hanging brokers."""
        brokers = [b for b in self.kafka.catch_up().brokers.values() if b.registered]
        if not any(b.responds for b in brokers):
            raise UnreachableError("no broker responds")
        return {b.id: ResponseTime(b.response_s, self.lateness_s) if b.responds else None for b in brokers}

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of every partition of these topics."""
        parts = self.kafka.catch_up()
        return {
            p.name: PartitionStatus(
                leader=p.leader, replicas=tuple(p.replicas), isr=tuple(p.isr), topic_id=parts.topics[topic].topic_id
            )
            for topic in sorted(set(topics) & parts.topics.keys())
            for p in parts.topics[topic].partitions.values()
        }

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """Log dirs of partitions; an offline dir reports nothing."""
        faults = self._no_response(brokers)
        parts = self.kafka.catch_up()
        found: dict[ReplicaOn, ReplicaLog] = {}
        for name in partitions:
            partition = parts.partition(name)
            for broker, log in partition.logs.items() if partition else ():
                if broker in brokers and broker not in faults and parts.brokers[broker].log_dirs[log.log_dir].online:
                    found[ReplicaOn(*name, broker)] = simulated_kafka_to_rows.replica_log(log)
        return found, faults

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics; each that exists, or names an unknown broker, fails on its own."""
        parts = self.kafka.catch_up()
        faults: dict[str, Fault] = {}
        for topic in topics:
            strangers = {b for replicas in topic.assignment for b in replicas} - parts.brokers.keys()
            if topic.name in parts.topics:
                faults[topic.name] = Fault("TOPIC_ALREADY_EXISTS", f"topic {topic.name} already exists")
            elif strangers:
                faults[topic.name] = Fault("INVALID_REPLICA_ASSIGNMENT", f"broker {min(strangers)} is not registered")
            elif not validate_only:
                self.kafka.add_topic(simulated_kafka_to_rows.new_topic_row(topic))
        return faults

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """Start or cancel reassignments, each independently."""
        parts = self.kafka.catch_up()
        faults: dict[TopicPartition, Fault] = {}
        for name, target in targets.items():
            if target is None:
                fault = controller.cancel_reassignment(parts, name)
            else:
                guarded = not allow_replication_factor_change
                fault = controller.start_reassignment(parts, name, target, guarded=guarded)
            if fault is not None:
                faults[name] = fault
        return faults

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """All reassignments in flight."""
        if not self.kafka.parts.controller_responds:
            self.kafka.clock.sleep(self._request_timeout_s)
            raise NoResponseError(f"no controller responded within {self._request_timeout_s:g} s")
        return {
            name: Reassignment(replicas=tuple(p.replicas), adding=tuple(p.adding), removing=tuple(p.removing))
            for name, p in sorted(self.kafka.catch_up().moving.items())
        }

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> Mapping[ReplicaOn, Fault]:
        """Request log dirs of brokers; a request for a missing replica is stored and reported."""
        no_response = self._no_response({replica.broker for replica in targets})
        self.kafka.catch_up()
        faults: dict[ReplicaOn, Fault] = {}
        for replica, path in targets.items():
            fault = no_response.get(replica.broker)
            if fault is None and not can_choose_log_dir(replica.topic, replica.partition):
                fault = Fault("INVALID_TOPIC_EXCEPTION", "The topic name is too long.")
            fault = fault or self._move_log_dir(replica, path)
            if fault is not None:
                faults[replica] = fault
        return faults

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """Make the first replica of each the leader."""
        parts = self.kafka.catch_up()
        faults = {name: controller.elect_preferred(parts, name) for name in partitions}
        return {name: fault for name, fault in faults.items() if fault is not None}

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Effective values with their sources; only a broker itself reports its own configs."""
        faults = self._resource_faults(resources)
        found = {
            resource: {
                key: value
                for key in keys
                if (value := configs.value_in_force(self.kafka.parts, resource, key)) is not None
            }
            for resource in resources
            if resource not in faults
        }
        return found, faults

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:
        """Change keys of a resource: all of the changes, or none."""
        faults = self._resource_faults({change.resource for change in changes})
        by_resource: dict[ConfigResource, list[ConfigChange]] = {}
        for change in changes:
            if change.resource not in faults:
                by_resource.setdefault(change.resource, []).append(change)
        for resource, own in by_resource.items():
            fault = configs.alter(configs.own_configs(self.kafka.parts, resource), own)
            if fault is not None:
                faults[resource] = fault
        return faults

    def lock(self, request: LockRequest) -> MemoryLock:
        """Acquire the lock, unless a holder with a live session has it."""
        return memory_lock.take(self.kafka, self, request)

    def lock_holders(self) -> tuple[str, ...]:
        """The holder of the lock, if its session is alive."""
        return memory_lock.holders(self.kafka)

    def records(self, avoid: Collection[int] = ()) -> MemoryRecordStore:  # noqa: ARG002
        """Records shared by all clients, on no broker.

        Raises
        ------
        MissingCapabilityError
            If this client lacks the capability.
        """
        if Capability.RECORDS not in self._capabilities:
            raise MissingCapabilityError(f"{self._name}: run records not supported")
        return MemoryRecordStore(self.kafka.parts.records)

    def close(self) -> None:
        """Do nothing: the simulation has no connections."""

    def _no_response(self, brokers: Collection[int]) -> dict[int, Fault]:
        parts = self.kafka.catch_up()
        no_response = {b: _NO_RESPONSE for b in brokers if b not in parts.brokers or not parts.brokers[b].responds}
        if any(b in parts.brokers and parts.brokers[b].registered for b in no_response):
            self.kafka.clock.sleep(self._request_timeout_s)
            self.kafka.catch_up()
        return no_response

    def _move_log_dir(self, replica: ReplicaOn, path: str) -> Fault | None:
        name, broker = TopicPartition(replica.topic, replica.partition), self.kafka.parts.brokers[replica.broker]
        if path not in broker.log_dirs:
            return Fault("LOG_DIR_NOT_FOUND", f"broker {broker.id} has no log dir {path}")
        if not all(d.online for d in broker.log_dirs.values()):
            return Fault("KAFKA_STORAGE_ERROR", f"a log dir of broker {broker.id} is offline")
        partition = self.kafka.parts.partition(name)
        log = partition.logs.get(broker.id) if partition else None
        if partition is None or log is None:
            broker.preferred_log_dirs[name] = path
            kind = "UNKNOWN_TOPIC_OR_PARTITION" if partition is None else "REPLICA_NOT_AVAILABLE"
            return Fault(kind, f"no replica of {name} on broker {broker.id}", retriable=True)
        if path != log.future_log_dir:
            log.future_log_dir, log.future_bytes = (None, 0.0) if path == log.log_dir else (path, 0.0)
        if log.future_log_dir is None:
            self.kafka.parts.copying.pop((name, broker.id), None)
        else:
            self.kafka.parts.copying[name, broker.id] = partition
        return None

    def _resource_faults(self, resources: Collection[ConfigResource]) -> dict[ConfigResource, Fault]:
        if Capability.CONFIGS not in self._capabilities:
            denied = Fault("CLUSTER_AUTHORIZATION_FAILED", "not authorized for configs")
            return dict.fromkeys(resources, denied)
        no_response = self._no_response({int(r.name) for r in resources if r.kind is ResourceKind.BROKER})
        gone = Fault("UNKNOWN_TOPIC_OR_PARTITION", "no such topic")
        faults = {
            r: no_response[int(r.name)]
            for r in resources
            if r.kind is ResourceKind.BROKER and int(r.name) in no_response
        }
        topics = self.kafka.parts.topics
        faults.update((r, gone) for r in resources if r.kind is ResourceKind.TOPIC and r.name not in topics)
        return faults
