"""Target placement of a partition, the steps towards it, and which states on the way are the run's own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations

from kafkabal.executor.state.run_record import RunPartition
from kafkabal.executor.state.run_states import Goal
from kafkabal.model import TopicPartition

Replicas = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetPlacement:
    """The placement that a partition is being brought to."""

    name: TopicPartition
    replicas: Replicas
    log_dirs: Mapping[int, str]
    """Broker to path, only if the path matters."""
    leader: int
    """Broker that is to lead; -1 in a rollback if there was no leader before the run."""
    to_add: Replicas
    """Brokers that get a copy over the whole move, compared with the placement at its other end."""
    copy_bytes: int
    resting: frozenset[frozenset[int]]
    """Sets of replicas that the run may leave with nothing in flight; any other set was made by another tool."""
    passing: frozenset[frozenset[int]]
    """Sets of replicas that may be seen while a reassignment of ours is in flight."""
    topic_id: str = ""
    """Id of the intended topic; empty if unknown."""
    by_steps: bool = False
    """Exchange one replica at a time."""

    def next_step(self, current: Replicas, in_sync: Collection[int]) -> Replicas:
        """Replicas to request next, given the current ones, some of which are in sync."""
        return next_step(current, self.replicas, in_sync) if self.by_steps else self.replicas


def targets_of_run(partitions: Iterable[RunPartition], goal: Goal, *, by_steps: bool) -> list[TargetPlacement]:
    """The targets of a run with this goal: the previous placements, or those of the plan.

    Parameters
    ----------
    by_steps
        Exchange one replica at a time.
    """
    return [target_of(p, goal, by_steps=by_steps) for p in partitions]


def target_of(planned: RunPartition, goal: Goal, *, by_steps: bool) -> TargetPlacement:
    """The target of one partition for this goal; see :func:`targets_of_run`."""
    previous, target = planned.previous.replicas, planned.replicas
    steps = _steps(previous, target) if by_steps else {(frozenset(previous), frozenset(target))}
    is_back = goal is Goal.ROLL_BACK
    end = planned.previous if is_back else planned.target
    return TargetPlacement(
        name=planned.name,
        replicas=end.replicas,
        log_dirs=planned.previous_dirs if is_back else planned.target_dirs,
        leader=end.leader,
        to_add=tuple(b for b in end.replicas if b not in previous or b not in target),
        copy_bytes=planned.copy_bytes,
        # another tool made any other set of replicas, and to move the partition on would undo its work
        resting=frozenset(stop for step in steps for stop in step),
        passing=frozenset(before | after for before, after in steps),
        topic_id=planned.topic_id,
        by_steps=by_steps,
    )


def next_step(current: Replicas, target: Replicas, in_sync: Collection[int]) -> Replicas:
    """The target itself if at most one replica is new, otherwise a list that adds one of the new replicas.

    Replicas that stay come in the order of the target, then those that are still to be replaced. Which of these leaves
    next does not depend on their order: a cancelled reassignment leaves them in another order, and the next step would
    otherwise lead to a set that is not recognised as the run's own. All replicas that are out of sync leave first and
    at once: Kafka completes no step that keeps one of them.
    """
    new = [b for b in target if b not in current]
    leaving = sorted(b for b in current if b not in target)
    next_ones = [b for b in leaving if b not in in_sync] or leaving[:1]
    if len(new) <= max(len(next_ones), 1):
        return target
    arriving = new[: max(len(next_ones), 1)]
    arrived = [b for b in target if b in current or b in arriving]
    return tuple(arrived + [b for b in leaving if b not in next_ones])


def _steps(previous: Replicas, target: Replicas) -> set[tuple[frozenset[int], frozenset[int]]]:
    """Every step from one set of replicas to the next that a run may make: there, back, and back from midway.

    Covers every combination of replicas that may be out of sync at the time.
    """
    steps: set[tuple[frozenset[int], frozenset[int]]] = set()
    reached, known = [previous], {frozenset(previous)}
    while reached:
        stop = reached.pop()
        for after in {a for goal in (previous, target) for a in _next_steps(stop, goal)}:
            steps.add((frozenset(stop), frozenset(after)))
            if frozenset(after) not in known:
                known.add(frozenset(after))
                reached.append(after)
    return steps


def _next_steps(current: Replicas, target: Replicas) -> Iterator[Replicas]:
    leaving = [b for b in current if b not in target]
    for n_in_sync in range(len(leaving) + 1):
        for in_sync in combinations(leaving, n_in_sync):
            yield next_step(current, target, in_sync)
