"""The parts of a score on one cluster, computed once and checked: a plug-in may get them wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from kafkabal.model import F64, I32, ClusterState
from kafkabal.scoring.bands import SHARE_EPSILON
from kafkabal.scoring.plugin_errors import check_score_part, reporting_score_errors
from kafkabal.scoring.score_protocol import Score, n_holders

_MOST: Final = 1e150
"""Sums and squares of smaller numbers stay finite, and so do quotients of numbers that are not nearer to 0 than its
inverse."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """What :class:`~kafkabal.scoring.score_protocol.Score` declares, as float64 and int32 arrays of the right
    length."""

    base_load: F64
    """NaN if the load of a holder is unknown."""
    replica_load: F64
    leader_load: F64
    capacity: F64
    group: I32 | None
    """Numbers below the count of replicas: memory is allocated for each number up to the highest."""
    holder_group: I32 | None
    leader_replica: I32
    """That of the cluster, kept here because the cluster computes it at every access."""


def parts_of(score: Score, state: ClusterState) -> Parts:
    """Compute and check the parts of a score.

    Raises
    ------
    UsageError
        If the score raises, a part has the wrong length or an impossible value, or a capacity is not above 0; the
        message names score and part.
    """
    parts = Parts(
        base_load=base_load_of(score, state),
        replica_load=replica_load_of(score, state),
        leader_load=leader_load_of(score, state),
        capacity=capacity_of(score, state),
        group=group_of(score, state),
        holder_group=holder_group_of(score, state),
        leader_replica=state.leader_replica,
    )
    led = parts.leader_replica >= 0
    carried = parts.replica_load[parts.leader_replica[led]]
    not_less = parts.leader_load[led] >= -carried * (1 + SHARE_EPSILON)
    check_score_part(score.name, "leader_load", "0 or more together with the replica_load of the leader", not_less)
    return parts


def base_load_of(score: Score, state: ClusterState) -> F64:
    """The checked ``base_load`` of a score; :func:`parts_of` says what is refused here and below."""
    load = _column(score, "base_load", score.base_load, state, n_holders(score.grain, state))
    check_score_part(score.name, "base_load", "finite or NaN", ~np.isinf(load))
    known = load[~np.isnan(load)]
    check_score_part(score.name, "base_load", "0 or more", known >= 0)
    _check_size(score, "base_load", known)
    return load


def replica_load_of(score: Score, state: ClusterState) -> F64:
    """The checked ``replica_load`` of a score."""
    load = _column(score, "replica_load", score.replica_load, state, len(state.replicas))
    check_score_part(score.name, "replica_load", "finite", np.isfinite(load))
    check_score_part(score.name, "replica_load", "0 or more", load >= 0)
    _check_size(score, "replica_load", load)
    return load


def leader_load_of(score: Score, state: ClusterState) -> F64:
    """The checked ``leader_load`` of a score; below 0 where leaders carry less than followers."""
    load = _column(score, "leader_load", score.leader_load, state, len(state.partitions))
    check_score_part(score.name, "leader_load", "finite", np.isfinite(load))
    _check_size(score, "leader_load", load)
    return load


def capacity_of(score: Score, state: ClusterState) -> F64:
    """The checked ``capacity`` of a score."""
    capacity = _column(score, "capacity", score.capacity, state, n_holders(score.grain, state))
    check_score_part(score.name, "capacity", "above 0 and finite", np.isfinite(capacity) & (capacity > 0))
    check_score_part(
        score.name, "capacity", f"within {1 / _MOST:g} and {_MOST:g}", (capacity >= 1 / _MOST) & (capacity <= _MOST)
    )
    return capacity


def group_of(score: Score, state: ClusterState) -> I32 | None:
    """The checked ``group`` of a score."""
    return _groups(score, "group", score.group, state, len(state.replicas))


def holder_group_of(score: Score, state: ClusterState) -> I32 | None:
    """The checked ``holder_group`` of a score."""
    return _groups(score, "holder_group", score.holder_group, state, n_holders(score.grain, state))


def _column(score: Score, part: str, ask: Callable[[ClusterState], F64], state: ClusterState, length: int) -> F64:
    with reporting_score_errors(score.name, part):
        column = np.asarray(ask(state))
    check_score_part(score.name, part, f"of shape ({length},)", column.shape == (length,))
    check_score_part(score.name, part, "a column of numbers", column.dtype.kind in "biuf")
    return column.astype(np.float64, copy=False)


def _groups(
    score: Score, part: str, ask: Callable[[ClusterState], I32 | None], state: ClusterState, length: int
) -> I32 | None:
    with reporting_score_errors(score.name, part):
        answer = ask(state)
        if answer is None:
            return None
        column = np.asarray(answer)
    check_score_part(score.name, part, f"of shape ({length},)", column.shape == (length,))
    check_score_part(score.name, part, "whole numbers from 0 on", column.dtype.kind in "iu" and not (column < 0).any())
    if column.max(initial=0) >= max(length, 1):
        return np.unique(column, return_inverse=True)[1].astype(np.int32)
    return column.astype(np.int32, copy=False)


def _check_size(score: Score, part: str, loads: F64) -> None:
    check_score_part(score.name, part, f"0 or at least {1 / _MOST:g}", (loads == 0) | (np.abs(loads) >= 1 / _MOST))
    with np.errstate(over="ignore"):
        check_score_part(score.name, part, "small enough for their sum", np.abs(loads).sum() <= _MOST)
