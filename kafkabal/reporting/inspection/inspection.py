"""A cluster together with its scores: what every view of ``inspect`` is made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.model.state import LogDirState
from kafkabal.scoring.evaluation import Evaluation, evaluate
from kafkabal.scoring.registry import default_scores, load_scores
from kafkabal.scoring.supply import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkabal.model.state import F64, I8, I64, ClusterState
    from kafkabal.scoring.protocol import Grain, Score

DEFAULT_TOLERANCE = 0.10


@dataclass(frozen=True, slots=True)
class Scored:
    """A score, and what it says of each holder."""

    score: Score
    evaluation: Evaluation

    def side(self) -> I8:
        """int8, shape (n_holders,): 1 above the band, -1 below it, 0 within it or not counted."""
        e = self.evaluation
        above = np.where(np.isnan(e.high), e.share > 1, e.load > e.high)
        return np.where(e.outside, np.where(above, 1, -1), 0).astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inspection:
    """What is known of a cluster, and how even it is."""

    cluster: ClusterState
    scored: tuple[Scored, ...]
    tolerance: float
    lacking: tuple[str, ...]
    """Default scores that this cluster cannot feed, one line each."""

    def of_grain(self, grain: Grain) -> Iterator[Scored]:
        """The scores of brokers, or those of log dirs."""
        return (scored for scored in self.scored if scored.score.grain is grain)

    def outside(self, tolerance: float) -> Iterator[tuple[Scored, int]]:
        """Scores that leave a band of this width, and how many holders do."""
        for scored in self.scored:
            e = evaluate(scored.score, self.cluster, tolerance=tolerance)
            if e.outside.any():
                yield Scored(scored.score, e), int(e.outside.sum())


def inspect_cluster(
    cluster: ClusterState, names: Sequence[str] = (), *, tolerance: float = DEFAULT_TOLERANCE
) -> Inspection:
    """Evaluate scores.

    Parameters
    ----------
    names
        Scores as ``NAME`` or ``NAME=WEIGHT``; none means the default ones, as far as the cluster can feed them.
    tolerance
        Half the width of the bands, as a share of the mean.

    Raises
    ------
    UsageError
        If a score is unknown, or a named one cannot be fed.
    ConfigError
        If the capacity of some brokers is known and that of others is not.
    """
    if names:
        chosen = [weighted.score for weighted in load_scores(names)]
        for score in chosen:
            require(score, cluster)
        return _inspection(cluster, chosen, tolerance, ())
    chosen, lacking = [], []
    for weighted in default_scores(several_log_dirs=has_several_log_dirs(cluster)):
        try:
            require(weighted.score, cluster)
            chosen.append(weighted.score)
        except UsageError as error:
            lacking.append(f"{error.message}: {error.hint}")
    return _inspection(cluster, chosen, tolerance, tuple(lacking))


def has_several_log_dirs(cluster: ClusterState) -> bool:
    """Whether some live broker has more than one log dir that works."""
    dirs = cluster.log_dirs
    working = dirs.broker[(dirs.state != LogDirState.OFFLINE) & cluster.brokers.is_live[dirs.broker]]
    return bool((np.bincount(working, minlength=1) > 1).any())


def worst_first(severity: I64, share: F64) -> I64:
    """Order of rows: the most severe first, then those farthest from their fair share of 1, unknown ones last."""
    distance = np.where(np.isnan(share), -1.0, np.abs(share - 1))
    return np.lexsort((np.arange(len(share)), -distance, -severity))


def _inspection(
    cluster: ClusterState, scores: Sequence[Score], tolerance: float, lacking: tuple[str, ...]
) -> Inspection:
    scored = tuple(Scored(score, evaluate(score, cluster, tolerance=tolerance)) for score in scores)
    return Inspection(cluster=cluster, scored=scored, tolerance=tolerance, lacking=lacking)
