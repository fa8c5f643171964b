"""What resuming or rolling back a run would move, to be shown before anybody is asked."""

from __future__ import annotations

from dataclasses import dataclass

from kafkabal.executor.observe.observation import Stage, observe
from kafkabal.executor.reassign.target_placement import target_at_start, target_by_plan
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.run_states import Goal


@dataclass(frozen=True, slots=True)
class PreviewedMove:
    """One partition that would be moved."""

    name: str
    found: tuple[int, ...]
    target: tuple[int, ...]
    copy_bytes: int
    """To brokers that hold no copy now."""


@dataclass(frozen=True, slots=True)
class RunPreview:
    """What a run would do from here."""

    moves: tuple[PreviewedMove, ...]
    skipped: tuple[str, ...]
    """Partitions that others have moved to a third place since; they stay there."""

    @property
    def copy_bytes(self) -> int:
        """Bytes to be copied between brokers."""
        return sum(move.copy_bytes for move in self.moves)


def preview_run(environment: RunEnvironment, found: FoundRun, goal: Goal) -> RunPreview:
    """Compare the cluster with the goal, and change nothing."""
    place = target_at_start if goal is Goal.ROLL_BACK else target_by_plan
    by_steps = found.record.options.limits.one_replica_at_a_time
    targets = [place(p, by_steps=by_steps) for p in found.record.partitions]
    seen = observe(environment.cluster, targets)
    moves, skipped = [], []
    for target in targets:
        stage, status = seen.stage(target), seen.status.get(target.name)
        if stage in (Stage.FOREIGN, Stage.LAGGING):
            skipped.append(str(target.name))
        elif status is not None and stage not in (Stage.PLACED, Stage.UNSEEN, Stage.GONE):
            new = [b for b in target.replicas if b not in status.replicas]
            moves.append(
                PreviewedMove(str(target.name), status.replicas, target.replicas, target.copy_bytes * len(new))
            )
    return RunPreview(tuple(moves), tuple(skipped))
