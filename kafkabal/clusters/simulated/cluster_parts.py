"""The parts of a simulated cluster, which change over time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from kafkabal.model import FOLLOWER_REPLICAS, LEADER_REPLICAS, MIN_INSYNC_REPLICAS, TopicPartition

BUILT_IN_TOPIC_CONFIGS = {LEADER_REPLICAS: "", FOLLOWER_REPLICAS: "", MIN_INSYNC_REPLICAS: "1"}


@dataclass(slots=True)
class SimulatedLogDir:
    """A log dir on its own volume."""

    path: str
    total_bytes: int
    """-1 if the broker does not report it."""
    other_bytes: int = 0
    """Bytes of other programs on the volume."""
    online: bool = True
    cordoned: bool = False


@dataclass(slots=True)
class SimulatedLog:
    """A replica on disk."""

    log_dir: str
    copied_bytes: float
    future_log_dir: str | None = None
    future_bytes: float = 0.0


@dataclass(slots=True)
class SimulatedBroker:
    """A broker process with its disks and its configs in the cluster."""

    id: int
    rack: str | None
    log_dirs: dict[str, SimulatedLogDir]
    host: str = ""
    port: int = -1
    registered: bool = True
    hung_since_s: float | None = None
    """When it stopped responding; its session expires a little later."""
    own_configs: dict[str, str] = field(default_factory=dict)
    static_configs: dict[str, str] = field(default_factory=dict)
    response_s: float = 0.002
    """How long it takes to respond to the smallest request."""
    preferred_log_dirs: dict[TopicPartition, str] = field(default_factory=dict)
    """Stored log dir requests for replicas that it does not have yet (KIP-113); a restart drops them."""

    @property
    def responds(self) -> bool:
        """Whether this broker responds to requests."""
        return self.registered and self.hung_since_s is None


@dataclass(slots=True)
class SimulatedPartition:
    """A partition; ``replicas`` includes those being added and removed (KIP-455)."""

    name: TopicPartition
    replicas: list[int]
    leader: int
    isr: list[int]
    size_bytes: float
    logs: dict[int, SimulatedLog]
    adding: list[int] = field(default_factory=list)
    removing: list[int] = field(default_factory=list)
    growth_bytes_per_s: float = 0.0
    start_offset: int | None = None
    end_offset: int | None = None
    remote_bytes: int | None = None

    @property
    def is_moving(self) -> bool:
        """Whether a reassignment of it is in flight."""
        return bool(self.adding or self.removing)

    @property
    def target(self) -> list[int]:
        """Its replicas after the reassignment."""
        return [b for b in self.replicas if b not in self.removing]


@dataclass(slots=True)
class SimulatedTopic:
    """A topic with its partitions by number and the configs set on it."""

    name: str
    partitions: dict[int, SimulatedPartition]
    configs: dict[str, str] = field(default_factory=dict)
    internal: bool = False
    topic_id: str = ""


class LockClient(Protocol):
    """A client that may hold the lock."""

    @property
    def is_stopped(self) -> bool:
        """Whether its process is stopped, and sends no heartbeats."""


@dataclass(slots=True)
class SimulatedLock:
    """The holder of a lock, and its last heartbeat."""

    owner: str
    client: LockClient
    heartbeat_s: float
    session_s: float
    purpose: str = ""
    """Empty for the right to change the cluster."""


@dataclass(slots=True)
class ClusterParts:
    """The whole state of the simulation."""

    cluster_id: str
    brokers: dict[int, SimulatedBroker]
    topics: dict[str, SimulatedTopic]
    default_configs: dict[str, str] = field(default_factory=dict)
    """Cluster-wide dynamic defaults of brokers."""
    quorum_voters: frozenset[int] | None = None
    """Nodes that vote for the controller."""
    controller_responds: bool = True
    """False: no reassignments are listed."""
    records: dict[str, bytes] = field(default_factory=dict)
    locks: dict[str, SimulatedLock] = field(default_factory=dict)
    """By purpose."""
    moving: dict[TopicPartition, SimulatedPartition] = field(default_factory=dict)
    """Partitions with a reassignment in flight."""
    copying: dict[tuple[TopicPartition, int], SimulatedPartition] = field(default_factory=dict)
    """Replicas being copied to another log dir of their broker."""

    def partition(self, name: TopicPartition) -> SimulatedPartition | None:
        """The partition of this name, None if there is none."""
        topic = self.topics.get(name.topic)
        return topic.partitions.get(name.partition) if topic else None

    def partitions(self) -> Iterator[SimulatedPartition]:
        """All partitions, by topic and number."""
        for topic in self.topics.values():
            yield from topic.partitions.values()

    def broker_config(self, broker: SimulatedBroker, key: str) -> str | None:
        """The effective value: the broker's own, or the cluster-wide default, or that in its properties file."""
        for values in (broker.own_configs, self.default_configs, broker.static_configs):
            if key in values:
                return values[key]
        return None
