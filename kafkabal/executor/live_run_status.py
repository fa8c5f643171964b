"""The actual state of a run on the cluster, whatever its journal says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafkabal.clusters import Capability, Cluster, ConfigResource, ConfigSource, ResourceKind
from kafkabal.errors import OperationError
from kafkabal.executor.observe.observation import Observation, Stage, observe
from kafkabal.executor.reassign.target_placement import TargetPlacement, targets_of_run
from kafkabal.executor.safety.lock_holder import is_provably_gone
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_states import Goal
from kafkabal.executor.throttle.run_throttles import entries_by_topic
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS, TOPIC_IS_GONE, list_steps, restore_rate
from kafkabal.model import TopicPartition

_ARRIVED = frozenset({Stage.PLACED, Stage.LOG_DIR_UNKNOWN, Stage.MISPLACED, Stage.COPYING})
"""Stages in which the right brokers hold the partition."""
_MOVING = frozenset({Stage.MOVING, Stage.WRONG_TARGET, Stage.COPYING})


@dataclass(frozen=True, slots=True)
class PartitionState:
    """One partition of the run that is not at its target."""

    name: str
    stage: Stage
    target: tuple[int, ...]
    found: tuple[int, ...]
    leader: int
    arrived_bytes: int
    copy_bytes: int


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run as the cluster shows it."""

    found: FoundRun
    stages: Counter[Stage]
    differing: tuple[PartitionState, ...]
    """Partitions that are not at the target of the run, or have another leader."""
    throttles: tuple[str, ...]
    """Throttles of the run that are set now."""
    unknown_throttles: tuple[str, ...]
    """Brokers and topics whose throttles could not be read, with the reason."""
    foreign: int
    """Number of reassignments in flight that are not ours."""
    holder: str | None
    """The process that holds the lock of the cluster, as it names itself; None if no process does, or it is unknown."""
    done_bytes: int
    """Bytes of copies between brokers that have arrived."""
    total_bytes: int
    """Bytes of all copies between brokers that the goal of the run takes."""
    bytes_per_s: float | None = None
    """None if there was only one observation."""
    why_holder_unknown: str = ""
    """Why the lock of the cluster could not be read."""

    @property
    def is_live(self) -> bool:
        """Whether a process is working on the run now."""
        return self.holder is not None and self.found.is_open

    @property
    def left_s(self) -> float | None:
        """Seconds until all copies have arrived at the current rate; None if the rate is unknown."""
        return (self.total_bytes - self.done_bytes) / self.bytes_per_s if self.bytes_per_s else None

    def since(self, earlier: RunStatus, elapsed_s: float) -> RunStatus:
        """The same status, with the rate between two observations."""
        return replace(self, bytes_per_s=max(0, self.done_bytes - earlier.done_bytes) / elapsed_s)

    def has_stalled_since(self, earlier: RunStatus) -> bool:
        """Whether copies are in flight but no byte has arrived since an earlier status."""
        return self.is_live and self.stages[Stage.MOVING] > 0 and self.done_bytes <= earlier.done_bytes

    @property
    def is_as_planned(self) -> bool:
        """Whether the cluster is as the run was meant to leave it."""
        return not self.throttles and not self.unknown_throttles and not self.differing


def run_status(cluster: Cluster, found: FoundRun) -> RunStatus:
    """Compare the cluster with what the run is heading for."""
    by_steps = found.record.options.limits.one_replica_at_a_time
    targets = {t.name: t for t in targets_of_run(found.record.partitions, found.state.goal, by_steps=by_steps)}
    seen = observe(cluster, list(targets.values()))
    stages = {name: seen.stage(target) for name, target in targets.items()}
    differing = [
        _state_of(target, stages[name], seen)
        for name, target in targets.items()
        if _differs(found, target, stages[name], seen)
    ]
    done_bytes, total_bytes = _copied(targets, stages, seen)
    holder, why_holder_unknown = current_holder(cluster)
    throttles, unknown_throttles = _throttles(cluster, found)
    return RunStatus(
        found=found,
        stages=Counter(stages.values()),
        differing=tuple(differing),
        throttles=throttles,
        unknown_throttles=unknown_throttles,
        foreign=len(seen.reassignments.keys() - targets.keys()),
        holder=holder,
        done_bytes=done_bytes,
        total_bytes=total_bytes,
        why_holder_unknown=why_holder_unknown,
    )


