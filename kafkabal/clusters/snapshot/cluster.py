"""A snapshot as a :class:`~kafkabal.clusters.cluster_protocol.Cluster`: changed in memory, saved to another file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import numpy as np

from kafkabal.clusters.cluster_protocol import (
    Capability,
    ClusterLock,
    Fault,
    NewTopic,
    PartitionStatus,
    Reading,
    ReadRequest,
    Reassignment,
    RecordStore,
    ReplicaLog,
    ReplicaOn,
    ResponseTime,
)
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ConfigValue
from kafkabal.clusters.lock_request import LockRequest
from kafkabal.clusters.snapshot.mutable_rows import MutableRows
from kafkabal.clusters.snapshot.snapshot_reader import read_snapshot
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.errors import MissingCapabilityError, UsageError
from kafkabal.model import BrokerRow, ClusterState, PartitionRow, TopicPartition

_CAPABILITIES = frozenset(
    {
        Capability.LOG_DIRS,
        Capability.VOLUME_BYTES,
        Capability.OFFSETS,
        Capability.CREATE_TOPICS,
        Capability.REASSIGN,
        Capability.REPLICATION_FACTOR_GUARD,
        Capability.MOVE_LOG_DIRS,
        Capability.ELECT_LEADERS,
    }
)


class SnapshotCluster:
    """The cluster that a snapshot file describes.

    Parameters
    ----------
    save_to
        Where to write the changed cluster on close; the file that was read stays unchanged, unless it is named here
        too. Without it the cluster is read-only.

    Raises
    ------
    InputFileError
        If the file is not a snapshot.
    """

    def __init__(self, path: Path | str, *, save_to: Path | str | None = None) -> None:
        self._path = path
        self._save_to = save_to
        self._state: ClusterState | None = read_snapshot(path)
        self._is_changed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # write the requested file even if nothing had to be changed
        self._is_changed |= kind is None and self._save_to is not None and not Path(self._save_to).exists()
        self.close()

    @property
    def name(self) -> str:
        """Its path."""
        return str(self._path)

    @property
    def capabilities(self) -> frozenset[Capability]:
        """What a file can represent."""
        return _CAPABILITIES

    def read(self, request: ReadRequest) -> Reading:  # noqa: ARG002 - a file is always read whole
        """Return the whole state."""
        return Reading(self._current())

    def cluster_id(self) -> str:
        """Id of the cluster that the snapshot was taken of."""
        return self._current().cluster_id

    def broker_ids(self) -> frozenset[int]:
        """Ids of the brokers that were registered."""
        brokers = self._current().brokers
        return frozenset(brokers.id[brokers.is_live].tolist())

    def quorum_voters(self) -> frozenset[int] | None:
        """None: a snapshot does not contain it."""
        return None

    def response_times(self, deadline_s: float) -> Mapping[int, ResponseTime | None]:  # noqa: ARG002
        """Zero for all brokers: reading a file needs no response."""
        return dict.fromkeys(self.broker_ids(), ResponseTime(0.0))

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """Leader, replicas and ISR of every partition of these topics; an unknown topic has none."""
        return {
            name: PartitionStatus(
                leader=row.leader,
                replicas=tuple(row.replicas),
                isr=tuple(row.replicas if row.isr is None else row.isr),
            )
            for topic in topics
            for name, row in self._contents.partitions(topic)
        }

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """The log dirs of these partitions on these brokers, and the brokers that were not registered."""
        asked = {broker: self._contents.broker(broker) for broker in brokers}
        faults = {
            broker: Fault("unreachable", f"broker {broker} is not registered with the cluster")
            for broker, row in asked.items()
            if row is None
        }
        found: dict[ReplicaOn, ReplicaLog] = {}
        for name in partitions:
            partition = self._contents.partition(name)
            if partition is not None:
                holders = (asked.get(broker) for broker in partition.replicas)
                found.update(log for holder in holders if holder is not None for log in _logs(holder, name, partition))
        return found, faults

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """Create topics; returns those that failed."""
        contents = self._contents if validate_only else self._changed()
        faults = {topic.name: contents.create(topic, validate_only=validate_only) for topic in topics}
        return {name: fault for name, fault in faults.items() if fault is not None}

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """Reassign immediately, or cancel what was in flight; returns those that failed."""
        contents = self._changed()
        faults = {
            name: contents.cancel(name)
            if target is None
            else contents.reassign(name, target, allow_replication_factor_change=allow_replication_factor_change)
            for name, target in targets.items()
        }
        return {name: fault for name, fault in faults.items() if fault is not None}

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """Those in flight when the snapshot was taken; ours complete immediately."""
        state = self._current()  # by column: rows of a large cluster would take seconds, and most of the memory
        replicas = state.replicas
        moving = np.unique(replicas.partition[replicas.adding | replicas.removing])
        return {state.topic_partition(row): _reassignment(state, row) for row in moving.tolist()}

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> Mapping[ReplicaOn, Fault]:
        """Move replicas to these log dirs; returns those that failed."""
        contents = self._changed()
        faults = {replica: contents.move(replica, path) for replica, path in targets.items()}
        return {replica: fault for replica, fault in faults.items() if fault is not None}

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """Make the first replica of each the leader; returns those that failed."""
        contents = self._changed()
        faults = {name: contents.elect(name) for name in partitions}
        return {name: fault for name, fault in faults.items() if fault is not None}

    def configs(
        self,
        resources: Collection[ConfigResource],  # noqa: ARG002
        keys: Collection[str],  # noqa: ARG002
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Refuse: a snapshot does not contain the sources of configs.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        self._refuse(Capability.CONFIGS)

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:  # noqa: ARG002
        """Refuse: a snapshot has no brokers to configure.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        self._refuse(Capability.CONFIGS)

    def lock(self, request: LockRequest) -> ClusterLock:  # noqa: ARG002
        """Refuse: a snapshot has no other hosts to exclude.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        self._refuse(Capability.LOCK)

    def lock_holders(self) -> tuple[str, ...]:
        """Always empty: a snapshot has no lock."""
        return ()

    def records(self, avoid: Collection[int] = ()) -> RecordStore:  # noqa: ARG002
        """Refuse: a snapshot has no topics to write to.

        Raises
        ------
        MissingCapabilityError
            Always.
        """
        self._refuse(Capability.RECORDS)

    def close(self) -> None:
        """Save the changes; the file appears whole or not at all.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        if self._is_changed and self._save_to is not None:
            write_snapshot(self._current(), self._save_to)
            self._is_changed = False

    @cached_property
    def _contents(self) -> MutableRows:
        assert self._state is not None
        return MutableRows(self._state)

    def _changed(self) -> MutableRows:
        """The contents, marked as changed."""
        if self._save_to is None:
            raise UsageError(
                f"{self._path}: a snapshot is only read, never written to",
                hint="name a file for the changed snapshot with --save FILE",
            )
        contents = self._contents
        self._state = None
        self._is_changed = True
        return contents

    def _current(self) -> ClusterState:
        if self._state is None:
            self._state = self._contents.state()
        return self._state

    def _refuse(self, capability: Capability) -> NoReturn:
        raise MissingCapabilityError(f"{self._path}: not supported by snapshots: {capability.replace('-', ' ')}")


