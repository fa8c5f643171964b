"""Which partitions and replicas a plan may move: by the patterns of topics, by what else moves, by earlier plans."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import I32, Bools, ClusterState, has_source, is_reassigned
from kafkabal.plan import Plan, partition_rows
from kafkabal.planner.plan_options import PlanOptions


def chosen_topics(cluster: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_topics,): the patterns of the options let the topic be touched."""
    if not options.topics and not options.exclude_topics:
        return np.ones(len(cluster.topics.name), np.bool_)
    return np.array(
        [
            (not options.topics or _matches(name, options.topics)) and not _matches(name, options.exclude_topics)
            for name in cluster.topics.name
        ],
        np.bool_,
    )


def in_scope(cluster: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_partitions,): the options let balance move the topic."""
    chosen = chosen_topics(cluster, options) & (options.include_internal | ~cluster.topics.internal)
    return np.asarray(chosen[cluster.partitions.topic])


def left_alone(cluster: ClusterState, options: PlanOptions) -> Bools:
    """bool, shape (n_partitions,): internal, where internal topics are left alone."""
    alone = cluster.topics.internal & (not options.include_internal)
    return np.asarray(alone[cluster.partitions.topic])


def movable_partitions(cluster: ClusterState, options: PlanOptions, broken: Bools) -> tuple[Bools, Bools]:
    """Partitions that may move for balance, and those that may only be repaired: broken ones of internal topics."""
    _check_patterns(cluster, options)
    topics = chosen_topics(cluster, options)[cluster.partitions.topic]
    # a partition that another reassignment is moving is left to it; without a source there is nothing to copy from
    free = topics & ~is_reassigned(cluster) & has_source(cluster)
    balanced = free & in_scope(cluster, options)
    return np.asarray(balanced), np.asarray(free & broken & ~balanced & options.mode.moves_replicas)


def kept_slots(cluster: ClusterState, plans: Sequence[Plan], previous: I32) -> Bools:
    """Slots that one of the plans has filled; what was planned and never applied leaves no trace.

    Parameters
    ----------
    previous
        shape (n_partitions, width): broker of each slot, -1 where there is none.

    Returns
    -------
    bool, shape (n_partitions, width)

    Raises
    ------
    UsageError
        If a plan was made for another cluster.
    """
    kept = np.zeros(previous.shape, np.bool_)
    for plan in plans:
        if plan.cluster_id not in {None, cluster.cluster_id}:
            raise UsageError(f"plan {plan.plan_id} is for another cluster: {plan.cluster_id}, not {cluster.cluster_id}")
        adding = {change.name: change.adding for change in plan.partitions}
        for name, row in partition_rows(cluster, adding):
            brokers = [b for b in map(cluster.brokers.index_of, adding[name]) if b >= 0]
            kept[row] |= np.isin(previous[row], brokers)
    return kept


def _check_patterns(cluster: ClusterState, options: PlanOptions) -> None:
    """Refuse a pattern that no topic matches: a slip of the pen would move nothing, or what was to be protected."""
    for flag, patterns in (("--topics", options.topics), ("--exclude-topics", options.exclude_topics)):
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in cluster.topics.name):
                near = get_close_matches(pattern, cluster.topics.name, n=3)
                hint = f"did you mean: {', '.join(near)}" if near else None
                raise UsageError(f"{flag}: unknown topic: {pattern!r}", hint=hint)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
