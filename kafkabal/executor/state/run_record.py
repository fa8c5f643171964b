"""What must be known of a run to carry it on, undo it or clean up after it, on any host.

The record is complete before the first effect on the cluster, except that the original configs of a broker which
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

    A :class:`~kafkabal.plan.PartitionChange` is what a plan asks for, made hours ago, perhaps by another tool and
    without the past, with the bytes and the reason that people read. This is what a run makes of it: true when it
    begins, so that it can be resumed and rolled back, with the bytes of one copy and the identity of the topic.
    """

    topic: str
    partition: Int32
    previous: Placement = msgspec.field(name="start")
    """Of when the run began; ``start`` in journals, whose format has not changed."""
    replicas: tuple[Int32, ...]
    log_dirs: tuple[str, ...]
    """Path for each replica, ``any`` where it does not matter."""
    copy_bytes: Int64
    """Bytes of one copy; 0 where no copy's size is known."""
    topic_id: str = ""
    """Of the topic when the run began: one that was created again under its name is another topic."""

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
        """All brokers that held it before, or are to hold it."""
        return frozenset(self.previous.replicas) | frozenset(self.replicas)

    @property
    def to_add(self) -> tuple[int, ...]:
        """Brokers to which a copy comes."""
        return tuple(b for b in self.replicas if b not in self.previous.replicas)

    @property
    def to_remove(self) -> tuple[int, ...]:
        """Brokers that a copy leaves, and comes back to if the run is rolled back."""
        return tuple(b for b in self.previous.replicas if b not in self.replicas)

    @property
    def target_dirs(self) -> Mapping[int, str]:
        """Broker to path, only where the path matters and Kafka lets it be chosen."""
        return self._chosen(self.replicas, self.log_dirs)

    @property
    def previous_dirs(self) -> Mapping[int, str]:
        """Broker to path before the run, as far as it is known and can be had again."""
        return self._chosen(self.previous.replicas, self.previous.log_dirs)

    def _chosen(self, brokers: tuple[int, ...], paths: tuple[str, ...]) -> Mapping[int, str]:
        from kafkabal.model import can_choose_log_dir  # needs numpy, which a record that is only read does not

        # asking for a dir is refused for the longest names, and the move that waits for it never starts
        if not can_choose_log_dir(self.topic, self.partition):
            return {}
        return {b: d for b, d in zip(brokers, paths, strict=True) if d != ANY_DIR}


class Original(msgspec.Struct, frozen=True, kw_only=True, tag_field="record", tag="original"):
    """A config as it was found; no source means that there was no value at all."""

    kind: ResourceKind
    resource: str
    key: str
    value: str | None = None
    source: ConfigSource | None = None

    @property
    def of(self) -> ConfigResource:
        """Whose config it is."""
        return ConfigResource(self.kind, self.resource)

    @property
    def own_value(self) -> str | None:
        """What was set on the resource itself, None where a default showed."""
        return self.value if self.source is ConfigSource.OWN else None

    @classmethod
    def found(cls, resource: ConfigResource, key: str, value: ConfigValue | None) -> Original:
        """What a read of the configs gave."""
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
    """What was set on the brokers that are to be drained, where they can be cordoned (KIP-1066)."""
    user: str = ""
    """Who began it, as this host names them."""
    why: str = ""
    """What was asked for, in the options of the plan: ``--drain 3``."""
