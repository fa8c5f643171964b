"""Why a plan does not move a partition to a broker: rules that forbid it, and what it would do to the bands."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import ClusterState, TopicPartition, has_readable_copy, is_reassigned
from kafkabal.plan import partition_rows
from kafkabal.planner.budgeted_part import instalment
from kafkabal.planner.plan_listener import NO_LISTENER
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_scope import chosen_topics
from kafkabal.planner.plan_short_of_bands import lasting_placement
from kafkabal.planner.problem import build_problem
from kafkabal.planner.search.keep_within_budget import exceeds_budget
from kafkabal.planner.search.solution import Solution
from kafkabal.units import format_bytes
from kafkabal.wording import counted_noun, first_of


@dataclass(frozen=True, slots=True)
class WhyNot:
    """What keeps a partition from a broker, in the placement that results from the plan."""

    partition: TopicPartition
    broker: int
    holds: bool
    """Whether the plan has a replica there."""
    rules: tuple[str, ...]
    """Rules that forbid it, one clause each."""
    effects: tuple[str, ...]
    """Effects that it would have, one clause each, if nothing forbids it."""


def why_not(state: ClusterState, partition: TopicPartition, broker: int, options: PlanOptions) -> WhyNot:
    """Explain by the placement that a plan with these options results in.

    Raises
    ------
    UsageError
        If the partition or broker is unknown.
    """
    row = next((row for _, row in partition_rows(state, [partition])), None)
    if row is None:
        raise UsageError(f"unknown partition: {partition}", hint="see 'kafkabal inspect --by partition --top 0'")
    target = state.brokers.index_of(broker)
    if target < 0:
        raise UsageError(f"unknown broker: {broker}", hint="see 'kafkabal inspect'")
    start = Solution(build_problem(state, options))
    full = lasting_placement(start, NO_LISTENER).candidate
    part = instalment(start, full, NO_LISTENER)[0] if exceeds_budget(full.solution) else full
    solution = part.solution
    if (solution.placement[row] == target).any():
        return WhyNot(partition, broker, holds=True, rules=(), effects=())
    if (full.solution.placement[row] == target).any():
        rule = "the budget does not cover it: a plan without one brings it there"
        return WhyNot(partition, broker, holds=False, rules=(rule,), effects=())
    rules = (
        *_reasons_of_broker(solution, target),
        *_reasons_of_partition(solution, row),
        *_reasons_of_mode(start, row),
    )
    effects: tuple[str, ...] = ()
    if not rules:
        rules = tuple(_reasons_of_positions(solution, row, target))
    if not rules:
        rules = tuple(_reasons_of_room(solution, row, target))
    if not rules:
        effects = tuple(_effects(solution, row, target))
    return WhyNot(partition, broker, holds=False, rules=rules, effects=effects)


def _reasons_of_broker(solution: Solution, b: int) -> Iterator[str]:
    problem = solution.problem
    broker, options = problem.state.brokers.id[b], problem.options
    if not problem.state.brokers.is_live[b]:
        yield f"broker {broker} is dead"
    elif broker in options.drain:
        yield f"broker {broker} is drained (--drain)"
    elif broker in options.exclude_brokers:
        yield f"broker {broker} accepts no replicas (--exclude-brokers)"
    elif not problem.takes[b]:
        yield f"broker {broker} accepts no replicas: {_why_closed(solution, b)}"


def _why_closed(solution: Solution, b: int) -> str:
    problem = solution.problem
    if problem.takes_unplaced[b]:
        return "it has an offline log dir"
    if problem.rules.takes[b]:
        return "it is not empty (--only-to-new)"
    if problem.rules.room_bytes[b] > 0:
        return "no log dir of it is known to be online and not cordoned"
    return "files of other programs fill its log dirs up to the limit"


def _reasons_of_partition(solution: Solution, row: int) -> Iterator[str]:
    problem = solution.problem
    state, options = problem.state, problem.options
    topic = int(problem.topic[row])
    name = state.topics.name[topic]
    if not chosen_topics(state, options)[topic]:
        yield f"topic {name} is out of scope (--topics, --exclude-topics)"
    elif state.topics.internal[topic] and not options.include_internal:
        yield f"topic {name} is internal (--include-internal)"
    if is_reassigned(state)[row]:
        yield "another reassignment is moving it"
    if not has_readable_copy(state)[row]:
        yield "no in-sync replica of it is online"
    if not problem.size_known[row]:
        yield "its size is unknown"
    if not options.mode.moves_replicas:
        yield f"no replica may move (--{options.mode})"


def _reasons_of_mode(start: Solution, row: int) -> Iterator[str]:
    is_broken = bool(start.must_leave()[row].any() or start.narrow()[row])
    if start.problem.options.mode is Mode.REPAIR_ONLY and not is_broken:
        yield "it needs no repair (--repair-only)"


def _reasons_of_positions(solution: Solution, row: int, b: int) -> Iterator[str]:
    """Rules that hold for every replica that could make way."""
    positions = np.flatnonzero(solution.is_position[row])
    p = np.full(len(positions), row)
    targets = np.full(len(positions), b)
    if solution.may_go(p, positions, targets).any():
        return
    problem, state = solution.problem, solution.problem.state
    broker = state.brokers.id[b]
    in_rack = [int(x) for x in solution.placement[row] if x >= 0 and problem.rack[x] == problem.rack[b]]
    if in_rack and not solution.racks_allow(p, positions, targets).all():
        other = state.brokers.id[in_rack[0]]
        yield f"its rack already has the replica on broker {other}, and the partition must not span fewer racks"
    if solution.topic_count is not None:
        topic = int(problem.topic[row])
        held, most = int(solution.topic_count[topic, b]), float(solution.bands.topic_most(topic, b))
        if held >= most:
            name = state.topics.name[topic]
            yield f"broker {broker} holds {counted_noun(held, 'replica')} of {name}; its band allows at most {most:.0f}"


def _reasons_of_room(solution: Solution, row: int, b: int) -> Iterator[str]:
    problem = solution.problem
    arriving, broker = int(problem.arriving_bytes[row]), problem.state.brokers.id[b]
    room = int(solution.room_bytes()[b])
    if room < 0:
        yield f"broker {broker} holds {format_bytes(-room)} more than it may: nothing may arrive there"
    elif arriving > room:
        yield f"its {format_bytes(arriving)} do not fit: broker {broker} has room for {format_bytes(room)}"
    if solution.count[b] + 1 > problem.limit_replicas[b]:
        yield f"broker {broker} may hold at most {counted_noun(problem.limit_replicas[b], 'replica')} (--broker-limit)"


def _effects(solution: Solution, row: int, b: int) -> Iterator[str]:
    problem, bands = solution.problem, solution.bands
    arriving, broker = int(problem.arriving_bytes[row]), problem.state.brokers.id[b]
    yield f"nothing forbids it; it would copy {format_bytes(arriving)}"
    if solution.used[b] + arriving > bands.high_bytes[b]:
        over = format_bytes(int(solution.used[b] + arriving - bands.high_bytes[b]))
        yield f"broker {broker} would be {over} above its disk band"
    if solution.count[b] + 1 > bands.high_count[b]:
        yield (
            f"broker {broker} would hold {counted_noun(solution.count[b] + 1, 'replica')}; "
            f"its band allows at most {bands.high_count[b]}"
        )
    yield from _reasons_of_donors(solution, row, b)
    if (solution.used[b] >= bands.low_bytes[b]) and (solution.count[b] >= bands.low_count[b]):
        yield f"broker {broker} is inside its bands without it, so the copy would improve nothing"
    elif arrivals := _arrivals(solution, b):
        yield f"the plan brings it {first_of(arrivals)} instead"


def _reasons_of_donors(solution: Solution, row: int, b: int) -> Iterator[str]:
    """That each broker whose replica could give way would miss it."""
    problem, bands = solution.problem, solution.bands
    positions = np.flatnonzero(solution.is_position[row])
    allowed = solution.may_go(np.full(len(positions), row), positions, np.full(len(positions), b))
    donors = solution.placement[row, positions[allowed]]
    donors = donors[donors >= 0]
    would_hold = solution.used[donors] - problem.arriving_bytes[row]
    if len(donors) and ((would_hold < bands.low_bytes[donors]) & problem.weighed[donors]).all():
        ids = problem.state.brokers.id[np.sort(donors)].tolist()
        yield f"the broker that gives up its replica ({' or '.join(map(str, ids))}) would fall below its disk band"


def _arrivals(solution: Solution, b: int) -> list[TopicPartition]:
    """Partitions that the plan brings to a broker, largest first."""
    problem, state = solution.problem, solution.problem.state
    rows = np.flatnonzero((solution.placement == b).any(axis=1) & ~(problem.previous == b).any(axis=1))
    rows = rows[np.argsort(-problem.arriving_bytes[rows], kind="stable")]
    return [state.topic_partition(int(row)) for row in rows]
