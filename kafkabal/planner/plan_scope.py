"""Which partitions and replicas a plan may move: by topic patterns, other reassignments and earlier plans."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np

from kafkabal.errors import OptionError, UsageError
from kafkabal.model import Bools, ClusterState, has_readable_copy, is_reassigned
from kafkabal.plan import Plan, partition_rows
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.wording import suggestion


def chosen_topics(state: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_topics,): whether the patterns of the options include the topic."""
    if not options.topics and not options.exclude_topics:
        return np.ones(len(state.topics.name), np.bool_)
    return np.array(
        [
            (not options.topics or _matches(name, options.topics)) and not _matches(name, options.exclude_topics)
            for name in state.topics.name
        ],
        np.bool_,
    )


def in_scope(state: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_partitions,): whether the options let balancing move the topic."""
    chosen = chosen_topics(state, options) & (options.include_internal | ~state.topics.internal)
    return np.asarray(chosen[state.partitions.topic])


def ignored_partitions(state: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_partitions,): those of internal topics, unless the plan includes them."""
    ignored = state.topics.internal & (not options.include_internal)
    return np.asarray(ignored[state.partitions.topic])


def movable_partitions(state: ClusterState, options: PlanOptions, broken: Bools) -> tuple[Bools, Bools]:
    """Partitions that may move for balance, and those that may only be repaired: broken ones of internal topics."""
    _check_patterns(state, options)
    chosen = chosen_topics(state, options)
    if not chosen.any() and (options.topics or not state.topics.internal.all()):
        # a plan without any topic in scope would report a balanced cluster
        excluded = "all that --topics selects" if options.topics else "all topics"
        raise UsageError(
            f"no topic in scope: --exclude-topics excludes {excluded}",
            hint="'kafkabal config show' shows whether a profile excludes them",
        )
    topics = chosen[state.partitions.topic]
    # a partition that another reassignment is moving is left to it; without a readable copy nothing can be copied
    free = topics & ~is_reassigned(state) & has_readable_copy(state)
    balanced = free & in_scope(state, options)
    return np.asarray(balanced), np.asarray(free & broken & ~balanced & options.mode.moves_replicas)


def kept_replicas(state: ClusterState, plans: Sequence[Plan]) -> Bools:
    """bool, shape (n_replicas,): whether one of the plans has brought the replica to its broker.

    A plan that was never applied has no effect here.

    Raises
    ------
    UsageError
        If a plan was made for another cluster.
    """
    first, broker = state.partitions.first, state.replicas.broker
    kept = np.zeros(len(state.replicas), np.bool_)
    for plan in plans:
        if plan.cluster_id not in {None, state.cluster_id}:
            raise UsageError(
                f"plan {plan.plan_id} is for another cluster: {plan.cluster_id}, not {state.cluster_id}",
                hint="use one folder of plans for each cluster",
            )
        to_add = {change.name: change.to_add for change in plan.partitions}
        for name, row in partition_rows(state, to_add):
            brokers = [b for b in map(state.brokers.index_of, to_add[name]) if b >= 0]
            replicas = slice(int(first[row]), int(first[row + 1]))
            kept[replicas] |= np.isin(broker[replicas], brokers)
    return kept


def _check_patterns(state: ClusterState, options: PlanOptions) -> None:
    """Refuse a pattern that matches no topic: with a typing error, nothing would move, or protected topics would."""
    for flag, patterns in (("--topics", options.topics), ("--exclude-topics", options.exclude_topics)):
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in state.topics.name):
                hint = suggestion(pattern, state.topics.name) or "list topics with 'kafkabal inspect --by topic'"
                raise OptionError(flag, f"unknown topic: {pattern!r}", hint=hint)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
