"""What stays on drained brokers and in log dirs after a plan although it should move; racks that a drain empties."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from kafkabal.model import (
    I64,
    ClusterState,
    LogDirState,
    has_readable_copy,
    is_reassigned,
    rack_numbers,
    racks_by_partition,
    replica_bytes,
    volume_headroom_bytes,
)
from kafkabal.planner.plan_options import BUDGETS, Mode, PlanOptions
from kafkabal.planner.problem import Problem
from kafkabal.planner.shortfall import bytes_in_the_way
from kafkabal.scoring import Evaluation, evaluate, load_score
from kafkabal.units import percent_as_option
from kafkabal.wording import counted_noun, first_of, plural

LOG_DIR = load_score("log-dir")

_NAMED = 10
"""A screenful; a plan that leaves more behind has the same reason for all of them."""
_NAMED_TOPICS = 3
"""Enough to look one up in a line that also names a log dir."""
_MOST_OF_IT = 0.5
"""A replica that is more than half of its log dir keeps the dir outside its band: no other dir can hold it either."""
_NEARLY_ALL = 0.9
"""Fraction of a log dir that the counted replicas make up: the rest changes its share little."""
_FEW = 10
"""Two log dirs with 6 and 5 replicas of equal size are just outside the default band; of unequal size, with more."""


def remains_of(problem: Problem, after: ClusterState) -> tuple[str, ...]:
    """A line for each drained broker that keeps something that may not move, and for each with uneven log dirs.

    Another one if the drain leaves a rack without brokers: its partitions then span fewer racks. One names the log dirs
    that stay above their limit, or above ``--below``.

    Parameters
    ----------
    after
        The cluster once the plan is applied.
    """
    return (
        *_on_drained(problem),
        *_in_fewer_racks(problem, after),
        *_in_log_dirs(problem, after),
        *_in_full_log_dirs(problem, after),
    )


def _on_drained(problem: Problem) -> Iterator[str]:
    state, options = problem.state, problem.options
    if not options.drain:
        return
    r, reassigned = state.replicas, is_reassigned(state)
    fixed = ~problem.movable & ~reassigned & has_readable_copy(state)
    for broker_id in sorted(options.drain):
        held = r.partition[r.broker == state.brokers.index_of(broker_id)]
        barred, waiting = held[fixed[held]], held[reassigned[held]]
        if barred.size:
            text = f"broker {broker_id} keeps {counted_noun(barred.size, 'replica')} of excluded topics"
            yield f"{text}: {_topics(state, barred)}"
        if waiting.size:
            yield (
                f"broker {broker_id} keeps {counted_noun(waiting.size, 'replica')} "
                "of partitions that another tool is reassigning"
            )


def _in_fewer_racks(problem: Problem, after: ClusterState) -> Iterator[str]:
    state = problem.state
    if not problem.options.drain:
        return
    fewer = np.flatnonzero(_racks(after) < _racks(state))
    if fewer.size:
        live, rack = state.brokers.is_live, rack_numbers(state)
        emptied = np.setdiff1d(rack[live], rack[live & ~problem.leaves])
        names = [state.racks[z] for z in emptied.tolist() if z < len(state.racks)]
        where = f"no broker remains in {plural(len(names), 'rack')} {first_of(names, _NAMED)}: " if names else ""
        spans = "spans" if fewer.size == 1 else "span"
        yield f"{where}{counted_noun(fewer.size, 'partition')} {spans} fewer racks: {_topics(state, fewer)}"


def _racks(state: ClusterState) -> I64:
    """int64, shape (n_partitions,): racks of the live brokers that hold each partition."""
    r = state.replicas
    held = state.brokers.is_live[r.broker] & ~r.removing
    return racks_by_partition(r.partition[held], rack_numbers(state)[r.broker[held]], len(state.partitions))


def _topics(state: ClusterState, partitions: I64) -> str:
    topics = np.unique(state.partitions.topic[partitions])
    return first_of([state.topics.name[t] for t in topics.tolist()], _NAMED_TOPICS)


def _in_log_dirs(problem: Problem, after: ClusterState) -> Iterator[str]:
    options = problem.options
    if not problem.has_score(LOG_DIR.name) or not options.mode.balances_log_dirs:
        return
    found = evaluate(LOG_DIR, after, tolerance=options.tolerance, drained=problem.leaves, rules=problem.rules)
    brokers = np.unique(after.log_dirs.broker[found.outside])
    for b in brokers[:_NAMED].tolist():
        yield _dirs_of(after, found, b)
    if len(brokers) > _NAMED:
        yield f"{counted_noun(len(brokers) - _NAMED, 'more broker')} with log dirs outside their bands"


def _in_full_log_dirs(problem: Problem, after: ClusterState) -> Iterator[str]:
    """Log dirs that stay above their limit, or above the disk usage of ``--below``."""
    options, dirs = problem.options, after.log_dirs
    may = problem.counted[dirs.broker] & (dirs.state != LogDirState.OFFLINE)
    if options.below is not None:
        limit = options.below
        may &= np.diff(dirs.first)[dirs.broker] > 1
        why = "; --below takes all disks of a broker together, --log-dirs-only moves data between its log dirs"
    elif options.mode is Mode.FULL and problem.has_score("disk"):
        limit = options.log_dir_limit
        # the files of other programs are named as such
        used = np.bincount(after.replicas.broker, replica_bytes(after), problem.n_brokers).astype(np.int64)
        may &= bytes_in_the_way(problem, used)[dirs.broker] <= 0
        why = "" if _is_restricted(options) else "; no other broker has room for what should leave"
    else:
        return
    full = np.flatnonzero((volume_headroom_bytes(after, limit) < 0) & may).tolist()
    if full:
        names = first_of([f"{dirs.path[d]} of broker {after.brokers.id[dirs.broker[d]]}" for d in full], _NAMED)
        yield f"{plural(len(full), 'log dir')} still more than {percent_as_option(limit)} full: {names}{why}"


def _is_restricted(options: PlanOptions) -> bool:
    """Whether options leave out some moves, so that more than room may be missing."""
    chosen = (
        options.topics,
        options.exclude_topics,
        options.exclude_brokers,
        options.broker_limits,
        options.keep_moved,
    )
    return any(getattr(options, name) is not None for name in BUDGETS) or any(chosen)


def _dirs_of(state: ClusterState, found: Evaluation, broker: int) -> str:
    """The log dirs of a broker outside their band, and the few replicas that make up the fullest one."""
    dirs = state.log_dirs
    outside = np.flatnonzero(found.outside & (dirs.broker == broker))
    shares = [f"{dirs.path[d]} at {found.share[d]:.2f}x its fair share" for d in outside.tolist()]
    text = f"broker {state.brokers.id[broker]}: log dirs remain outside their band: {first_of(shares, _NAMED)}"
    return text + _largest(state, int(outside[found.share[outside].argmax()]))


def _largest(state: ClusterState, log_dir: int) -> str:
    rows = np.flatnonzero(state.replicas.log_dir == log_dir)
    size = replica_bytes(state)[rows]
    if not size.sum():
        return ""
    path, fraction = state.log_dirs.path[log_dir], np.sort(size)[::-1].cumsum() / size.sum()
    if fraction[0] > _MOST_OF_IT:
        name = state.topic_partition(int(state.replicas.partition[rows[size.argmax()]]))
        return f": {name} is {fraction[0]:.0%} of {path}"
    number = int(np.searchsorted(fraction, _NEARLY_ALL)) + 1
    return f": {number} replicas make up {fraction[number - 1]:.0%} of {path}" if number <= _FEW else ""
