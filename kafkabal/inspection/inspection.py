"""A cluster and its scores: the data of all views of ``inspect``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kafkabal.config import DEFAULT_CHECK_TOLERANCE
from kafkabal.model import F64, I8, I64, ClusterState
from kafkabal.scoring import Evaluation, Grain, Score, SelectedScores, evaluate, load_score, rules_of, select_scores


@dataclass(frozen=True, slots=True)
class Scored:
    """A score and its evaluation of each holder."""

    score: Score
    evaluation: Evaluation

    def side(self) -> I8:
        """int8, shape (n_holders,): 1 above the band, -1 below it, 0 within it or not counted."""
        e = self.evaluation
        above = np.where(np.isnan(e.high), e.share > 1, e.load > e.high)
        return np.where(e.outside, np.where(above, 1, -1), 0).astype(np.int8)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Inspection:
    """A cluster and its evaluation by each score."""

    state: ClusterState
    scored: tuple[Scored, ...]
    tolerance: float
    unavailable: tuple[str, ...]
    """Default scores whose needs this cluster does not supply, one line each."""

    def of_grain(self, grain: Grain) -> Iterator[Scored]:
        """The scores of brokers, or those of log dirs."""
        return (scored for scored in self.scored if scored.score.grain is grain)

    def log_dir_score(self) -> Scored:
        """The first selected score of log dirs, or else ``log-dir``, which every cluster supplies."""
        selected = next(self.of_grain(Grain.LOG_DIR), None)
        if selected is not None:
            return selected
        score = load_score("log-dir")
        return Scored(score, evaluate(score, self.state, tolerance=self.tolerance, rules=rules_of(self.state)))

    def is_rounded(self, scored: Scored) -> bool:
        """Whether a share is farther from 1 than the tolerance, though every holder is inside its band."""
        e = scored.evaluation
        return scored.score.band is not None and e.skew > self.tolerance and not e.outside.any()

    def outside(self, tolerance: float) -> Iterator[tuple[Scored, int]]:
        """Scores outside their bands at this tolerance, and the number of holders outside."""
        rules = rules_of(self.state)
        for scored in self.scored:
            e = evaluate(scored.score, self.state, tolerance=tolerance, rules=rules)
            if e.outside.any():
                yield Scored(scored.score, e), int(e.outside.sum())


def inspect_cluster(
    state: ClusterState, selected: SelectedScores | None = None, *, tolerance: float = DEFAULT_CHECK_TOLERANCE
) -> Inspection:
    """Evaluate scores on a cluster.

    Parameters
    ----------
    selected
        The scores; rows are sorted by the first. None for the default ones.
    tolerance
        Half the width of the bands, as a fraction of the fair load.

    Raises
    ------
    ConfigError
        If the capacity of only some brokers is known.
    """
    selected = selected or select_scores(state)
    scores = [weighted.score for weighted in selected.scores]
    rules = rules_of(state)
    return Inspection(
        state=state,
        scored=tuple(Scored(score, evaluate(score, state, tolerance=tolerance, rules=rules)) for score in scores),
        tolerance=tolerance,
        unavailable=selected.unavailable,
    )


def worst_first(severity: I64, share: F64) -> I64:
    """Order of rows: most severe first, then farthest from a share of 1, unknown ones last."""
    distance = np.where(np.isnan(share), -1.0, np.abs(share - 1))
    return np.lexsort((np.arange(len(share)), -distance, -severity))
