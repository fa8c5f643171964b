"""Which scores a command goes by on a given cluster: those that are named, else the default ones it can feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model import ClusterState, LogDirState
from kafkabal.scoring.available_needs import require
from kafkabal.scoring.capacity_options import ScoreOptions
from kafkabal.scoring.registry import WeightedScore, default_scores, load_scores


@dataclass(frozen=True, slots=True)
class ChosenScores:
    """Scores to go by."""

    scores: tuple[WeightedScore, ...]
    unavailable: tuple[str, ...] = ()
    """Default scores that the cluster cannot feed, one line each."""


def choose_scores(
    cluster: ClusterState, names: Sequence[str] = (), options: ScoreOptions | None = None
) -> ChosenScores:
    """Choose scores.

    Parameters
    ----------
    names
        As ``NAME`` or ``NAME=WEIGHT``; none means the default ones.

    Raises
    ------
    UsageError
        If a score is unknown, or a named one cannot be fed.
    """
    if names:
        named = load_scores(names, options)
        for weighted in named:
            require(weighted.score, cluster)
        return ChosenScores(named)
    fed, unavailable = [], []
    for weighted in default_scores(several_log_dirs=has_several_log_dirs(cluster), options=options):
        try:
            require(weighted.score, cluster)
            fed.append(weighted)
        except UsageError as error:
            unavailable.append(f"{error.message}: {error.hint}")
    return ChosenScores(tuple(fed), tuple(unavailable))


def has_several_log_dirs(cluster: ClusterState) -> bool:
    """Whether some live broker has more than one log dir that works."""
    dirs = cluster.log_dirs
    working = dirs.broker[(dirs.state != LogDirState.OFFLINE) & cluster.brokers.is_live[dirs.broker]]
    return bool((np.bincount(working, minlength=1) > 1).any())
