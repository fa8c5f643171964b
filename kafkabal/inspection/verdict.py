"""What is wrong with a cluster, in one sentence, what to run next, and whether ``--check`` fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from kafkabal.config import DEFAULT_LOG_DIR_LIMIT
from kafkabal.inspection.broker_condition import dirs_in
from kafkabal.inspection.inspection import Inspection, Scored
from kafkabal.inspection.partition_and_holder_figures import unknown_sizes
from kafkabal.inspection.worst_group_of_score import worst_group
from kafkabal.model import (
    I64,
    Bools,
    ClusterState,
    LogDirState,
    broker_capacity_bytes,
    lagging_partitions,
    offline_replicas,
    reports_no_log_dir,
    volume_headroom_bytes,
)
from kafkabal.scoring import Grain, Need
from kafkabal.units import percent_as_option
from kafkabal.wording import WITH_LAGGING_REPLICAS, WITHOUT_LEADER, counted_noun, first_of, plural

_MOST_IDS = 5
"""A longer sentence is not read to its end; the table has all of them."""
_FEW = 0.1
"""Fraction of all replicas whose sizes may be unknown before the sentence says so: an error of a tenth of the bytes is
about the tolerance of the verdict."""


class Severity(StrEnum):
    """How bad a verdict is."""

    BALANCED = "balanced"
    IMBALANCED = "imbalanced"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The headline, its severity, and the command to run next, which is empty if there is nothing to do."""

    sentence: str
    severity: Severity
    next_command: str = ""


def judge(inspection: Inspection) -> Verdict:
    """Say what is wrong: first what is broken, then which scores are outside their bands."""
    broken, imbalanced = list(faults(inspection.state)), list(_imbalance(inspection))
    assumed = _assumption(inspection)
    if not broken and not imbalanced:
        return Verdict(f"{_balanced(inspection)}{assumed}.", Severity.BALANCED)
    sentence = "; ".join([*broken, *imbalanced])
    command = "kafkabal rebalance --dry-run" if imbalanced or offline_replicas(inspection.state).any() else ""
    return Verdict(f"{_capital(sentence)}{assumed}.", Severity.BROKEN if broken else Severity.IMBALANCED, command)


def has_findings(inspection: Inspection, tolerance: float) -> bool:
    """Whether a score is outside its band at this tolerance, or something is broken."""
    return is_broken(inspection) or next(inspection.outside(tolerance), None) is not None


def is_broken(inspection: Inspection) -> bool:
    """Whether something is broken that rebalancing alone does not repair."""
    return next(faults(inspection.state), None) is not None


def faults(state: ClusterState) -> Iterator[str]:
    """What is broken, one clause each, worst first; without imbalance."""
    brokers, lost = state.brokers, offline_replicas(state)
    leaderless = int((state.partitions.leader < 0).sum())
    if leaderless:
        yield f"{counted_noun(leaderless, 'partition')} {WITHOUT_LEADER}"
    dead = ~brokers.is_live
    if dead.any():
        held = int(lost[dead[state.replicas.broker]].sum())
        yield f"{brokers_named(state, dead)} {_is(dead)} dead with {counted_noun(held, 'replica')}"
    yield from _unresponsive(state)
    offline = dirs_in(state, LogDirState.OFFLINE)
    if offline.any():
        yield f"{counted_noun(int(offline.sum()), 'log dir')} offline on {brokers_named(state, offline > 0)}"
    yield from _lagging(state)


def beyond_moves(state: ClusterState) -> Iterator[str]:
    """The clauses of :func:`faults` that no move can repair: a live broker needs attention."""
    yield from _unresponsive(state)
    yield from _lagging(state)


def full_log_dirs(state: ClusterState) -> str:
    """The log dirs beyond the limit of a run in one clause, empty if there are none: full disks may be balanced."""
    dirs, ids = state.log_dirs, state.brokers.id
    full = np.flatnonzero(volume_headroom_bytes(state, DEFAULT_LOG_DIR_LIMIT) < 0).tolist()
    if not full:
        return ""
    named = first_of([f"{dirs.path[d]} of broker {ids[dirs.broker[d]]}" for d in full])
    return f"{plural(len(full), 'log dir')} more than {DEFAULT_LOG_DIR_LIMIT:.0%} full: {named}"


