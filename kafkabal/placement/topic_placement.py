"""Places new topics on a cluster: each replica on a broker, by the policy and within the rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kafkabal.clusters import ReplicaOn
from kafkabal.config import DEFAULT_PLAN_TOLERANCE, TopicSpec
from kafkabal.errors import LimitExceededError
from kafkabal.model import I32, ClusterState, PartitionRow, TopicRow, with_topics
from kafkabal.placement.eligible_brokers import EligibleBrokers
from kafkabal.placement.place_by_layout import place_anywhere, place_by_layout
from kafkabal.placement.place_by_score import place_by_score
from kafkabal.placement.placement_policy import Layout, PlacementPolicy
from kafkabal.placement.placement_request import PlacementRequest, placement_requests
from kafkabal.placement.running_scores import RunningScores
from kafkabal.plan import ANY_DIR
from kafkabal.scoring import WeightedScore, default_scores
from kafkabal.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTopic:
    """A topic with a broker for each replica."""

    name: str
    assignment: tuple[tuple[int, ...], ...]
    """Broker ids of each partition, from partition 0 on; the first is the preferred leader."""
    log_dirs: tuple[tuple[str, ...], ...]
    """Path of the best log dir for each replica; ``any`` if its broker has only one or reports none."""
    configs: Mapping[str, str]
    partition_bytes: int
    """Expected size of each partition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedTopics:
    """New topics, in the requested order, and the resulting cluster."""

    topics: tuple[PlacedTopic, ...]
    state: ClusterState
    """With the new topics, at their expected size."""

    def without_log_dirs(self, replicas: Collection[ReplicaOn]) -> PlacedTopics:
        """The same topics; the log dirs of these replicas are chosen by their brokers."""
        refused = frozenset(replicas)
        if not refused:
            return self
        return replace(self, topics=tuple(_without_log_dirs(topic, refused) for topic in self.topics))


def place_topics(
    state: ClusterState,
    specs: Sequence[TopicSpec],
    policy: PlacementPolicy,
    *,
    scores: Sequence[WeightedScore] = (),
    tolerance: float = DEFAULT_PLAN_TOLERANCE,
    exclude_brokers: Collection[int] = (),
) -> PlacedTopics:
    """Place topics; equal clusters, topics and policies give equal placements, whatever else runs.

    Parameters
    ----------
    scores
        Scores for :attr:`~kafkabal.placement.placement_policy.Layout.SCORE`; empty for the default ones.
    exclude_brokers
        Ids of brokers that get no replica; dead and cordoned ones never get any.

    Raises
    ------
    UsageError
        If a topic exists, a number is missing or does not fit, or there are too few brokers for a replication factor.
    LimitExceededError
        If the disks lack room for the expected size of the topics.
    """
    sites = EligibleBrokers(state, exclude_brokers)
    requests = placement_requests(specs, sites, policy)
    if policy.layout is Layout.SCORE:
        chosen = scores or default_scores(several_log_dirs=False)
        tables = _by_score(state, requests, sites, chosen, tolerance)
    else:
        tables = [_by_rule(request, sites, policy) for request in requests]
    placed = [(request, brokers, dirs) for request, (brokers, dirs) in zip(requests, tables, strict=True)]
    return PlacedTopics(
        topics=tuple(_topic(state, *item) for item in placed),
        state=with_topics(state, [_row(state, *item) for item in placed]),
    )


