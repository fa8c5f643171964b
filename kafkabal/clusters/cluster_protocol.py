"""What every back end can do: read the state of a cluster, and change it by single requests.

One success convention: a method that changes many items returns the items that failed, each with its :class:`Fault`; an
item that is absent succeeded. A call without any usable result raises a :class:`~kafkabal.errors.KafkabalError`.
Brokers are identified by id, log dirs by path. A back end declares its abilities as :class:`Capability`; a command that
needs more refuses before it starts.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigValue
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.model import TopicPartition

if TYPE_CHECKING:  # importing numpy takes as long as reading a small cluster
    from kafkabal.model import ClusterState


class Capability(StrEnum):
    """What a back end can do."""

    LOG_DIRS = "log-dirs"
    """Sizes of replicas and log dirs (KIP-113)."""
    VOLUME_BYTES = "volume-bytes"
    """Total and usable bytes of log dirs (KIP-827)."""
    OFFSETS = "offsets"
    GROUP_OFFSETS = "group-offsets"
    CREATE_TOPICS = "create-topics"
    REASSIGN = "reassign"
    """Alter, list and cancel reassignments (KIP-455)."""
    REPLICATION_FACTOR_GUARD = "replication-factor-guard"
    """Rejection of accidental changes of the replication factor (KIP-860)."""
    MOVE_LOG_DIRS = "move-log-dirs"
    ELECT_LEADERS = "elect-leaders"
    CONFIGS = "configs"
    """Read and alter configs of topics and brokers, with the source of each value."""
    LOCK = "lock"
    """A lock that is valid across hosts."""
    RECORDS = "records"
    """Storage of records in an internal compacted topic."""


class ReplicaOn(NamedTuple):
    """The replica of a partition on a broker."""

    topic: str
    partition: int
    broker: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} on broker {self.broker}"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why an item failed."""

    name: str
    """Kafka's name of the error, such as ``NOT_CONTROLLER``, or one of ours in lower case, such as ``timeout``."""
    message: str = ""
    retriable: bool = False

    def __str__(self) -> str:
        if not self.message:
            return self.name
        # a message of ours says it all
        return f"{self.name}: {self.message}" if self.name.isupper() else self.message


