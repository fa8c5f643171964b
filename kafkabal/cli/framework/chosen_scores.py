"""From the settings to the scores of a command: the only way that commands use, so that none omits the options."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.config import Settings
    from kafkabal.model import ClusterState
    from kafkabal.scoring import Choice, WeightedScore


def chosen_scores(settings: Settings, cluster: ClusterState) -> Choice:
    """The scores to go by, measured against what the profile states.

    Raises
    ------
    UsageError
        If a score is unknown, or a named one cannot be fed.
    """
    from kafkabal.scoring import choose_scores, score_options

    with settings.naming("scores"):
        return choose_scores(cluster, settings.scores, score_options(settings))


def named_scores(settings: Settings, default: Sequence[str] = ()) -> tuple[WeightedScore, ...]:
    """The scores that the settings name, else those of ``default``; whether a cluster supplies them shows later.

    Raises
    ------
    UsageError
        If a score is unknown.
    """
    from kafkabal.scoring import load_scores, score_options

    with settings.naming("scores"):
        return load_scores(settings.scores or default, score_options(settings))
