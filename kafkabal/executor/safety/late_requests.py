"""What a request that arrived late has left on the cluster.

Admin requests carry no fencing token. A process that is suspended between its last check of the lock and the moment at
which its request is sent, sends it when it wakes up, though another process may have ended its run meanwhile. Nothing
prevents that, so a process that wakes up and finds its run ended by another looks for what its request has changed.
"""

from __future__ import annotations

from collections.abc import Iterator

from kafkabal.clusters import Cluster, ConfigResource, ResourceKind
from kafkabal.executor.observe.observation import Stage, observe
from kafkabal.executor.reassign.cancel_moves import copies_between_dirs
from kafkabal.executor.reassign.target_placement import targets_of_run
from kafkabal.executor.state.run_record import Original, RunRecord
from kafkabal.executor.state.run_states import Goal, RunOutcome, RunState
from kafkabal.executor.throttle.run_throttles import entries_by_topic
from kafkabal.executor.throttle.throttle_rules import LIST_KEYS, RATE_KEYS, list_steps, restore_rate

_IN_FLIGHT = frozenset({Stage.MOVING, Stage.WRONG_TARGET, Stage.COPYING})
_ELSEWHERE = frozenset({Stage.WAITING, Stage.MISPLACED})


def left_by_late_request(cluster: Cluster, record: RunRecord, state: RunState) -> list[str]:
    """Throttles and placements of a run, in words for people, that are on the cluster though the run has left none.

    Raises
    ------
    OperationError
        If the cluster cannot be read.
    """
    return [*_rates(cluster, record, state), *_lists(cluster, record, state), *_moves(cluster, record, state)]


def _rates(cluster: Cluster, record: RunRecord, state: RunState) -> Iterator[str]:
    originals = _originals(record, state, ResourceKind.BROKER)
    values, _ = cluster.configs({of for of, _ in originals}, RATE_KEYS) if originals else ({}, {})
    changed = {
        of
        for (of, key), original in originals.items()
        if of in values and restore_rate(original, values[of].get(key), state.rates).is_needed
    }
    yield from (f"replication rates of {broker}" for broker in sorted(changed))


def _lists(cluster: Cluster, record: RunRecord, state: RunState) -> Iterator[str]:
    originals, ours = _originals(record, state, ResourceKind.TOPIC), entries_by_topic(record.partitions)
    values, _ = cluster.configs({of for of, _ in originals}, LIST_KEYS) if originals else ({}, {})
    changed = {
        of
        for (of, key), original in originals.items()
        if of in values and list_steps(original, values[of].get(key), ours[of][key], ()).is_needed
    }
    yield from (f"throttled replicas of {topic}" for topic in sorted(changed))


def _originals(record: RunRecord, state: RunState, kind: ResourceKind) -> dict[tuple[ConfigResource, str], Original]:
    """Throttles as found, by resource and key; of two for the same one, the later counts."""
    return {(o.of, o.key): o for o in (*record.originals, *state.later_originals) if o.kind is kind}


def _moves(cluster: Cluster, record: RunRecord, state: RunState) -> Iterator[str]:
    by_steps = record.options.limits.one_replica_at_a_time
    ends = {goal: targets_of_run(record.partitions, goal, by_steps=by_steps) for goal in (Goal.APPLY, Goal.ROLL_BACK)}
    both = [*ends[Goal.APPLY], *ends[Goal.ROLL_BACK]]
    seen = observe(cluster, both)
    copying = {(replica.topic, replica.partition) for replica in copies_between_dirs(seen, both)}
    # a run that was cancelled, or has failed for some partitions, leaves partitions at either end
    is_complete = state.goal is not Goal.CANCEL and state.outcome is RunOutcome.COMPLETE
    stages = _IN_FLIGHT | _ELSEWHERE if is_complete else _IN_FLIGHT
    for end in ends.get(state.goal, ends[Goal.APPLY]):
        if seen.stage(end) in stages or end.name in copying:
            yield f"placement of {end.name}"
