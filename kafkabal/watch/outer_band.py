"""The outer band of each score: beyond it a watch acts. Its plans end in the inner band; between the two nothing moves.

The band of ``topic-spread`` has one width, at most ``ceil(fair) + 1``. If it were both thresholds, a broker filled up
to that number would be outside as soon as another one joins, and nothing could be done for a day, since what has just
moved rests. In the simulated quarters of seeds 46 and 59 (tests/unit/watch/simulation) that took 24.2 and 23.1 hours.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

from kafkabal.model import ClusterState
from kafkabal.scoring import Score, ScoreBase, SelectedScores, SpreadBand, select_scores


def outer_scores(state: ClusterState, tolerance: float) -> SelectedScores:
    """The default scores; those whose band ignores the tolerance get one that is wider by it."""
    selected = select_scores(state)
    widened = tuple(replace(each, score=_widened(each.score, tolerance)) for each in selected.scores)
    return replace(selected, scores=widened)


def _widened(score: Score, tolerance: float) -> Score:
    if not (isinstance(score, ScoreBase) and isinstance(score.band, SpreadBand)):
        return score
    outer = copy(score)
    outer.band = SpreadBand(widened_by=tolerance)
    return outer
