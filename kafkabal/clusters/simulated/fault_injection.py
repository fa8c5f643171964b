"""A cluster whose calls fail on demand, with hooks before and after every call.

The wrapped cluster may be the in-memory one or a real one. Calls of the lock and of the records are counted like the
cluster's own, under names such as ``lock.release`` and ``records.put``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from kafkabal.closing_context import ClosingContext
from kafkabal.clusters.cluster_protocol import (
    Capability,
    Cluster,
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
from kafkabal.errors import NoResponseError, RefusedByClusterError
from kafkabal.model import TopicPartition

_T = TypeVar("_T")

WRITES = frozenset(
    {
        "create_topics",
        "alter_reassignments",
        "move_log_dirs",
        "elect_preferred_leaders",
        "alter_configs",
        "records.put",
    }
)
"""Calls that change the cluster."""


class CallOutcome(StrEnum):
    """How a scripted call fails."""

    REFUSED = "refused"
    """The cluster rejects it; nothing has changed."""
    TIMEOUT = "timeout"
    """No response, and nothing has changed."""
    RESPONSE_LOST = "response-lost"
    """No response, though the call took effect."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was made."""

    number: int
    """Counted over all methods, from 1."""
    method: str
    method_number: int
    """Counted over this method, from 1."""
    arguments: tuple[Any, ...]


