"""Why a plan does not bring a partition to a broker: the rules that forbid it, and what it would do to the bands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import ClusterState, TopicPartition, has_source
from kafkabal.plan import partition_rows
from kafkabal.planner.candidate import search
from kafkabal.planner.plan_listener import SILENT
from kafkabal.planner.plan_options import PlanOptions
from kafkabal.planner.problem import build_problem, chosen_topics, is_reassigned
from kafkabal.planner.search.solution import State
from kafkabal.units import format_bytes


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What keeps a partition from a broker, in the placement that the plan leads to."""

    partition: TopicPartition
    broker: int
    holds: bool
    """The plan has a replica there."""
    rules: tuple[str, ...]
    """What forbids it, one clause each."""
    effects: tuple[str, ...]
    """What it would do, one clause each, where nothing forbids it."""


def why_not(cluster: ClusterState, partition: TopicPartition, broker: int, options: PlanOptions) -> WhyNot:
    """Ask the placement that a plan with these options leads to.

    Raises
    ------
    UsageError
        If the partition or broker is unknown.
    """
    row = next((row for _, row in partition_rows(cluster, [partition])), None)
    if row is None:
        raise UsageError(f"unknown partition: {partition}")
    target = cluster.brokers.index_of(broker)
    if target < 0:
        raise UsageError(f"unknown broker: {broker}", hint="see 'kafkabal inspect'")
    state = search(State(build_problem(cluster, options)), SILENT).state
    if (state.place[row] == target).any():
        return WhyNot(partition, broker, holds=True, rules=(), effects=())
    rules = (*_of_broker(state, target), *_of_partition(state, row))
    effects: tuple[str, ...] = ()
    if not rules:
        rules = tuple(_of_slots(state, row, target))
    if not rules:
        rules = tuple(_of_room(state, row, target))
    if not rules:
        effects = tuple(_effects(state, row, target))
    return WhyNot(partition, broker, holds=False, rules=rules, effects=effects)


def _of_broker(state: State, b: int) -> Iterator[str]:
    problem = state.problem
    broker, options = problem.cluster.brokers.id[b], problem.options
    if not problem.cluster.brokers.is_live[b]:
        yield f"broker {broker} is dead"
    elif broker in options.drain:
        yield f"broker {broker} is drained (--drain)"
    elif broker in options.exclude_brokers:
        yield f"broker {broker} takes nothing (--exclude-brokers)"
    elif not problem.takes[b]:
        yield f"broker {broker} takes nothing: no log dir of it is known to be online and not cordoned, or the mode"


def _of_partition(state: State, row: int) -> Iterator[str]:
    problem = state.problem
    cluster, options = problem.cluster, problem.options
    topic = int(problem.topic[row])
    name = cluster.topics.name[topic]
    if not chosen_topics(cluster, options)[topic]:
        yield f"topic {name} is not to be touched (--topics, --exclude-topics)"
    elif cluster.topics.internal[topic] and not options.include_internal:
        yield f"topic {name} is internal (--include-internal)"
    if is_reassigned(cluster)[row]:
        yield "another reassignment is moving it"
    if not has_source(cluster)[row]:
        yield "no in-sync replica of it is online"
    if not problem.size_known[row]:
        yield "its size is not known"
    if not options.mode.moves_replicas:
        yield f"no replica may move (--{options.mode})"


def _of_slots(state: State, row: int, b: int) -> Iterator[str]:
    """Rules that hold for every replica that could give way."""
    slots = np.flatnonzero(state.is_slot[row])
    p = np.full(len(slots), row)
    if state.may_go(p, slots, np.full(len(slots), b)).any():
        return
    problem, cluster = state.problem, state.problem.cluster
    broker = cluster.brokers.id[b]
    in_rack = [int(x) for x in state.place[row] if x >= 0 and problem.rack[x] == problem.rack[b]]
    if in_rack:
        other = cluster.brokers.id[in_rack[0]]
        yield f"its rack already has the replica on broker {other}, and the spread over racks may not shrink"
    if state.topic_count is not None:
        topic = int(problem.topic[row])
        held, most = int(state.topic_count[topic, b]), float(state.bands.topic_most(topic, b))
        if held >= most:
            name = cluster.topics.name[topic]
            yield f"broker {broker} holds {held} replicas of {name}, at most {most:.0f} are in its band"


def _of_room(state: State, row: int, b: int) -> Iterator[str]:
    problem = state.problem
    arriving, broker = int(problem.arriving_bytes[row]), problem.cluster.brokers.id[b]
    if state.used[b] + arriving > problem.limit_bytes[b]:
        room = max(0, int(problem.limit_bytes[b] - state.used[b]))
        yield f"its {format_bytes(arriving)} do not fit: broker {broker} has room for {format_bytes(room)}"
    if state.count[b] + 1 > problem.limit_replicas[b]:
        yield f"broker {broker} may hold at most {problem.limit_replicas[b]} replicas (--broker-limit)"


def _effects(state: State, row: int, b: int) -> Iterator[str]:
    problem, bands = state.problem, state.bands
    arriving, broker = int(problem.arriving_bytes[row]), problem.cluster.brokers.id[b]
    yield f"nothing forbids it; it would copy {format_bytes(arriving)}"
    if state.used[b] + arriving > bands.high_bytes[b]:
        over = format_bytes(int(state.used[b] + arriving - bands.high_bytes[b]))
        yield f"broker {broker} would be {over} above its disk band"
    if state.count[b] + 1 > bands.high_count[b]:
        yield f"broker {broker} would hold {state.count[b] + 1} replicas, at most {bands.high_count[b]} are in its band"
    if (state.used[b] >= bands.low_bytes[b]) and (state.count[b] >= bands.low_count[b]):
        yield f"broker {broker} is inside its bands without it, so that the bytes would buy nothing"
