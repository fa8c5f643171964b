"""Options that shape a plan, and the plan made from them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.options import SCOPE_SECTION
from kafkabal.config.settings import Settings
from kafkabal.errors import UsageError

if TYPE_CHECKING:
    from kafkabal.model.state import ClusterState
    from kafkabal.plan.plan import Plan

PLAN_SETTINGS: Final = (
    "scores",
    "tolerance",
    "max_bytes",
    "max_moves",
    "max_leader_changes",
    "max_duration",
    "topics",
    "exclude_topics",
    "exclude_brokers",
    "include_internal",
)
"""Settings that shape a plan."""


def parse_brokers(text: str) -> frozenset[int]:
    """Read broker ids such as ``3,4``.

    Raises
    ------
    UsageError
        If one of them is no id.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() for word in words):
        raise UsageError(f"{text!r} is no list of broker ids", hint="write it like 3,4")
    return frozenset(map(int, words))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFlags:
    """What is planned, beside the settings."""

    drain: Annotated[
        frozenset[int] | None,
        typer.Option(
            "--drain",
            metavar="ID[,...]",
            parser=parse_brokers,
            help="Brokers to empty.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = None


def make(settings: Settings, flags: PlanFlags, state: "ClusterState") -> "Plan":
    """Make the plan that settings and flags ask for."""
    from kafkabal.planner.options import DEFAULT_TOLERANCE, PlanOptions
    from kafkabal.planner.plan import make_plan
    from kafkabal.scoring.registry import load_scores

    options = PlanOptions(
        tolerance=DEFAULT_TOLERANCE if settings.tolerance is None else settings.tolerance,
        scores=load_scores(settings.scores) if settings.scores else (),
        drain=flags.drain or frozenset(),
        exclude_brokers=frozenset(settings.exclude_brokers),
        topics=settings.topics,
        exclude_topics=settings.exclude_topics,
        include_internal=settings.include_internal,
        max_bytes=settings.max_bytes,
        max_moves=settings.max_moves,
        max_leader_changes=settings.max_leader_changes,
        max_duration_s=settings.max_duration_s,
        throttle_bytes_per_s=settings.throttle if isinstance(settings.throttle, int) else None,
    )
    return make_plan(state, options)
