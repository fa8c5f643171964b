"""What a plan could not achieve, broker by broker and partition by partition, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from kafkabal.errors import InfeasibleError
from kafkabal.model import F64, I32, I64, foreign_of_brokers, has_readable_copy, offline_replicas
from kafkabal.planner.integer_bands import excess
from kafkabal.planner.move_cause import MoveCause
from kafkabal.planner.plan_options import Mode, PlanOptions
from kafkabal.planner.plan_scope import chosen_topics
from kafkabal.planner.problem import Problem
from kafkabal.planner.search.additional_loads import AdditionalLoads
from kafkabal.planner.search.band_violation import CONVEXITY, Violation
from kafkabal.planner.search.solution import Solution
from kafkabal.scoring import fair_shares, shares_by_group
from kafkabal.units import format_bytes, percent_as_option
from kafkabal.wording import brokers_by_id, counted_noun, first_brokers, plural

_NAMED = 10
"""A screenful; the rest are counted."""
_LARGEST = 3
"""Partitions named in one line: enough to look one up, few enough for a line."""


def refuse_if_infeasible(solution: Solution, unplaced: I64) -> None:
    """Refuse a drain or a replication factor for which there are too few brokers.

    Raises
    ------
    InfeasibleError
        Naming the first partitions and why.
    """
    problem, options = solution.problem, solution.problem.options
    p, k = unplaced // solution.width, unplaced % solution.width
    previous = problem.previous[p, k]
    drained = (previous >= 0) & problem.leaves[previous] & problem.state.brokers.is_live[previous]
    asked = drained | ((previous < 0) & (options.replication_factor is not None))
    if not asked.any():
        return
    names = names_of(solution, p[asked])
    if drained.any():
        raise InfeasibleError(
            f"cannot drain {brokers_by_id(sorted(options.drain))}: no other broker can take {names}",
            hint="too few brokers or racks remain, or their log dirs are full; "
            f"add brokers{_or_without(options, 'drain fewer')}",
        )
    raise InfeasibleError(
        f"cannot reach replication factor {options.replication_factor}: no broker can take {names}",
        hint=f"use a lower replication factor{_or_without(options, 'add brokers')}",
    )


def _or_without(options: PlanOptions, last: str) -> str:
    """The last remedy, and that of leaving out the options that keep brokers from taking replicas."""
    given = {
        "--exclude-brokers": options.exclude_brokers,
        "--broker-limit": options.broker_limits,
        "--only-to-new": options.mode is Mode.ONLY_TO_NEW,
    }
    names = " and ".join(name for name, value in given.items() if value)
    return f", {last}, or leave out {names}" if names else f" or {last}"


def refuse_endless_drain(solution: Solution) -> None:
    """Refuse a drain of partitions that keep a replica on a dead broker or in an offline log dir.

    Raises
    ------
    InfeasibleError
        Naming the first partitions.
    """
    problem = solution.problem
    is_drained = problem.leaves & problem.state.brokers.is_live
    held = (problem.previous >= 0) & is_drained[problem.previous] & problem.movable[:, None]
    rows = np.flatnonzero(solution.keeps_offline() & held.any(1))
    if rows.size:
        ids = ", ".join(map(str, sorted(problem.options.drain)))
        raise InfeasibleError(
            f"cannot drain broker {ids}: no broker can take the replicas on dead brokers or in offline log dirs of "
            f"{names_of(solution, rows)}",
            hint="Kafka completes no reassignment while a replica that stays is out of sync; "
            "bring those brokers or disks back, or add brokers",
        )


def warnings_of(solution: Solution, leader: I32, unplaced: I64, judged: Solution) -> tuple[str, ...]:
    """One line for each rule or band that the plan does not satisfy.

    Parameters
    ----------
    judged
        The same placement with the bands that apply to it: those of the solution, or of the cluster after the plan.
    """
    mode = solution.problem.options.mode
    lines = [*unrepaired_of(solution, unplaced), *_narrow(solution)]
    if mode is Mode.FULL:
        # bands count replicas that found no place, so that brokers are below theirs by just these
        is_whole = not unplaced.size
        lines += [*_bytes_outside(judged, name_below=is_whole), *_counts_outside(judged, name_below=is_whole)]
        lines += [*_topics_outside(judged), *_filled_by_others(judged)]
    if mode in {Mode.FULL, Mode.LEADERS_ONLY}:
        lines += [*_leaders_outside(judged, leader), *_additional_outside(judged, leader)]
    if mode is Mode.ONLY_TO_NEW:
        lines += _filled_outside(judged, leader)
    return tuple(lines)


def left_over(full: Solution, part: Solution) -> tuple[str, ...]:
    """A line on what a budget leaves to later plans, if anything."""
    if full.moved_bytes() == part.moved_bytes() and full.moved().sum() == part.moved().sum():
        return ()
    whole = f"the {format_bytes(full.moved_bytes())} of a plan without a budget"
    if part.moved().any():
        return (f"the budget covers {format_bytes(part.moved_bytes())} of {whole}",)
    least = int(full.problem.arriving_bytes[full.moved().any(1)].min())
    most_bytes = full.problem.options.max_bytes
    if most_bytes is not None and least > most_bytes:
        return (f"the budget covers no move of {whole}: the smallest replica has {format_bytes(least)}",)
    return (f"no single move within the budget improves the balance, out of {whole}",)


def shortfall(solution: Solution, leader: I32) -> float:
    """How much is outside the bands, in fair shares of a broker with their squares, over brokers and scores."""
    problem, bands = solution.problem, solution.bands
    led = _led(solution, leader)
    above, below = excess(led, bands.low_leaders, bands.high_leaders, problem.counted)
    leaders = float((above + below).sum()) / max(1.0, len(leader) / max(1, int(problem.counted.sum())))
    surplus = _crowded(solution)[1]
    additional = float(AdditionalLoads(solution, leader).violation().sum())
    topics = float(surplus.sum()) / max(1, int(solution.count.sum()))
    return float(Violation(solution, CONVEXITY, limit_weight=0.0).now().sum()) + leaders + topics + additional


def unrepaired_of(solution: Solution, unplaced: I64) -> tuple[str, ...]:
    """One line for each reason why replicas on dead brokers and in offline log dirs stay."""
    problem = solution.problem
    if not problem.options.mode.moves_replicas:
        return ()
    p, k = unplaced // solution.width, unplaced % solution.width
    stuck = (problem.previous[p, k] >= 0) & (solution.why[p, k] == MoveCause.LEAVES)
    in_dir = problem.lost[p, k]
    lines = []
    for rows, what in ((p[stuck & ~in_dir], "on dead brokers"), (p[stuck & in_dir], "in offline log dirs")):
        if rows.size:
            why = "" if problem.weighed.any() else ": no log dir is known to be online"
            lines.append(f"no broker can take the replicas {what} of {names_of(solution, rows)}{why}")
    return (*lines, *_out_of_reach(solution))


def _out_of_reach(solution: Solution) -> Iterator[str]:
    """Broken partitions that the plan may not move."""
    state, options = solution.problem.state, solution.problem.options
    unreadable = ~has_readable_copy(state)
    if unreadable.any():
        names = names_of(solution, np.flatnonzero(unreadable))
        yield f"no in-sync replica of {names} is online: there is nothing to copy from"
    if not options.exclude_topics:
        return
    broken = np.zeros(len(state.partitions), np.bool_)
    broken[state.replicas.partition[offline_replicas(state)]] = True
    excluded = ~chosen_topics(state, replace(options, topics=()))[state.partitions.topic]
    rows = np.flatnonzero(broken & excluded & ~unreadable)
    if rows.size:
        names = names_of(solution, rows)
        yield f"--exclude-topics keeps the replicas on dead brokers or in offline log dirs of {names}"


def _narrow(solution: Solution) -> Iterator[str]:
    mode = solution.problem.options.mode
    narrow = np.flatnonzero(solution.narrow())
    if narrow.size and mode.moves_replicas:
        broker = "empty broker" if mode is Mode.ONLY_TO_NEW else "broker"
        yield f"no {broker} in another rack can take a replica of {names_of(solution, narrow)}"


def _bytes_outside(solution: Solution, *, name_below: bool) -> Iterator[str]:
    problem, bands = solution.problem, solution.bands
    above, below = excess(solution.used, bands.low_bytes, bands.high_bytes, problem.weighed)
    rows = np.flatnonzero((above > 0) | ((below > 0) & name_below))
    share = solution.due.byte_shares(solution.used, problem.weighed)
    crowded_out = bytes_in_the_way(problem, solution.used)
    for b in rows[:_NAMED].tolist():
        broker_id = problem.state.brokers.id[b]
        if solution.used[b] > problem.asked_bytes[b]:
            held, most = format_bytes(int(solution.used[b])), format_bytes(int(problem.asked_bytes[b]))
            yield f"broker {broker_id} remains at {held} of replicas; --broker-limit allows at most {most}"
            continue
        if above[b] and solution.count[b] > problem.limit_replicas[b]:
            # its number of replicas is named with the limit
            continue
        if above[b] and crowded_out[b] > 0:
            room = format_bytes(int(problem.rules.room_bytes[b]))
            yield (
                f"broker {broker_id} remains at {format_bytes(int(solution.used[b]))} of replicas, "
                f"with room for {room}: files of other programs occupy {format_bytes(int(crowded_out[b]))} of its "
                "disks; remove them, or add a broker"
            )
            continue
        why = _largest(solution, b) if above[b] else _why_below(solution, b)
        yield f"broker {broker_id} remains at {share[b]:.2f}x its fair share by disk{why}"
    if len(rows) > _NAMED:
        yield f"{counted_noun(len(rows) - _NAMED, 'more broker')} outside their disk band"


def _why_below(solution: Solution, broker: int) -> str:
    """Why a broker that is below its band receives nothing, if that is known."""
    problem = solution.problem
    if problem.takes[broker]:
        is_full = problem.limit_bytes[broker] < min(solution.used[broker], problem.asked_bytes[broker])
        return (
            f": its log dirs are more than {percent_as_option(problem.options.log_dir_limit)} full" if is_full else ""
        )
    return ": it has an offline log dir" if problem.takes_unplaced[broker] else ": it accepts no replicas"


def _filled_by_others(solution: Solution) -> Iterator[str]:
    """Brokers that stay above the disk usage that was asked for, even without a single replica."""
    problem, below = solution.problem, solution.problem.options.below
    if below is None:
        return
    foreign = np.nan_to_num(foreign_of_brokers(problem.state))
    full = np.flatnonzero(problem.weighed & (foreign > below * problem.capacity))
    if full.size:
        ids = problem.state.brokers.id[full].tolist()
        which = first_brokers(ids, _NAMED)
        most = percent_as_option(below)
        yield f"files of other programs alone occupy more than {most} of the disks of {which}: remove them"


def bytes_in_the_way(problem: Problem, used: I64) -> F64:
    """float64, shape (n_brokers,): bytes of other programs if they leave less room than the replicas that are due."""
    everyone = np.zeros(problem.n_brokers, np.int32)
    _, due = shares_by_group(used.astype(np.float64), problem.capacity, problem.weighed, everyone)
    foreign = np.nan_to_num(foreign_of_brokers(problem.state))
    return np.where(problem.rules.room_bytes < due, foreign, 0.0)


def _filled_outside(solution: Solution, leader: I32) -> Iterator[str]:
    """One line, since the reason is the same for all, and why nothing moved to empty brokers, or that none is empty."""
    number = {name: n for name, n in _brokers_outside(solution, leader).items() if n}
    if not number:
        return
    problem = solution.problem
    text = ", ".join(f"{n} by {name}" for name, n in number.items())
    yield f"brokers outside their bands: {text}; --only-to-new moves data to empty brokers only"
    held = np.bincount(problem.state.replicas.broker, minlength=problem.n_brokers)
    if held[problem.counted].all():
        yield (
            "no broker is empty, so --only-to-new copies nothing between brokers: "
            "to continue filling the new brokers, use --exclude-brokers with the old ones instead"
        )
    rows = np.flatnonzero(problem.counted & ~problem.takes & (held == 0) & (solution.count == 0))
    for b in rows[:_NAMED].tolist():
        yield f"broker {problem.state.brokers.id[b]} remains empty{_why_below(solution, b)}"
    if len(rows) > _NAMED:
        yield f"{counted_noun(len(rows) - _NAMED, 'more broker')} without replicas"


def _brokers_outside(solution: Solution, leader: I32) -> dict[str, int]:
    """How many brokers are outside their bands, by score."""
    problem, bands = solution.problem, solution.bands
    led = _led(solution, leader)
    sides = {
        "disk": excess(solution.used, bands.low_bytes, bands.high_bytes, problem.weighed),
        "replicas": excess(solution.count, bands.low_count, bands.high_count, problem.counted),
        "leaders": excess(led, bands.low_leaders, bands.high_leaders, problem.counted),
    }
    number = {name: int(((above > 0) | (below > 0)).sum()) for name, (above, below) in sides.items()}
    number["topic-spread"] = len(np.unique(_crowded(solution)[0] % problem.n_brokers))
    loads = AdditionalLoads(solution, leader)
    return number | {w.score.name: len(_additional_rows(loads, row)) for row, w in enumerate(loads.scores)}


def _largest(solution: Solution, broker: int) -> str:
    p, k = np.nonzero(solution.placement == broker)
    load = np.sort(solution.load(p, k, np.full(len(p), broker)))[::-1]
    used = int(load.sum())
    if not used:
        return ""
    if len(load) == 1:
        return ": it holds a single partition"
    number = min(_LARGEST, len(load))
    return f": its {number} largest partitions make up {load[:number].sum() / used:.0%} of it"


def _counts_outside(solution: Solution, *, name_below: bool) -> Iterator[str]:
    bands, most = solution.bands, solution.problem.limit_replicas
    low = bands.low_count if name_below else np.zeros_like(bands.low_count)

    def limit(b: int, edge: str) -> str:
        if solution.count[b] > most[b]:
            return f"--broker-limit allows {edge}"
        return f"its band allows {edge}" + (_why_below(solution, b) if solution.count[b] < low[b] else "")

    yield from _outside(solution, solution.count, low, bands.high_count, "replica", limit)


def _leaders_outside(solution: Solution, leader: I32) -> Iterator[str]:
    led, bands = _led(solution, leader), solution.bands
    yield from _outside(
        solution, led, bands.low_leaders, bands.high_leaders, "leader", lambda _, edge: f"its band allows {edge}"
    )


def _additional_outside(solution: Solution, leader: I32) -> Iterator[str]:
    loads = AdditionalLoads(solution, leader)
    ids = solution.problem.state.brokers.id
    for row, weighted in enumerate(loads.scores):
        rows = _additional_rows(loads, row)
        shares = fair_shares(loads.load[row, rows], loads.fair[row, rows])
        for b, share in zip(rows[:_NAMED].tolist(), shares, strict=False):
            yield f"broker {ids[b]} remains at {share:.2f}x its fair share by {weighted.score.name}"
        if len(rows) > _NAMED:
            yield f"{counted_noun(len(rows) - _NAMED, 'more broker')} outside their band of {weighted.score.name}"


def _additional_rows(loads: AdditionalLoads, row: int) -> I64:
    """Brokers outside their band of an additional score."""
    load = loads.load[row]
    return np.flatnonzero((loads.fair[row] > 0) & ((load > loads.high[row]) | (load < loads.low[row])))


def _led(solution: Solution, leader: I32) -> I64:
    """How many partitions each broker leads."""
    return np.bincount(leader[leader >= 0], minlength=solution.problem.n_brokers).astype(np.int64)


def _outside(
    solution: Solution, number: I64, low: I64, high: I64, what: str, limit: Callable[[int, str], str]
) -> Iterator[str]:
    above, below = excess(number, low, high, solution.problem.counted)
    rows = np.flatnonzero((above > 0) | (below > 0))
    ids = solution.problem.state.brokers.id
    for b in rows[:_NAMED].tolist():
        edge = f"at most {high[b]}" if above[b] else f"at least {low[b]}"
        yield f"broker {ids[b]} remains at {counted_noun(int(number[b]), what)}; {limit(b, edge)}"
    if len(rows) > _NAMED:
        yield f"{counted_noun(len(rows) - _NAMED, 'more broker')} outside their band of {plural(0, what)}"


def _topics_outside(solution: Solution) -> Iterator[str]:
    if solution.topic_count is None:
        return
    problem = solution.problem
    pairs, _ = _crowded(solution)
    for pair in pairs[:_NAMED].tolist():
        t, b = divmod(pair, problem.n_brokers)
        name, most = problem.state.topics.name[t], solution.bands.topic_most(t, b)
        held = (
            f"broker {problem.state.brokers.id[b]} keeps "
            f"{counted_noun(int(solution.topic_count[t, b]), 'replica')} of {name}"
        )
        yield f"{held}; its band allows at most {most:.0f}"
    if len(pairs) > _NAMED:
        yield f"{counted_noun(len(pairs) - _NAMED, 'more broker')} with too many replicas of a topic"


def _crowded(solution: Solution) -> tuple[I64, F64]:
    """Pairs (``topic x n_brokers + broker``) that hold too many replicas, and by how many."""
    if solution.topic_count is None:
        return np.empty(0, np.int64), np.empty(0)
    problem = solution.problem
    p, k = np.nonzero(solution.placement >= 0)
    topic, broker = problem.topic[p].astype(np.int64), solution.placement[p, k]
    surplus = solution.topic_count[topic, broker] - solution.bands.topic_most(topic, broker)
    # a topic that the plan may not move is not its shortfall
    crowded = (surplus > 0) & problem.counted[broker] & problem.movable[p]
    pairs, first = np.unique((topic * problem.n_brokers + broker)[crowded], return_index=True)
    return pairs, surplus[crowded][first]


def names_of(solution: Solution, partitions: I64) -> str:
    """The first few partitions by name, and the number of the others."""
    rows = np.unique(partitions)
    names = ", ".join(str(solution.problem.state.topic_partition(int(p))) for p in rows[:_LARGEST])
    more = len(rows) - _LARGEST
    return f"{names} and {counted_noun(more, 'more partition')}" if more > 0 else names
