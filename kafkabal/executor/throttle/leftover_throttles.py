"""Leftover throttles, which no run and no reassignment needs: finds them, and removes them if requested."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kafkabal.clusters import (
    FOR_REPORTS,
    Cluster,
    ClusterLock,
    ConfigChange,
    ConfigResource,
    ConfigSource,
    ConfigValue,
    Fault,
    ReadRequest,
    ResourceKind,
)
from kafkabal.errors import PartialFailureError
from kafkabal.executor.run_context import RunContext
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.run_options import RunOptions
from kafkabal.executor.safety.cluster_lock import confirm_lock, release_lock
from kafkabal.executor.safety.lock_across_runs import lock_cluster
from kafkabal.executor.state.run_record import Original
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS, TOPIC_IS_GONE
from kafkabal.model import LOG_DIR_RATE, TopicPartition
from kafkabal.wording import counted_noun


@dataclass(frozen=True, slots=True, order=True)
class LeftoverThrottle:
    """A throttle that no reassignment uses."""

    resource: ConfigResource
    key: str
    value: str


@dataclass(frozen=True, slots=True)
class ThrottleSearch:
    """Throttles that were found, and where they could not be read."""

    found: tuple[LeftoverThrottle, ...]
    unread: Mapping[ConfigResource, Fault]
    """Brokers and topics that may have more: they did not respond, or the permission to read configs is missing."""


def find_leftover_throttles(cluster: Cluster, among: Collection[ConfigResource] | None = None) -> ThrottleSearch:
    """Replication throttles set on brokers and topics while no reassignment needs them.

    A rate counts as used while its broker takes part in a reassignment, a list while a partition of its topic does, and
    a rate between log dirs while its broker copies between them. Only the operator can know whether they are still
    wanted.

    Parameters
    ----------
    among
        Check these brokers and topics only; the whole cluster if None.
    """
    running = cluster.reassignments()
    busy = resources_of((name, r.replicas) for name, r in running.items())
    resources, dead = _all_resources(cluster) if among is None else (set(among), {})
    unused = throttles_on(cluster, resources - busy)
    unused = ThrottleSearch(unused.found, {**unused.unread, **dead})
    if not any(throttle.key == LOG_DIR_RATE for throttle in unused.found):
        return unused
    copying = _brokers_copying_between_log_dirs(cluster)
    found = tuple(t for t in unused.found if t.key != LOG_DIR_RATE or t.resource not in copying)
    return ThrottleSearch(found, unused.unread)


def throttles_on(cluster: Cluster, resources: Collection[ConfigResource]) -> ThrottleSearch:
    """Throttles set on these brokers and topics themselves, used or not."""
    found: list[LeftoverThrottle] = []
    unread: dict[ConfigResource, Fault] = {}
    for kind, keys in ((ResourceKind.BROKER, RATE_KEYS), (ResourceKind.TOPIC, LIST_KEYS)):
        of_kind = {r for r in resources if r.kind is kind}
        values, faults = cluster.configs(of_kind, keys) if of_kind else ({}, {})
        found += _own(values)
        unread |= {r: fault for r, fault in faults.items() if fault.name != TOPIC_IS_GONE}
    return ThrottleSearch(tuple(sorted(found)), unread)


def resources_of(reassignments: Iterable[tuple[TopicPartition, Collection[int]]]) -> set[ConfigResource]:
    """Brokers and topics on which the throttles of reassignments are set, given each partition and its replicas."""
    found: set[ConfigResource] = set()
    for name, replicas in reassignments:
        found.add(ConfigResource(ResourceKind.TOPIC, name.topic))
        found |= {ConfigResource(ResourceKind.BROKER, str(b)) for b in replicas}
    return found


def remove_leftover_throttles(
    environment: RunEnvironment, leftovers: Sequence[LeftoverThrottle], *, lock: ClusterLock | None = None
) -> tuple[LeftoverThrottle, ...]:
    """Delete throttles under the lock, unless they have changed since they were found.

    A prompt may have been open for hours, or the process suspended: by now a reassignment may need them, or an operator
    may have set others.

    Returns
    -------
    tuple of LeftoverThrottle
        Those that were kept.

    Raises
    ------
    LockLostError
        If the lock was lost before the request: a run may have set the same throttles since.
    PartialFailureError
        Naming those that could not be deleted.
    """
    cluster, session_s = environment.cluster, RunOptions().session_s
    held = lock or lock_cluster(environment, session_s)
    try:
        found = find_leftover_throttles(cluster, {leftover.resource for leftover in leftovers}).found
        unchanged = [leftover for leftover in leftovers if leftover in found]
        confirm_lock(held, session_s)
        failed = cluster.alter_configs([ConfigChange(s.resource, s.key, None) for s in unchanged])
    finally:
        release_lock(held)
    if failed:
        raise PartialFailureError(
            f"cannot remove {len(failed)} of {counted_noun(len({s.resource for s in unchanged}), 'throttle')}",
            [(str(resource), str(fault)) for resource, fault in failed.items()],
        )
    return tuple(leftover for leftover in leftovers if leftover not in unchanged)


def remove_found_throttles(context: RunContext) -> list[str]:
    """At the end of a run, delete throttles that it found and that no reassignment needs any more.

    A throttle that another user has changed during the run stays.

    Returns
    -------
    list of str
        Throttles that could not be deleted, and why.
    """
    at_first = {(o.of, o.key): o.own_value for o in context.record.originals}
    left = find_leftover_throttles(context.cluster, {resource for resource, _ in at_first})
    found = [t for t in left.found if at_first.get((t.resource, t.key)) == t.value]
    # a later rollback restores what the run found, and must not restore these
    context.store.keep_originals([Original.found(t.resource, t.key, None) for t in found])
    failed = context.effects.alter_configs([ConfigChange(t.resource, t.key, None) for t in found])
    return [f"throttles of another tool on {resource}: {fault}" for resource, fault in failed.items()]


def _brokers_copying_between_log_dirs(cluster: Cluster) -> set[ConfigResource]:
    """Brokers with such copies, which no list of reassignments names."""
    state = cluster.read(FOR_REPORTS).state
    brokers = state.replicas.broker[state.futures.replica]
    return {ConfigResource(ResourceKind.BROKER, str(b)) for b in state.brokers.id[brokers].tolist()}


def _all_resources(cluster: Cluster) -> tuple[set[ConfigResource], dict[ConfigResource, Fault]]:
    """All that respond, and the dead brokers: no other broker knows what is set on them, and they keep it."""
    state = cluster.read(ReadRequest()).state
    brokers = {ConfigResource(ResourceKind.BROKER, str(b)) for b in cluster.broker_ids()}
    topics = {ConfigResource(ResourceKind.TOPIC, name) for name in state.topics.name}
    absent = {ConfigResource(ResourceKind.BROKER, str(b)) for b in state.brokers.id.tolist()} - brokers
    return brokers | topics, dict.fromkeys(absent, Fault("dead"))


def _own(values: Mapping[ConfigResource, Mapping[str, ConfigValue]]) -> Iterator[LeftoverThrottle]:
    for resource, found in values.items():
        for key, value in found.items():
            if value.source is ConfigSource.OWN and value.value:
                yield LeftoverThrottle(resource, key, value.value)
