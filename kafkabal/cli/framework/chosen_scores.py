"""From the settings to the scores of a command: the only way that commands use, so that none omits the options."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import Settings
    from kafkabal.model import ClusterState
    from kafkabal.producer import ProfileWatcher
    from kafkabal.scoring import ChosenScores, WeightedScore


def chosen_scores(settings: Settings, cluster: ClusterState) -> ChosenScores:
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


def profile_watcher(settings: Settings, context: CommandContext, default: Sequence[str]) -> ProfileWatcher:
    """Takes up the scores of an edited profile in a command that runs for long; those given as options stay."""
    from kafkabal.cli.framework.command_settings import settle
    from kafkabal.producer import ProfileWatcher

    profile = settings.profile
    given: dict[str, Any] = {"scores": list(settings.scores)} if settings.source("scores") == "--score" else {}

    def load() -> tuple[WeightedScore, ...]:
        assert profile is not None
        return named_scores(settle({"profile": f"{profile.path}#{profile.name}", **given}, context), default)

    return ProfileWatcher(
        profile.path if profile else None,
        load,
        changed=lambda scores: context.say(f"profile changed; scores: {', '.join(s.score.name for s in scores)}"),
        ignored=lambda error: context.warn(f"changed profile ignored: {error.message}"),
    )