class InFlight(StrEnum):
    """Whether to read which reassignments are in flight: only the controller knows, and it may not respond."""

    REQUIRED = "required"
    """Without them, the reading fails."""
    IF_KNOWN = "if-known"
    """Without them, the state says that they are unknown, and the reading why."""
    OMITTED = "omitted"
    """The controller is not asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRequest:
    """What to read; sizes and placement are always read."""

    configs: bool = False
    """Configs set on the topics themselves."""
    offsets: bool = False
    """Start and end offsets."""
    group_offsets: bool = False
    """Committed offsets of consumer groups."""
    in_flight: InFlight = InFlight.REQUIRED
    """Reassignments in flight."""
    deadline_s: float = 10.0
    """How long each broker, and the controller, may take to respond."""


FOR_REPORTS: Final = ReadRequest(in_flight=InFlight.IF_KNOWN)
"""For what is only shown or checked: a controller that does not respond causes a warning."""


@dataclass(frozen=True, slots=True)
class BrokerProblem:
    """A broker that could not be read, or only in part; the rest of the state is valid."""

    broker: int
    message: str


@dataclass(frozen=True, slots=True)
class Reading:
    """A state, and what is missing from it."""

    state: ClusterState
    problems: tuple[BrokerProblem, ...] = ()
    in_flight_problem: str = ""
    """Why the reassignments in flight are unknown; empty if they are known, or were not to be read."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is missing and why, one line each."""
        brokers = tuple(f"broker {problem.broker}: {problem.message}" for problem in self.problems)
        if not self.in_flight_problem:
            return brokers
        return (*brokers, f"reassignments in flight are unknown: {self.in_flight_problem}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTopic:
    """A topic to create, with an explicit assignment."""

    name: str
    assignment: tuple[tuple[int, ...], ...]
    """Broker ids of each partition, from partition 0 on; the first is the preferred leader."""
    configs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionStatus:
    """A partition in the cluster's current metadata."""

    leader: int
    """-1 if there is none."""
    replicas: tuple[int, ...]
    """Including replicas being added or removed."""
    isr: tuple[int, ...]
    topic_id: str = ""
    """In Kafka's notation; empty before Kafka 2.8, where topics have none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicDescription:
    """A topic in the cluster's current metadata."""

    cluster_id: str
    topic_id: str
    """In Kafka's notation; it changes if a topic is deleted and created again."""
    partitions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reassignment:
    """A reassignment in flight (KIP-455)."""

    replicas: tuple[int, ...]
    """Including replicas being added or removed."""
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The replicas after the reassignment."""
        return tuple(b for b in self.replicas if b not in self.removing)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerRacks:
    """The racks of consumers, if they report them to the brokers."""

    members_by_rack: Mapping[str, int]
    """Members that report their rack, by rack."""
    without_rack: tuple[str, ...]
    """Members that could report it but do not, as ``group/client (host)``."""
    classic_groups: int
    """Groups whose members cannot report it."""


class ResponseTime(NamedTuple):
    """How long a broker took to respond."""

    mean_s: float
    lateness_s: float = 0.0
    """By how much this process woke too late from the pauses between its requests, on average: on a host that is short
    of processor time, responses are noticed about as late."""


class FirstRecord(NamedTuple):
    """The first record of a partition at or after a time; -1 for both if there is none."""

    offset: int
    at_s: float
    """Its timestamp, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaLog:
    """A replica in a log dir, as its broker reports it."""

    log_dir: str
    size_bytes: int
    future_log_dir: str | None = None
    """The log dir of the same broker that it is being copied to."""
    future_bytes: int = 0


class ClusterLock(Protocol):
    """The right to change the cluster; held until released, or until the holder's session expires without a
    heartbeat."""

    @property
    def scope(self) -> str:
        """Whom it excludes, for display: ``consumer group``, ``zookeeper``, ``this host only``."""

    def seconds_since_heartbeat(self) -> float:
        """Time since the last proof that the lock is still held, on the monotonic clock."""

    def is_held(self) -> bool:
        """False once the lock is known to be lost."""

    def release(self) -> None:
        """Release it; does nothing if it is lost or already released."""


class RecordStore(Protocol):
    """Small records by key in an internal compacted topic; the last value of a key wins."""

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        """Write and wait until all in-sync replicas have it; None deletes the key.

        Parameters
        ----------
        within_s
            How long that may take; None for as long as another leader may take, and more.
        """

    def get_all(self, *, within_s: float | None = None) -> Mapping[str, bytes]:
        """All current records; empty if the topic does not exist."""


class Cluster(Protocol):
    """A cluster that can be read and, within its capabilities, changed."""

    @property
    def name(self) -> str:
        """Its name in messages: its bootstrap servers or its file."""

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What it supports."""

    def read(self, request: ReadRequest) -> Reading:
        """Read the whole state.

        Raises
        ------
        UnreachableError
            If no broker responds, or no controller whose response is required.
        NotAuthorizedError
            If the principal may not describe the cluster.
        """

    def cluster_id(self) -> str:
        """The id of the cluster."""

    def broker_ids(self) -> frozenset[int]:
        """Ids of the currently registered brokers."""

    def quorum_voters(self) -> frozenset[int] | None:
        """Ids of the nodes that vote for the controller (KRaft); None if no such quorum is known."""

    def response_times(self, deadline_s: float) -> Mapping[int, ResponseTime | None]:
        """How long each registered broker took to respond, all contacted in parallel; None if it did not respond.

        Raises
        ------
        UnreachableError
            If no broker responds.
        """

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of every partition of these topics; a deleted topic has none."""

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """The log dirs of these partitions on these brokers, and the brokers that did not respond."""

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics; returns those that failed."""

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """Start reassignments, or cancel those whose target is None; returns those that failed."""

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """All reassignments in flight."""

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> Mapping[ReplicaOn, Fault]:
        """Ask brokers to move replicas to these log dirs; returns those that failed.

        A broker that does not hold the replica yet stores the request; it responds with ``REPLICA_NOT_AVAILABLE``, or
        with ``UNKNOWN_TOPIC_OR_PARTITION`` before the topic is created.
        """

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """Elect the first replica of each; returns those that failed; one that already leads counts as elected."""

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Values of some keys, without keys that have no value; and the resources that did not respond."""

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:
        """Change keys, all of one resource in one request and each key once; returns the resources that failed."""

    def lock(self, request: LockRequest) -> ClusterLock:
        """Acquire the lock of this cluster, or a separate lock for another purpose than changing it.

        Raises
        ------
        BusyError
            If another process holds it; the message names the holder.
        """

    def lock_holders(self) -> tuple[str, ...]:
        """The holders of the cluster's lock, by the names they gave; does not acquire it."""

    def records(self, avoid: Collection[int] = ()) -> RecordStore:
        """The internal topic that stores run records; the first write creates it.

        Parameters
        ----------
        avoid
            Ids of brokers that it is not created on, if there are others.
        """

    def close(self) -> None:
        """Close all connections."""

    def __enter__(self) -> Cluster:
        """Return itself."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close."""