class FaultyCluster(ClosingContext):
    """Forwards calls, unless its script says otherwise.

    Attributes
    ----------
    calls
        All calls so far, in order.
    before, after
        Called with each call before it reaches the cluster, and after its response; their exceptions propagate, which
        simulates a crash of the tool at that point.
    """

    def __init__(self, inner: Cluster) -> None:
        self.inner = inner
        self.calls: list[Call] = []
        self.before: list[Callable[[Call], None]] = []
        self.after: list[Callable[[Call], None]] = []
        self._by_number: dict[int, CallOutcome] = {}
        self._by_method: dict[tuple[str, int], CallOutcome] = {}
        self._always: dict[str, CallOutcome] = {}
        self._counts: Counter[str] = Counter()

    def fail_call(self, number: int, outcome: CallOutcome) -> None:
        """Make the n-th call of all fail, counted from 1."""
        self._by_number[number] = outcome

    def fail_method(self, method: str, outcome: CallOutcome, number: int | None = None) -> None:
        """Make the n-th call of a method fail, or every one."""
        if number is None:
            self._always[method] = outcome
        else:
            self._by_method[method, number] = outcome

    def heal(self) -> None:
        """Clear the script."""
        self._by_number.clear()
        self._by_method.clear()
        self._always.clear()

    @property
    def name(self) -> str:
        """The name of the wrapped cluster."""
        return self.inner.name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """The capabilities of the wrapped cluster."""
        return self.inner.capabilities

    def read(self, request: ReadRequest) -> Reading:
        """See the protocol."""
        return self.call("read", lambda: self.inner.read(request), request)

    def cluster_id(self) -> str:
        """The id of the cluster; no call, since a client knows it from its latest response."""
        return self.inner.cluster_id()

    def broker_ids(self) -> frozenset[int]:
        """See the protocol."""
        return self.call("broker_ids", self.inner.broker_ids)

    def quorum_voters(self) -> frozenset[int] | None:
        """See the protocol."""
        return self.call("quorum_voters", self.inner.quorum_voters)

    def response_times(self, deadline_s: float) -> Mapping[int, ResponseTime | None]:
        """See the protocol."""
        return self.call("response_times", lambda: self.inner.response_times(deadline_s))

    def partition_status(self, topics: Collection[str]) -> Mapping[TopicPartition, PartitionStatus]:
        """See the protocol."""
        return self.call("partition_status", lambda: self.inner.partition_status(topics), topics)

    def replica_logs(
        self, brokers: Collection[int], partitions: Collection[TopicPartition]
    ) -> tuple[Mapping[ReplicaOn, ReplicaLog], Mapping[int, Fault]]:
        """See the protocol."""
        return self.call("replica_logs", lambda: self.inner.replica_logs(brokers, partitions), brokers, partitions)

    def create_topics(self, topics: Sequence[NewTopic], *, validate_only: bool = False) -> Mapping[str, Fault]:
        """See the protocol."""
        return self.call("create_topics", lambda: self.inner.create_topics(topics, validate_only=validate_only), topics)

    def alter_reassignments(
        self,
        targets: Mapping[TopicPartition, tuple[int, ...] | None],
        *,
        allow_replication_factor_change: bool = False,
    ) -> Mapping[TopicPartition, Fault]:
        """See the protocol."""

        def call() -> Mapping[TopicPartition, Fault]:
            return self.inner.alter_reassignments(
                targets, allow_replication_factor_change=allow_replication_factor_change
            )

        return self.call("alter_reassignments", call, targets)

    def reassignments(self) -> Mapping[TopicPartition, Reassignment]:
        """See the protocol."""
        return self.call("reassignments", self.inner.reassignments)

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> Mapping[ReplicaOn, Fault]:
        """See the protocol."""
        return self.call("move_log_dirs", lambda: self.inner.move_log_dirs(targets), targets)

    def elect_preferred_leaders(self, partitions: Collection[TopicPartition]) -> Mapping[TopicPartition, Fault]:
        """See the protocol."""
        return self.call("elect_preferred_leaders", lambda: self.inner.elect_preferred_leaders(partitions), partitions)

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """See the protocol."""
        return self.call("configs", lambda: self.inner.configs(resources, keys), resources, keys)

    def alter_configs(self, changes: Sequence[ConfigChange]) -> Mapping[ConfigResource, Fault]:
        """See the protocol."""
        return self.call("alter_configs", lambda: self.inner.alter_configs(changes), changes)

    def lock(self, request: LockRequest) -> ClusterLock:
        """See the protocol."""
        return _CountedLock(self, self.call("lock", lambda: self.inner.lock(request), request.owner))

    def lock_holders(self) -> tuple[str, ...]:
        """See the protocol."""
        return self.call("lock_holders", self.inner.lock_holders)

    def records(self, avoid: Collection[int] = ()) -> RecordStore:
        """See the protocol."""
        return _CountedRecords(self, self.inner.records(avoid))

    def close(self) -> None:
        """Close the wrapped cluster."""
        self.inner.close()

    def call(self, method: str, action: Callable[[], _T], *arguments: Any) -> _T:
        """Count a call and forward it, or fail as scripted."""
        self._counts[method] += 1
        made = Call(len(self.calls) + 1, method, self._counts[method], arguments)
        self.calls.append(made)
        for hook in self.before:
            hook(made)
        outcome = self._outcome(made)
        if outcome is CallOutcome.REFUSED:
            raise RefusedByClusterError(f"{method}: refused by the script")
        if outcome is CallOutcome.TIMEOUT:
            raise NoResponseError(f"{method}: no response, by the script")
        response = action()
        if outcome is CallOutcome.RESPONSE_LOST:
            raise NoResponseError(f"{method}: the response was lost, by the script")
        for hook in self.after:
            hook(made)
        return response

    def _outcome(self, call: Call) -> CallOutcome | None:
        return (
            self._by_number.get(call.number)
            or self._by_method.get((call.method, call.method_number))
            or self._always.get(call.method)
        )


class _CountedLock:
    """A lock whose release counts as a call."""

    def __init__(self, cluster: FaultyCluster, inner: ClusterLock) -> None:
        self._cluster = cluster
        self._inner = inner

    @property
    def scope(self) -> str:
        return self._inner.scope

    def seconds_since_heartbeat(self) -> float:
        return self._inner.seconds_since_heartbeat()

    def is_held(self) -> bool:
        return self._inner.is_held()

    def release(self) -> None:
        self._cluster.call("lock.release", self._inner.release)


class _CountedRecords:
    """Records whose reads and writes count as calls."""

    def __init__(self, cluster: FaultyCluster, inner: RecordStore) -> None:
        self._cluster = cluster
        self._inner = inner

    def put(self, key: str, value: bytes | None, *, within_s: float | None = None) -> None:
        self._cluster.call("records.put", lambda: self._inner.put(key, value, within_s=within_s), key)

    def get_all(self, *, within_s: float | None = None) -> Mapping[str, bytes]:
        return self._cluster.call("records.get_all", lambda: self._inner.get_all(within_s=within_s))
