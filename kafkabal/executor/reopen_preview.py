"""What resuming or rolling back a run would move; shown at the prompt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafkabal.executor.observe.duration_estimate import PartitionCopies
from kafkabal.executor.observe.observation import Observation, Stage, observe
from kafkabal.executor.reassign.target_placement import TargetPlacement, targets_of_run
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_states import Goal

_IN_FLIGHT = frozenset({Stage.MOVING, Stage.WRONG_TARGET, Stage.COPYING})


@dataclass(frozen=True, slots=True)
class PreviewedMove:
    """One partition that would be moved, or whose reassignment would only be cancelled."""

    name: str
    found: tuple[int, ...]
    target: tuple[int, ...]
    copies: PartitionCopies
    """Bytes still to come to brokers without a complete copy, and those between log dirs."""
    log_dirs: Mapping[int, str]
    """Broker to the log dir that its copy moves to."""

    @property
    def copy_bytes(self) -> int:
        """Bytes to be copied between brokers."""
        return sum(self.copies.between_brokers.values())

    @property
    def log_dir_bytes(self) -> int:
        """Bytes to be copied between log dirs of the same broker."""
        return sum(self.copies.between_log_dirs.values())


@dataclass(frozen=True, slots=True)
class ReopenPreview:
    """What a run would do from the current state of the cluster."""

    moves: tuple[PreviewedMove, ...]
    skipped: tuple[str, ...]
    """Partitions that another tool has since moved to a third placement; they stay there."""

    @property
    def copy_bytes(self) -> int:
        """Bytes to be copied between brokers."""
        return sum(move.copy_bytes for move in self.moves)

    @property
    def log_dir_bytes(self) -> int:
        """Bytes to be copied between log dirs of the same broker."""
        return sum(move.log_dir_bytes for move in self.moves)


def preview_reopen(environment: RunEnvironment, found: FoundRun, goal: Goal) -> ReopenPreview:
    """Compare the cluster with the goal; changes nothing."""
    by_steps = found.record.options.limits.one_replica_at_a_time
    targets = targets_of_run(found.record.partitions, goal, by_steps=by_steps)
    seen = observe(environment.cluster, targets)
    moves, skipped = [], []
    for target in targets:
        stage = seen.stage(target)
        if goal is Goal.CANCEL:
            moves += [_cancelled(target, seen)] if stage in _IN_FLIGHT else []
        elif stage in (Stage.FOREIGN, Stage.LAGGING):
            skipped.append(str(target.name))
        elif stage not in (Stage.PLACED, Stage.LOG_DIR_UNKNOWN, Stage.GONE):
            moves.append(_move(target, seen))
    return ReopenPreview(tuple(moves), tuple(skipped))


def _move(target: TargetPlacement, seen: Observation) -> PreviewedMove:
    whole = _complete_replicas(target, seen)
    arrived = seen.arrived_bytes(target) if target.name in seen.reassignments else {}
    missing = {b: max(target.copy_bytes - arrived.get(b, 0), 0) for b in target.replicas if b not in whole}
    dirs = {broker: path for broker, path in seen.misplaced(target).items() if broker in whole}
    return PreviewedMove(
        name=str(target.name),
        found=whole,
        target=target.replicas,
        copies=PartitionCopies(seen.status[target.name].leader, missing, dict.fromkeys(dirs, target.copy_bytes)),
        log_dirs=dirs,
    )


def _cancelled(target: TargetPlacement, seen: Observation) -> PreviewedMove:
    whole = _complete_replicas(target, seen)
    nothing = PartitionCopies(seen.status[target.name].leader, {}, {})
    return PreviewedMove(str(target.name), whole, whole, nothing, {})


def _complete_replicas(target: TargetPlacement, seen: Observation) -> tuple[int, ...]:
    """The current replicas without those that a reassignment is adding, which are listed before they have a copy."""
    running = seen.reassignments.get(target.name)
    return tuple(b for b in seen.status[target.name].replicas if running is None or b not in running.adding)
