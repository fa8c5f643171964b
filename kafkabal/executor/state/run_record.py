"""Everything needed to resume a run, undo it or clean up after it, on any host.

The record is complete before the first change of the cluster, with one exception: original configs of a broker that
could not be read then are added before they are changed.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from kafkabal.clusters import ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.executor.run_options import RunOptions
from kafkabal.input_files import Int32, Int64
from kafkabal.model import TopicPartition
from kafkabal.plan import ANY_DIR, Placement
from kafkabal.wording import counted_noun


class RunPartition(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="planned"):
    """One partition of a run: its placement when the run began, and its target.

    A :class:`~kafkabal.plan.PartitionChange` is what a plan asks for, perhaps hours old or from another tool and
    without the previous state, with the bytes and the reason for people. This is what a run makes of it: correct when
    the run begins, so that it can be resumed and rolled back, with the bytes of one copy and the id of the topic.
    """

    topic: str
    partition: Int32
    previous: Placement = msgspec.field(name="start")
    """Placement when the run began; ``start`` in journals, whose format has not changed."""
    replicas: tuple[Int32, ...]
    log_dirs: tuple[str, ...]
    """Path for each replica; ``any`` if it does not matter."""
    copy_bytes: Int64
    """Bytes of one copy; 0 if the size of no copy is known."""
    topic_id: str = ""
    """Id of the topic when the run began: a topic recreated under the same name is another topic."""

    def __post_init__(self) -> None:
        if not self.replicas or len(self.log_dirs) != len(self.replicas):
            raise ValueError(f"{len(self.log_dirs)} log_dirs for {counted_noun(len(self.replicas), 'replica')}")

    @property
    def name(self) -> TopicPartition:
        """The partition by name."""
        return TopicPartition(self.topic, self.partition)

    @property
    def target(self) -> Placement:
        """The placement that the plan asks for; its first replica is to lead."""
        return Placement(replicas=self.replicas, leader=self.replicas[0], log_dirs=self.log_dirs)

    @property
    def brokers(self) -> frozenset[int]:
        """All brokers that held the partition before, or will hold it."""
        return frozenset(self.previous.replicas) | frozenset(self.replicas)

    @property
    def to_add(self) -> tuple[int, ...]:
        """Brokers that get a copy."""
        return tuple(b for b in self.replicas if b not in self.previous.replicas)

    @property
    def to_remove(self) -> tuple[int, ...]:
        """Brokers that lose their copy, and get it back if the run is rolled back."""
        return tuple(b for b in self.previous.replicas if b not in self.replicas)

    @property
    def target_dirs(self) -> Mapping[int, str]:
        """Broker to path, only if the path matters and Kafka lets it be chosen."""
        return self._chosen(self.replicas, self.log_dirs)

    @property
    def previous_dirs(self) -> Mapping[int, str]:
        """Broker to path before the run, if it is known and can be chosen again."""
        return self._chosen(self.previous.replicas, self.previous.log_dirs)

    def _chosen(self, brokers: tuple[int, ...], paths: tuple[str, ...]) -> Mapping[int, str]:
        from kafkabal.model import can_choose_log_dir  # needs numpy; reading a record does not

        # Kafka refuses to choose a dir for the longest names, and a move that waits for it never starts
        if not can_choose_log_dir(self.topic, self.partition):
            return {}
        return {b: d for b, d in zip(brokers, paths, strict=True) if d != ANY_DIR}


class Original(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="original"):
    """A config as found; no source means that there was no value at all."""

    kind: ResourceKind
    resource: str
    key: str
    value: str | None = None
    source: ConfigSource | None = None

    @property
    def of(self) -> ConfigResource:
        """The resource that has the config."""
        return ConfigResource(self.kind, self.resource)

    @property
    def own_value(self) -> str | None:
        """The value set on the resource itself; None if a default applied."""
        return self.value if self.source is ConfigSource.OWN else None

    @classmethod
    def found(cls, resource: ConfigResource, key: str, value: ConfigValue | None) -> Original:
        """Record a config as it was read."""
        if value is None:
            return cls(kind=resource.kind, resource=resource.name, key=key)
        return cls(kind=resource.kind, resource=resource.name, key=key, value=value.value, source=value.source)


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it was begun."""

    run_id: str
    plan_id: str
    cluster_id: str
    started_at: str
    host: str
    options: RunOptions
    partitions: tuple[RunPartition, ...]
    originals: tuple[Original, ...] = ()
    cordons: tuple[Original, ...] = ()
    """Original config of the brokers to drain, if they can be cordoned (KIP-1066)."""
    user: str = ""
    """The user who began it, as named by this host."""
    why: str = ""
    """What was requested, as plan options: ``--drain 3``."""
