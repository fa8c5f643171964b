"""The controller's decisions: leaders, in-sync replicas and reassignments, as in KIP-455.

A reassignment sets the replica list to ``target + removed``. It completes when all target replicas are in sync,
including those that were there before: while one of them is dead it stays in flight, even if nothing is added.
Cancelling leaves ``list - added``: the original set, though not always in its original order; it is refused while no
replica of that set could lead.
"""

from __future__ import annotations

from kafkabal.clusters.cluster_protocol import Fault
from kafkabal.clusters.simulated.cluster_parts import ClusterParts, SimulatedBroker, SimulatedLog, SimulatedPartition
from kafkabal.model import UNCLEAN_ELECTION, TopicPartition


def start_reassignment(
    parts: ClusterParts, name: TopicPartition, target: tuple[int, ...], *, guarded: bool
) -> Fault | None:
    """Start, or change, the reassignment of one partition; ``guarded`` refuses another replication factor (KIP-860)."""
    partition = parts.partition(name)
    if partition is None:
        return Fault("UNKNOWN_TOPIC_OR_PARTITION", f"unknown partition: {name}")
    if not target or len(set(target)) != len(target):
        return Fault("INVALID_REPLICA_ASSIGNMENT", "replica list empty or with duplicates")
    # the controller knows dead brokers, and accepts them
    unknown = [b for b in target if b not in parts.brokers]
    if unknown:
        return Fault("INVALID_REPLICA_ASSIGNMENT", f"broker {unknown[0]} is not registered")
    if guarded and len(target) != len(partition.target if partition.is_moving else partition.replicas):
        return Fault("INVALID_REPLICATION_FACTOR", "the replication factor would change")
    _set_assignment(parts, partition, list(target))
    settle_reassignments(parts, partition)
    return None


def cancel_reassignment(parts: ClusterParts, name: TopicPartition) -> Fault | None:
    """Cancel the reassignment of one partition."""
    partition = parts.partition(name)
    if partition is None:
        return Fault("UNKNOWN_TOPIC_OR_PARTITION", f"unknown partition: {name}")
    if not partition.is_moving:
        return Fault("NO_REASSIGNMENT_IN_PROGRESS")
    kept = [b for b in partition.replicas if b not in partition.adding]
    # Kafka 4.1 removes even the last replica from the ISR when it dies (KIP-966), and then refuses
    if not any(parts.brokers[b].registered for b in partition.isr if b in kept):
        if parts.topics[name.topic].configs.get(UNCLEAN_ELECTION) != "true":
            return Fault("INVALID_REPLICA_ASSIGNMENT", "cancelling would require an unclean election")
        partition.isr = kept[:1]
    for broker in partition.adding:
        _drop_log(parts, partition, broker)
    partition.replicas, partition.adding, partition.removing = kept, [], []
    partition.isr = [b for b in partition.isr if b in kept]
    parts.moving.pop(name, None)
    _elect_any(parts, partition)
    return None


def elect_preferred(parts: ClusterParts, name: TopicPartition) -> Fault | None:
    """Make the first replica the leader, if it is not yet."""
    partition = parts.partition(name)
    if partition is None:
        return Fault("UNKNOWN_TOPIC_OR_PARTITION", f"unknown partition: {name}")
    preferred = partition.replicas[0]
    if preferred not in partition.isr or not parts.brokers[preferred].registered:
        return Fault("PREFERRED_LEADER_NOT_AVAILABLE", f"broker {preferred} is not in sync")
    partition.leader = preferred
    return None


def settle_reassignments(parts: ClusterParts, partition: SimulatedPartition) -> None:
    """Complete a reassignment whose target is in sync."""
    target = partition.target
    if not partition.is_moving or not set(target) <= set(partition.isr):
        return
    for broker in partition.removing:
        _drop_log(parts, partition, broker)
    partition.replicas, partition.adding, partition.removing = target, [], []
    partition.isr = [b for b in partition.isr if b in target]
    parts.moving.pop(partition.name, None)
    _elect_any(parts, partition)


def broker_lost(parts: ClusterParts, broker: SimulatedBroker) -> None:
    """Remove a broker from every ISR (but keep the last one) and elect other leaders for its partitions."""
    for partition in parts.partitions():
        if broker.id in partition.isr and len(partition.isr) > 1:
            partition.isr.remove(broker.id)
        _elect_any(parts, partition)


def broker_back(parts: ClusterParts, broker: SimulatedBroker) -> None:
    """Let a broker rejoin the ISR where its log is complete; it does not regain leadership automatically."""
    for partition in parts.partitions():
        log = partition.logs.get(broker.id)
        if log is None:
            continue
        is_behind = broker.id not in partition.isr and broker.id not in partition.adding
        if is_behind and broker.log_dirs[log.log_dir].online:
            log.copied_bytes = partition.size_bytes
            partition.isr.append(broker.id)
        _elect_any(parts, partition)  # the partition may have waited for its last in-sync replica
    for partition in list(parts.moving.values()):
        settle_reassignments(parts, partition)


def _set_assignment(parts: ClusterParts, partition: SimulatedPartition, target: list[int]) -> None:
    current = partition.replicas
    partition.adding = [b for b in target if b not in current]
    partition.removing = [b for b in current if b not in target]
    partition.replicas = target + partition.removing
    for broker in partition.adding:
        partition.logs[broker] = SimulatedLog(_choose_log_dir(parts, parts.brokers[broker], partition.name), 0.0)
    if partition.is_moving:
        parts.moving[partition.name] = partition


def _choose_log_dir(parts: ClusterParts, broker: SimulatedBroker, name: TopicPartition) -> str:
    """The requested dir, or else the one with the fewest logs."""
    wished = broker.preferred_log_dirs.pop(name, None)
    if wished is not None and broker.log_dirs[wished].online:
        return wished
    held = dict.fromkeys((path for path, d in broker.log_dirs.items() if d.online and not d.cordoned), 0)
    if len(held) == 1:
        return next(iter(held))
    for partition in parts.partitions():
        log = partition.logs.get(broker.id)
        if log is not None and log.log_dir in held:
            held[log.log_dir] += 1
    return min(held, key=lambda path: (held[path], path)) if held else next(iter(broker.log_dirs))


def _drop_log(parts: ClusterParts, partition: SimulatedPartition, broker: int) -> None:
    partition.logs.pop(broker, None)
    parts.copying.pop((partition.name, broker), None)


def _elect_any(parts: ClusterParts, partition: SimulatedPartition) -> None:
    """Keep a leader that is alive and in sync, or else elect the first such replica."""
    able = [b for b in partition.replicas if b in partition.isr and parts.brokers[b].registered]
    if partition.leader not in able:
        partition.leader = able[0] if able else -1
