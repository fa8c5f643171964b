"""Leftover throttles, which no run and no reassignment needs: found, and removed if requested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

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
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import release_lock
from kafkabal.executor.safety.command_lock import lock_cluster
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS
from kafkabal.wording import counted_noun


@dataclass(frozen=True, slots=True, order=True)
class LeftoverThrottle:
    """A throttle that no reassignment uses."""

    resource: ConfigResource
    key: str
    value: str


def find_leftover_throttles(cluster: Cluster) -> tuple[LeftoverThrottle, ...]:
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


def remove_leftover_throttles(
    environment: RunEnvironment, leftovers: Sequence[LeftoverThrottle], *, lock: ClusterLock | None = None
) -> None:
    """Delete throttles, under the lock.

    Raises
    ------
    PartialFailureError
        Naming those that could not be deleted.
    """
    cluster = environment.cluster
    held = lock or lock_cluster(environment, RunOptions().session_s)
    try:
        failed = cluster.alter_configs([ConfigChange(s.resource, s.key, None) for s in leftovers])
    finally:
        release_lock(held)
    if failed:
        raise PartialFailureError(
            f"cannot remove {len(failed)} of {counted_noun(len({s.resource for s in leftovers}), 'throttle')}",
            [(str(resource), str(fault)) for resource, fault in failed.items()],
        )


def _own(cluster: Cluster, resources: Collection[ConfigResource], keys: Iterable[str]) -> Iterator[LeftoverThrottle]:
    values, _ = cluster.configs(resources, list(keys)) if resources else ({}, {})
    for resource, found in values.items():
        for key, value in found.items():
            if value.source is ConfigSource.OWN and value.value:
                yield LeftoverThrottle(resource, key, value.value)
