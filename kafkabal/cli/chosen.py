"""The scores that the settings choose for a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkabal.config.settings import Settings
    from kafkabal.model.state import ClusterState
    from kafkabal.scoring.choice import Choice


def chosen_scores(settings: Settings, cluster: ClusterState) -> Choice:
    """The scores to go by, measured against what the profile states.

    Raises
    ------
    UsageError
        If a score is unknown, or a named one cannot be fed.
    """
    from kafkabal.scoring.choice import choose_scores
    from kafkabal.scoring.options import score_options

    return choose_scores(cluster, settings.scores, score_options(settings))