def _reassignment(state: ClusterState, partition: int) -> Reassignment:
    rows = slice(state.partitions.first[partition], state.partitions.first[partition + 1])
    r = state.replicas
    ids = state.brokers.id[r.broker[rows]]
    return Reassignment(
        replicas=tuple(ids.tolist()),
        adding=tuple(ids[r.adding[rows]].tolist()),
        removing=tuple(ids[r.removing[rows]].tolist()),
    )


def _logs(broker: BrokerRow, name: TopicPartition, row: PartitionRow) -> Iterator[tuple[ReplicaOn, ReplicaLog]]:
    """The log of a partition on a broker that holds it, if it is known; an unknown size counts as 0."""
    if row.log_dirs is None:
        return
    at = row.replicas.index(broker.broker)
    log_dir, size_bytes = row.log_dirs[at], row.sizes[at] if row.sizes is not None else None
    if log_dir is None:
        return
    copies = [copy for copy in row.future if copy.broker == broker.broker]
    yield (
        ReplicaOn(*name, broker.broker),
        ReplicaLog(
            log_dir=broker.log_dirs[log_dir].path,
            size_bytes=size_bytes or 0,
            future_log_dir=broker.log_dirs[copies[0].log_dir].path if copies else None,
            future_bytes=copies[0].bytes if copies else 0,
        ),
    )