def current_holder(cluster: Cluster) -> tuple[str | None, str]:
    """The process that holds the lock of the cluster, and so works on its run; None if there is none or it is unknown.

    A process of this host that is provably gone does not count as a holder.

    Returns
    -------
    tuple
        The holder, and why it is unknown: empty unless the lock cannot be read, as while its coordinator is down.
    """
    if Capability.LOCK not in cluster.capabilities:
        return None, ""
    try:
        holders = [holder for holder in cluster.lock_holders() if not is_provably_gone(holder)]
    except OperationError as error:
        return None, error.message
    return " and ".join(holders) or None, ""


def _copied(
    targets: Mapping[TopicPartition, TargetPlacement],
    stages: Mapping[TopicPartition, Stage],
    seen: Observation,
) -> tuple[int, int]:
    """Bytes that have arrived at brokers without an earlier copy, and the total to arrive there."""
    done = total = 0
    for name, target in targets.items():
        arriving = target.to_add
        total += target.copy_bytes * len(arriving)
        if stages[name] is Stage.MOVING:
            arrived = seen.arrived_bytes(target)
            done += sum(min(arrived.get(b, 0), target.copy_bytes) for b in arriving)
        elif stages[name] in _ARRIVED:
            done += target.copy_bytes * len(arriving)
    return done, total


def _differs(found: FoundRun, target: TargetPlacement, stage: Stage, seen: Observation) -> bool:
    """Whether a partition is not at the goal.

    A cancelled run only requires that nothing is in flight; other runs require every replica in place, and the leader
    too if they elect leaders.
    """
    if found.state.goal is Goal.CANCEL:
        return stage in _MOVING
    if stage is Stage.GONE:
        return False
    if not found.record.options.elect_leaders:
        return stage is not Stage.PLACED
    return stage is not Stage.PLACED or seen.status[target.name].leader != target.leader


def _state_of(target: TargetPlacement, stage: Stage, seen: Observation) -> PartitionState:
    status = seen.status[target.name]
    return PartitionState(
        name=str(target.name),
        stage=stage,
        target=target.replicas,
        found=status.replicas,
        leader=status.leader,
        arrived_bytes=sum(seen.arrived_bytes(target).values()),
        copy_bytes=target.copy_bytes,
    )


def _throttles(cluster: Cluster, found: FoundRun) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Configs that still hold a value or an entry of ours, and brokers and topics whose configs could not be read."""
    originals = {(o.of, o.key): o for o in (*found.record.originals, *found.state.later_originals)}
    if not originals or Capability.CONFIGS not in cluster.capabilities:
        return (), ()
    ours = entries_by_topic(found.record.partitions)
    still_set: list[str] = []
    unknown: list[str] = []
    for kind, keys in ((ResourceKind.BROKER, RATE_KEYS), (ResourceKind.TOPIC, LIST_KEYS)):
        resources: set[ConfigResource] = {resource for resource, _ in originals if resource.kind is kind}
        current, faults = cluster.configs(resources, keys) if resources else ({}, {})
        unknown += [f"{r}: {fault}" for r, fault in faults.items() if fault.name != TOPIC_IS_GONE]
        for resource, values in sorted(current.items()):
            for key in keys:
                original, value = originals.get((resource, key)), values.get(key)
                if original is None:
                    continue  # the run has never read it, so it has not changed it either
                is_ours = (
                    list_steps(original, value, ours[resource][key] if resource in ours else (), ()).is_needed
                    if kind is ResourceKind.TOPIC
                    else restore_rate(original, value, found.state.rates).is_needed
                )
                if is_ours and value is not None and value.source is ConfigSource.OWN:
                    still_set.append(f"{key} of {resource}: {value.value}")
    return tuple(still_set), tuple(unknown)
