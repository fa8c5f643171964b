"""Loads the scores that ``--score`` selects: all commands use this module, so that none omits the score options.

::

    --score, profile or variable -> Settings.scores -> the functions here -> kafkabal.scoring: score_selection, registry
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.printable import shell_word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.config import Settings
    from kafkabal.inspection import Inspection
    from kafkabal.model import ClusterState
    from kafkabal.producer import ProfileWatcher
    from kafkabal.routing import PolicyChoice
    from kafkabal.scoring import SelectedScores, WeightedScore


def selected_scores(settings: Settings, state: ClusterState) -> SelectedScores:
    """The scores that the settings name, or else the default ones that this cluster supports.

    Raises
    ------
    UsageError
        If a score is unknown, or the cluster does not supply what a named one needs.
    """
    from kafkabal.scoring import score_options, select_scores

    with settings.naming("scores"):
        return select_scores(state, settings.scores, score_options(settings))


def unchecked_scores(settings: Settings, default: Sequence[str] = ()) -> tuple[WeightedScore, ...]:
    """The scores that the settings name, or else ``default``; without checking whether a cluster supports them.

    Raises
    ------
    UsageError
        If a score is unknown.
    """
    names = settings.scores or default
    if not names:
        return ()
    from kafkabal.scoring import load_scores, score_options

    with settings.naming("scores"):
        return load_scores(names, score_options(settings))


def check_are_measured(
    scores: Collection[WeightedScore],
    settings: Settings,
    *,
    rates: bool,
    latency: bool = False,
    prometheus: bool = False,
) -> None:
    """Refuse scores that need what the command does not measure, before a cluster is contacted.

    Parameters
    ----------
    rates, latency, prometheus
        What it measures. A snapshot may hold rates.

    Raises
    ------
    UsageError
        Naming the score and what it needs.
    """
    if not scores:
        return
    from kafkabal.scoring import Need, refuse_unmeasured

    taken = ((rates or settings.snapshot, Need.RATES), (latency, Need.TELEMETRY), (prometheus, Need.PROMETHEUS))
    with settings.naming("scores"):
        refuse_unmeasured(scores, [need for is_taken, need in taken if is_taken])


def check_shown_scores(settings: Settings) -> None:
    """Check the scores of a command that shows each on its own, before a cluster is contacted.

    Raises
    ------
    UsageError
        If one is unknown, or ``--score`` has a weight; weights in a profile are for other commands.
    """
    unchecked_scores(settings)
    if settings.origin("scores") == "--score":
        from kafkabal.scoring import refuse_weights

        refuse_weights(settings.scores)


def check_scores_route(policies: Iterable[PolicyChoice], context: CommandContext) -> None:
    """Check that ``--score``, if given, can change where one of the policies sends records.

    Raises
    ------
    UsageError
        If it has no effect on any.
    """
    from kafkabal.routing import Input

    if not any(policy.may_use(Input.SCORES) for policy in policies):
        refuse_without("a policy that uses it", ["--score"], context, hint="add --policy score, or leave out --score")


def inspection_of(settings: Settings, state: ClusterState) -> Inspection:
    """Evaluate a cluster by the selected scores.

    Raises
    ------
    UsageError
        As :func:`selected_scores`.
    """
    from kafkabal.config import DEFAULT_CHECK_TOLERANCE
    from kafkabal.inspection import inspect_cluster

    selected = selected_scores(settings, state)
    tolerance = DEFAULT_CHECK_TOLERANCE if settings.tolerance is None else settings.tolerance
    return inspect_cluster(state, selected, tolerance=tolerance)


def options_to_rebalance(settings: Settings, inspection: Inspection, context: CommandContext) -> str | None:
    """Options with which ``rebalance`` finds the same cluster and judges it alike; None if it cannot.

    It does not measure rates: it has those of a snapshot only.
    """
    from kafkabal.cli.framework.command_settings import cluster_options
    from kafkabal.scoring import Need
    from kafkabal.units import percent_as_option

    options = []
    if settings.origin("scores") == "--score":
        given = zip(settings.scores, (scored.score for scored in inspection.scored), strict=True)
        options = [
            f"--score {shell_word(name)}"
            for name, score in given
            if score.band is not None and (settings.snapshot is not None or Need.RATES not in score.needs)
        ]
        if not options:
            return None
    if settings.origin("tolerance") == "--tolerance":
        options.append(f"--tolerance {percent_as_option(inspection.tolerance)}")
    return " ".join([*options, cluster_options(settings, context)]).strip()


def profile_watcher(settings: Settings, context: CommandContext, default: Sequence[str]) -> ProfileWatcher:
    """Reloads scores from an edited profile during a long command; scores given as options are kept."""
    from kafkabal.cli.framework.command_settings import command_settings
    from kafkabal.producer import ProfileWatcher

    profile = settings.profile
    given: dict[str, Any] = {"scores": list(settings.scores)} if settings.origin("scores") == "--score" else {}

    def load() -> tuple[WeightedScore, ...]:
        assert profile is not None
        return unchecked_scores(
            command_settings({"profile": f"{profile.path}#{profile.name}", **given}, context), default
        )

    return ProfileWatcher(
        profile.path if profile else None,
        load,
        changed=lambda scores: context.say(f"profile changed; scores: {', '.join(s.score.name for s in scores)}"),
        ignored=lambda error: context.warn(f"changed profile ignored: {error.in_one_line}"),
    )
