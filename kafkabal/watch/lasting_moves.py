"""Plans for a cluster in which replicas that moved within the last day have to stay: only moves that last.

::

    plan          = the best plan that leaves the replicas of the last day in place
    free          = the best plan that may move them too
    lasting moves = plan, if it leaves no more scores outside the outer band than free does; otherwise the part of free
                    that moves no replica of the last day. The remainder follows when its day is over.

Any other move that is possible in the meantime leaves the score outside anyway, has to be undone within a day or so,
and its replica must then stay for a day itself. In the simulated quarter of seed 559 (tests/unit/watch/simulation),
where brokers fail within hours of each other, such moves added 10% to the bytes and kept scores outside their bands
for 21 hours longer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from msgspec.structs import replace as replace_field

from kafkabal.model import I64, Bools, ClusterState, TopicPartition, replica_bytes
from kafkabal.plan import Plan, apply_plan
from kafkabal.planner import PlanOptions, kept_replicas, make_plan
from kafkabal.watch.heal_policy import HealPolicy
from kafkabal.watch.state_findings import find
from kafkabal.wording import counted_noun


def lasting_moves(plan: Plan, state: ClusterState, options: PlanOptions, policy: HealPolicy) -> Plan:
    """The plan itself, or the part of a free plan that does not have to be undone; it may be empty.

    Parameters
    ----------
    options
        Options of the plan. The replicas that the plans in ``keep_moved`` have moved have to stay.
    """
    outside, rests = outside_after(plan, state, policy), kept_replicas(state, options.keep_moved)
    if not (outside and plan.moved_bytes and rests.any()):
        return plan
    free = make_plan(state, replace(options, keep_moved=()))
    if outside_after(free, state, policy) >= outside:
        return plan
    resting = _names_of(state, rests)
    now = tuple(c for c in free.partitions if resting.isdisjoint((c.name, broker) for broker in c.to_remove))
    waits = f"{counted_noun(len(free.partitions) - len(now), 'partition')} to move later: moved within the last day"
    part = replace_field(free, partitions=now, warnings=(*free.warnings, waits))
    if not part.moved_bytes:
        return replace_field(part, partitions=())
    return part if _holds_no_more(part, free, state) else plan


def outside_after(plan: Plan, state: ClusterState, policy: HealPolicy) -> int:
    """Number of scores that a plan leaves outside the outer band."""
    return len(find(apply_plan(state, plan), policy.outer_tolerance).imbalanced)


def _names_of(state: ClusterState, chosen: Bools) -> set[tuple[TopicPartition, int]]:
    """Partition and broker id of each chosen replica."""
    partition, broker = state.replicas.partition[chosen], state.brokers.id[state.replicas.broker[chosen]]
    return {(state.topic_partition(p), b) for p, b in zip(partition.tolist(), broker.tolist(), strict=True)}


def _holds_no_more(part: Plan, whole: Plan, state: ClusterState) -> bool:
    """Whether a part of a plan leaves no broker or log dir with more than it holds now, or than the whole plan does."""
    before, after, end = (_held(each) for each in (state, apply_plan(state, part), apply_plan(state, whole)))
    return bool((after <= np.maximum(before, end)).all())


def _held(state: ClusterState) -> I64:
    """int64, shape (n_brokers + n_dirs,): bytes of each broker and of each log dir."""
    replicas, bytes_ = state.replicas, replica_bytes(state)
    known = replicas.log_dir >= 0
    of_brokers = np.bincount(replicas.broker, bytes_, len(state.brokers))
    of_dirs = np.bincount(replicas.log_dir[known], bytes_[known], len(state.log_dirs))
    return np.concatenate([of_brokers, of_dirs]).astype(np.int64)