def _by_score(
    state: ClusterState,
    requests: Sequence[PlacementRequest],
    sites: EligibleBrokers,
    scores: Sequence[WeightedScore],
    tolerance: float,
) -> list[tuple[I32, I32]]:
    """Place the largest partitions first: the small ones then compensate for what imbalance remains."""
    nowhere = [np.full((r.partitions, r.replication_factor), -1, np.int32) for r in requests]
    drafts = [_row(state, r, place_anywhere(r, sites), dirs) for r, dirs in zip(requests, nowhere, strict=True)]
    draft = _led_as_preferred(with_topics(state, drafts))
    row_of = {name: i for i, name in enumerate(draft.topics.name)}
    is_new = np.zeros(len(draft.topics), np.bool_)
    is_new[[row_of[r.spec.name] for r in requests]] = True
    board = RunningScores(
        draft, is_new[draft.partitions.topic][draft.replicas.partition], scores, tolerance, sites.takes
    )
    first = np.searchsorted(draft.partitions.topic, np.arange(len(draft.topics)))
    tables: dict[str, tuple[I32, I32]] = {}
    for request in sorted(requests, key=lambda r: (-r.partition_bytes, r.spec.name)):
        name = request.spec.name
        tables[name] = place_by_score(request, int(first[row_of[name]]), board, sites)
    return [tables[r.spec.name] for r in requests]


def _led_as_preferred(state: ClusterState) -> ClusterState:
    """The cluster as its preferred leaders will lead it, dead ones as well.

    A broker that leads for one that is away does so for a while. If that counted, it would lead none of a new topic:
    after the death of one of four brokers, 12 new partitions were led by 7, 0 and 5.
    """
    preferred = state.replicas.broker[state.partitions.first[:-1]]
    return state.replace(partitions=replace(state.partitions, leader=preferred))


def _by_rule(request: PlacementRequest, sites: EligibleBrokers, policy: PlacementPolicy) -> tuple[I32, I32]:
    brokers = place_by_layout(request, sites, policy)
    dirs = np.empty_like(brokers)
    for at, broker in np.ndenumerate(brokers):
        if request.partition_bytes and not sites.with_room(request.partition_bytes)[broker]:
            raise LimitExceededError(
                f"topic {request.spec.name}: broker {sites.state.brokers.id[broker]} has no room "
                f"for a partition of {format_bytes(request.partition_bytes)}",
                hint="use --exclude-brokers to leave it out, add disks, or lower the expected partition size",
            )
        dirs[at] = sites.put(int(broker), request.partition_bytes)
    return brokers, dirs


def _topic(state: ClusterState, request: PlacementRequest, brokers: I32, dirs: I32) -> PlacedTopic:
    several = np.diff(state.log_dirs.first) > 1
    paths = [
        tuple(
            state.log_dirs.path[d] if d >= 0 and several[b] else ANY_DIR
            for b, d in zip(row_brokers, row_dirs, strict=True)
        )
        for row_brokers, row_dirs in zip(brokers.tolist(), dirs.tolist(), strict=True)
    ]
    return PlacedTopic(
        name=request.spec.name,
        assignment=tuple(tuple(row) for row in state.brokers.id[brokers].tolist()),
        log_dirs=tuple(paths),
        configs=request.spec.configs,
        partition_bytes=request.partition_bytes,
    )


def _without_log_dirs(topic: PlacedTopic, refused: frozenset[ReplicaOn]) -> PlacedTopic:
    paths = [
        tuple(
            ANY_DIR if ReplicaOn(topic.name, partition, broker) in refused else path
            for broker, path in zip(*row, strict=True)
        )
        for partition, row in enumerate(zip(topic.assignment, topic.log_dirs, strict=True))
    ]
    return replace(topic, log_dirs=tuple(paths))


def _row(state: ClusterState, request: PlacementRequest, brokers: I32, dirs: I32) -> TopicRow:
    ids = state.brokers.id[brokers].tolist()
    index = np.where(dirs >= 0, dirs - state.log_dirs.first[brokers], -1).tolist()
    return TopicRow(
        topic=request.spec.name,
        configs=dict(request.spec.configs),
        partitions=[
            PartitionRow(
                partition=p,
                leader=replicas[0],
                replicas=replicas,
                isr=replicas,
                sizes=[request.partition_bytes] * len(replicas),
                log_dirs=[d if d >= 0 else None for d in row_dirs],
            )
            for p, (replicas, row_dirs) in enumerate(zip(ids, index, strict=True))
        ],
    )