def _unresponsive(state: ClusterState) -> Iterator[str]:
    unreported = reports_no_log_dir(state)
    if unreported.any():
        whose = "its" if unreported.sum() == 1 else "their"
        yield f"{brokers_named(state, unreported)} did not report {whose} log dirs"


def _lagging(state: ClusterState) -> Iterator[str]:
    lagging = int(np.count_nonzero(lagging_partitions(state)))
    if lagging:
        yield f"{counted_noun(lagging, 'partition')} {WITH_LAGGING_REPLICAS}"


def brokers_named(state: ClusterState, rows: Bools) -> str:
    """``broker 3``, ``brokers 3 and 7``, ``brokers 1, 2, 3, 4, 5 and 12 more``."""
    ids = state.brokers.id[rows].tolist()
    shown, more = [str(i) for i in ids[:_MOST_IDS]], len(ids) - _MOST_IDS
    if more > 0:
        shown.append(f"{more} more")
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"{plural(len(ids), 'broker')} {listed}"


def _imbalance(inspection: Inspection) -> Iterator[str]:
    """What is outside its band: the first score with figures, the others by name."""
    out = [scored for scored in inspection.scored if scored.evaluation.outside.any()]
    if not out:
        return
    first, *others = out
    clause = _extremes(first, inspection.state, inspection.tolerance)
    if others:
        clause += f"; also outside their bands: {_listed([s.score.name for s in others])}"
    yield clause


def _extremes(scored: Scored, state: ClusterState, tolerance: float) -> str:
    """The holders with the largest and smallest shares, if they are outside the band."""
    e, side = scored.evaluation, scored.side()
    parts = []
    for sign, pick in ((1, np.nanargmax), (-1, np.nanargmin)):
        rows = np.flatnonzero(side == sign)
        if rows.size:
            row = int(rows[pick(e.share[rows])])
            parts.append(f"{_holder(scored, state, row)} is at {e.share[row]:.2f}x")
    group = worst_group(scored, state, outside_by=tolerance)
    if group is not None and group.topic is not None:
        spread = f"from {group.min_share:.2f}x to {group.max_share:.2f}x its fair share"
        return f"topic {group.topic} is spread {spread} by {scored.score.name}"
    return f"{' and '.join(parts)} its fair share by {scored.score.name}"


def _holder(scored: Scored, state: ClusterState, row: int) -> str:
    if scored.score.grain is Grain.BROKER:
        return f"broker {state.brokers.id[row]}"
    dirs = state.log_dirs
    return f"{dirs.path[row]} of broker {state.brokers.id[dirs.broker[row]]}"


def _balanced(inspection: Inspection) -> str:
    n = int(inspection.state.brokers.is_live.sum())
    names = _listed([scored.score.name for scored in inspection.scored]) or "nothing"
    width = percent_as_option(inspection.tolerance)
    return f"Balanced: {counted_noun(n, 'broker')} inside their bands by {names} (tolerance {width})"


def _assumption(inspection: Inspection) -> str:
    """The remark to add if a score needs capacities or sizes that are unknown."""
    state = inspection.state
    needs = {need for scored in inspection.scored for need in scored.score.needs}
    assumed = []
    if Need.CAPACITY in needs and np.isnan(broker_capacity_bytes(state)[state.brokers.is_live]).all():
        assumed.append("disk sizes unknown, assumed equal")
    unknown = int(np.count_nonzero(unknown_sizes(state)))
    if Need.LOG_DIRS in needs and unknown > _FEW * len(state.replicas):
        part = "all replicas" if unknown == len(state.replicas) else counted_noun(unknown, "replica")
        assumed.append(f"sizes of {part} unknown, counted as 0")
    return f" ({'; '.join(assumed)})" if assumed else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else "".join(names)


def _is(rows: Bools | I64) -> str:
    return "is" if int(np.count_nonzero(rows)) == 1 else "are"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
