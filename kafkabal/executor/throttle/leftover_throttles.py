"""Leftover throttles: those of a known run are restored, others listed and, if requested, removed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kafkabal.clusters import (
    Cluster,
    ClusterLock,
    ConfigChange,
    ConfigResource,
    ConfigSource,
    ReadRequest,
    ResourceKind,
)
from kafkabal.errors import PartialFailureError
from kafkabal.executor.begin_run import reopen_run
from kafkabal.executor.execute_run import restore_only
from kafkabal.executor.observe.observation import observe
from kafkabal.executor.reassign.target_placement import target_by_plan
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_result import RunResult
from kafkabal.executor.safety.cluster_lock import release_lock, take_lock
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS

_SESSION_S = 30.0


@dataclass(frozen=True, slots=True, order=True)
class LeftoverThrottle:
    """A throttle that no reassignment uses."""

    resource: ConfigResource
    key: str
    value: str


def repair_run(
    environment: RunEnvironment, *, journal: Path | str | None = None, lock: ClusterLock | None = None
) -> RunResult:
    """Restore the throttles of the latest run; reassignments in flight continue and keep theirs."""
    context = reopen_run(environment, journal=journal, lock=lock)
    by_steps = context.options.limits.one_replica_at_a_time
    targets = [target_by_plan(p, by_steps=by_steps) for p in context.record.partitions]
    seen = context.retries.until_success(lambda: observe(context.cluster, targets))
    return restore_only(context, {w.name for w in targets} & seen.reassignments.keys())


def find_leftovers(cluster: Cluster) -> tuple[LeftoverThrottle, ...]:
    """Replication throttles that are set on brokers and topics while no reassignment needs them.

    A rate counts as used while its broker takes part in a reassignment, a list while one of its topic runs. Whether
    they are still wanted, only the operator can know.
    """
    running = cluster.reassignments()
    busy_topics = {name.topic for name in running}
    busy_brokers = {b for r in running.values() for b in r.replicas}
    brokers = {ConfigResource(ResourceKind.BROKER, str(b)) for b in cluster.broker_ids() - busy_brokers}
    names = set(cluster.read(ReadRequest()).state.topics.name) - busy_topics
    topics = {ConfigResource(ResourceKind.TOPIC, name) for name in names}
    found = [*_own(cluster, brokers, RATE_KEYS), *_own(cluster, topics, LIST_KEYS)]
    return tuple(sorted(found))


def remove_leftovers(
    environment: RunEnvironment, leftovers: Sequence[LeftoverThrottle], *, lock: ClusterLock | None = None
) -> None:
    """Delete throttles, under the lock.

    Raises
    ------
    PartialFailureError
        Naming those that could not be deleted.
    """
    cluster = environment.cluster
    held = lock or take_lock(cluster, environment.owner, _SESSION_S, environment.folder(cluster.cluster_id()) / "lock")
    try:
        failed = cluster.alter_configs([ConfigChange(s.resource, s.key, None) for s in leftovers])
    finally:
        release_lock(held)
    if failed:
        raise PartialFailureError(
            f"cannot remove {len(failed)} of {len({s.resource for s in leftovers})} throttles",
            [(str(resource), str(fault)) for resource, fault in failed.items()],
        )


def _own(cluster: Cluster, resources: Collection[ConfigResource], keys: Iterable[str]) -> Iterator[LeftoverThrottle]:
    values, _ = cluster.configs(resources, list(keys)) if resources else ({}, {})
    for resource, found in values.items():
        for key, value in found.items():
            if value.source is ConfigSource.OWN and value.value:
                yield LeftoverThrottle(resource, key, value.value)
