"""What a request that arrived late has left on the cluster.

Admin requests carry no fencing token. A process that is suspended between its last check of the lock and the moment at
which its request is sent, sends it when it wakes up, though another process may have ended its run meanwhile. Nothing
prevents that, so a process that wakes up and finds its run ended by another looks for what its request has changed.

A broker that hangs does the same: once it continues, it executes what it had received, even if the process that sent it
was killed and its run has ended since. So commands look for throttles of such requests before the next run begins.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from kafkabal.clusters import Capability, Cluster, ConfigResource, ResourceKind
from kafkabal.executor.observe.observation import Stage, observe
from kafkabal.executor.reassign.cancel_moves import copies_between_dirs
from kafkabal.executor.reassign.target_placement import targets_of_run
from kafkabal.executor.state.find_run import FoundRun
from kafkabal.executor.state.journal_records import EffectKind
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
    changed = _changed_throttles(cluster, record, state)
    return [*_in_words(changed), *_moves(cluster, record, state)]


def throttles_after_end(cluster: Cluster, found: FoundRun, *, only_unanswered: bool) -> list[str]:
    """Throttles of a run, in words for people, that are set although the run has ended and had restored them.

    Empty while any reassignment is in flight: its tool may have set the same throttles.

    Parameters
    ----------
    only_unanswered
        Only those of requests that were never answered, by the journal of this host. An operator may have set the same
        rate since, so that no other evidence tells for sure that it is the run's own.

    Raises
    ------
    OperationError
        If the cluster cannot be read.
    """
    unanswered = _unanswered_configs(found)
    if found.is_open or not found.state.has_begun or (only_unanswered and not unanswered):
        return []
    if Capability.CONFIGS not in cluster.capabilities or cluster.reassignments():
        return []
    changed = _changed_throttles(cluster, found.record, found.state)
    return _in_words({of for of in changed if str(of) in unanswered} if only_unanswered else changed)


def _unanswered_configs(found: FoundRun) -> frozenset[str]:
    """Brokers and topics, as journals name them, of requests to change configs that were never answered."""
    requests = found.journal.unanswered if found.journal is not None else ()
    return frozenset(of for request in requests if request.kind is EffectKind.CONFIGS for of in request.items)


def _changed_throttles(cluster: Cluster, record: RunRecord, state: RunState) -> set[ConfigResource]:
    return _rates(cluster, record, state) | _lists(cluster, record, state)


def _in_words(changed: Collection[ConfigResource]) -> list[str]:
    what = {ResourceKind.BROKER: "replication rates", ResourceKind.TOPIC: "throttled replicas"}
    return [f"{what[of.kind]} of {of}" for of in sorted(changed)]


def _rates(cluster: Cluster, record: RunRecord, state: RunState) -> set[ConfigResource]:
    originals = _originals(record, state, ResourceKind.BROKER)
    values, _ = cluster.configs({of for of, _ in originals}, RATE_KEYS) if originals else ({}, {})
    return {
        of
        for (of, key), original in originals.items()
        if of in values and restore_rate(original, values[of].get(key), state.rates).is_needed
    }


def _lists(cluster: Cluster, record: RunRecord, state: RunState) -> set[ConfigResource]:
    originals, ours = _originals(record, state, ResourceKind.TOPIC), entries_by_topic(record.partitions)
    values, _ = cluster.configs({of for of, _ in originals}, LIST_KEYS) if originals else ({}, {})
    return {
        of
        for (of, key), original in originals.items()
        if of in values and list_steps(original, values[of].get(key), ours[of][key], ()).is_needed
    }


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
