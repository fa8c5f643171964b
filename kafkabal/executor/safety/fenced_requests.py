"""Every change of the cluster goes through here: fenced, recorded before it is sent, and its answer recorded."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from kafkabal.chunks import chunked
from kafkabal.clusters import Cluster, ConfigChange, ConfigOperation, ConfigResource, Fault, ReplicaOn
from kafkabal.errors import OperationError
from kafkabal.executor.run_events import RunListener, Submitted
from kafkabal.executor.safety.cluster_lock import Fence
from kafkabal.executor.safety.run_invariants import RunInvariants
from kafkabal.executor.state.journal_records import Confirmed, EffectKind, Intended, Unanswered
from kafkabal.executor.state.run_store import RunStore
from kafkabal.model import TopicPartition

_NO_RESPONSE = frozenset({"timeout", "REQUEST_TIMED_OUT"})
"""Faults of items that may still take effect: a broker that hangs, or a controller to which a broker has forwarded the
request, executes what it had received once it continues."""
_T = TypeVar("_T")
_K = TypeVar("_K", bound="Hashable")


class FencedRequests:
    """Requests that change the cluster; each method returns the items that failed.

    Any of them raises what the cluster raises; then nothing is known of the items of that request.
    """

    def __init__(
        self,
        cluster: Cluster,
        store: RunStore,
        fence: Fence,
        listener: RunListener,
        invariants: RunInvariants,
        *,
        last_number: int,
        items_per_request: int,
    ) -> None:
        self._cluster = cluster
        self._store = store
        self._fence = fence
        self._listener = listener
        self._invariants = invariants
        self._number = last_number
        self._items_per_request = items_per_request

    def reassign(
        self, targets: Mapping[TopicPartition, tuple[int, ...]], *, changes_replication_factor: bool
    ) -> dict[TopicPartition, Fault]:
        """Start reassignments."""
        self._invariants.check_placement(targets)
        failed: dict[TopicPartition, Fault] = {}
        for part in chunked(targets.items(), self._items_per_request):
            chunk = dict(part)
            failed |= self._send(
                EffectKind.REASSIGN,
                {str(name): list(replicas) for name, replicas in chunk.items()},
                partial(
                    self._cluster.alter_reassignments,
                    chunk,
                    allow_replication_factor_change=changes_replication_factor,
                ),
            )
        return failed

    def cancel(self, names: Collection[TopicPartition]) -> dict[TopicPartition, Fault]:
        """Cancel reassignments."""
        failed: dict[TopicPartition, Fault] = {}
        for part in chunked(names, self._items_per_request):
            failed |= self._send(
                EffectKind.CANCEL,
                {str(name): None for name in part},
                partial(self._cluster.alter_reassignments, dict.fromkeys(part)),
            )
        return failed

    def move_log_dirs(self, targets: Mapping[ReplicaOn, str]) -> dict[ReplicaOn, Fault]:
        """Ask brokers to keep replicas in given log dirs."""
        failed: dict[ReplicaOn, Fault] = {}
        for part in chunked(targets.items(), self._items_per_request):
            chunk = dict(part)
            failed |= self._send(
                EffectKind.LOG_DIRS,
                {f"{r.topic}-{r.partition}:{r.broker}": path for r, path in chunk.items()},
                partial(self._cluster.move_log_dirs, chunk),
            )
        return failed

    def elect(self, names: Collection[TopicPartition]) -> dict[TopicPartition, Fault]:
        """Elect preferred leaders."""
        items = {str(name): None for name in names}
        return self._send(EffectKind.ELECT, items, lambda: self._cluster.elect_preferred_leaders(names))

    def alter_configs(self, changes: Sequence[ConfigChange]) -> dict[ConfigResource, Fault]:
        """Change configs; no key of a resource may occur twice."""
        self._invariants.check_configs(changes)
        items: dict[str, dict[str, Any]] = {}
        for change in changes:
            is_whole = change.operation is ConfigOperation.SET
            value = change.value if is_whole else {change.operation.value: change.value}
            items.setdefault(str(change.resource), {})[change.key] = value
        return self._send(EffectKind.CONFIGS, items, lambda: self._cluster.alter_configs(changes))

    def _send(self, kind: EffectKind, items: dict[str, Any], call: Callable[[], Mapping[_K, Fault]]) -> dict[_K, Fault]:
        if not items:
            return {}
        self._invariants.check_begun()
        # a suspended process only knows the state from before, and another one may work on the cluster since
        self._fence.check()
        self._number += 1
        self._store.announce_request(Intended(at=self._store.now(), number=self._number, kind=kind, items=items))
        # on disk before it is sent: after a crash, only what is recorded can be undone; a slow disk may have taken long
        self._fence.check()
        try:
            failed = dict(call())
        except OperationError as error:
            self._store.append(Unanswered(at=self._store.now(), number=self._number, error=str(error)))
            raise
        named = {str(key): str(fault) for key, fault in failed.items()}
        unanswered = [str(key) for key, fault in failed.items() if fault.name in _NO_RESPONSE]
        self._store.append(Confirmed(at=self._store.now(), number=self._number, failed=named, unanswered=unanswered))
        self._listener.on_event(Submitted(effect=self._number, kind=kind, items=len(items), failed=len(failed)))
        return failed
