"""Selects the scores of a command: the named ones, or else the default ones that the cluster supports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import ClusterState, LogDirState
from kafkabal.scoring.available_needs import require
from kafkabal.scoring.capacity_options import ScoreOptions
from kafkabal.scoring.registry import WeightedScore, default_scores, load_scores, split_weight


@dataclass(frozen=True, slots=True)
class SelectedScores:
    """The scores of a command on one cluster."""

    scores: tuple[WeightedScore, ...]
    unavailable: tuple[str, ...] = ()
    """Default scores whose needs the cluster does not supply, one line each."""


def select_scores(
    state: ClusterState, names: Sequence[str] = (), options: ScoreOptions | None = None
) -> SelectedScores:
    """Load scores by name, and check that the cluster supplies what they need.

    Parameters
    ----------
    names
        As ``NAME`` or ``NAME=WEIGHT``; empty for the default ones.

    Raises
    ------
    UsageError
        If a score is unknown, or the cluster does not supply what a named one needs.
    """
    if names:
        selected = load_scores(names, options)
        for weighted in selected:
            require(weighted.score, state)
        return SelectedScores(selected)
    supplied, unavailable = [], []
    for weighted in default_scores(several_log_dirs=has_several_log_dirs(state), options=options):
        try:
            require(weighted.score, state)
            supplied.append(weighted)
        except UsageError as error:
            unavailable.append(f"{error.message}: {error.hint}")
    return SelectedScores(tuple(supplied), tuple(unavailable))


def refuse_weights(names: Sequence[str]) -> None:
    """Refuse weights where each score is shown on its own.

    Raises
    ------
    UsageError
        Naming the first score with a weight.
    """
    for text in names:
        name, weight = split_weight(text)
        if weight is not None:
            raise UsageError(
                f"weights have no effect here: {text!r}",
                hint=f"write {name}; weights count in 'rebalance', 'create', 'produce' and 'route'",
            )


def has_several_log_dirs(state: ClusterState) -> bool:
    """Whether some live broker has more than one working log dir."""
    dirs = state.log_dirs
    working = dirs.broker[(dirs.state != LogDirState.OFFLINE) & state.brokers.is_live[dirs.broker]]
    return bool((np.bincount(working, minlength=1) > 1).any())
