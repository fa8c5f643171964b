"""The scores that the settings choose for a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkabal.config.settings import Settings
    from kafkabal.model.cluster_state import ClusterState
    from kafkabal.scoring.selection import Choice


def chosen_scores(settings: Settings, cluster: ClusterState) -> Choice:
    """The scores to go by, measured against what the profile states.

    Raises
    ------
    UsageError
        If a score is unknown, or a named one cannot be fed.
    """
    from kafkabal.scoring.score_options import score_options
    from kafkabal.scoring.selection import choose_scores

    return choose_scores(cluster, settings.scores, score_options(settings))
