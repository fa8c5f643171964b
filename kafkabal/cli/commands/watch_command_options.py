"""Options of ``kafkabal watch``: what it may change, and where it reports."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.shared_options import LIMITS_SECTION, OUTPUT_SECTION, NotifyOption, TextfileOption
from kafkabal.config import DEFAULT_HEAL_DEAD_AFTER_S, Settings
from kafkabal.errors import UsageError
from kafkabal.units import parse_bytes, parse_duration, parse_percent, percent_as_option
from kafkabal.watch import HealLevel

if TYPE_CHECKING:
    from kafkabal.watch import WatchOptions


_OF_MOVES: Final = (
    "--dead-after",
    "--move-after",
    "--max-bytes-per-day",
    "--throttle",
    "--window",
    "--tolerance",
    "--include-internal",
)
"""Leadership moves at any time, without a byte, and needs no plan."""
_OF_HEALING: Final = (
    "--bootstrap-controller",
    "--max-actions-per-day",
    "--max-dead",
    "--topics",
    "--exclude-topics",
    "--exclude-brokers",
)
SCOPE: Final = ("topics", "exclude_topics", "exclude_brokers", "include_internal")
"""Settings of what may change."""
_OF_FOLLOWING: Final = ("--every", "--slow")
"""One check has no interval, and no history to call a broker slow by."""


class WatchFormat(StrEnum):
    """Output format of a watch on stdout."""

    TABLE = "table"
    JSON = "json"
    """With --once."""
    JSONL = "jsonl"
    """One line an event; not with --once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealOptions:
    """What a watch may change."""

    heal: Annotated[
        HealLevel, typer.Option("--heal", help="What may be changed: nothing, leadership, or replicas too.")
    ] = HealLevel.NONE
    dead_after_s: Annotated[
        float,
        typer.Option(
            "--dead-after",
            metavar="TIME",
            parser=parse_duration,
            help="Copy the replicas of a broker elsewhere after it has been dead for TIME.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = DEFAULT_HEAL_DEAD_AFTER_S
    move_after_s: Annotated[
        float | None,
        typer.Option(
            "--move-after",
            metavar="TIME",
            parser=parse_duration,
            help="Move replicas off a broker that has been slow for TIME. [default: never]",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = None
    max_bytes_per_day: Annotated[
        int | None,
        typer.Option(
            "--max-bytes-per-day",
            metavar="SIZE",
            parser=parse_bytes,
            help="Maximum bytes moved within 24 hours; repairs count, but are not limited.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = None
    max_actions_per_day: Annotated[
        int,
        typer.Option(
            "--max-actions-per-day",
            metavar="N",
            min=1,
            help="Maximum runs started within 24 hours.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = 24
    max_dead: Annotated[
        int,
        typer.Option(
            "--max-dead",
            metavar="N",
            min=1,
            help="Change nothing while more than N brokers are missing that went away within a day.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = 1
    outer_tolerance: Annotated[
        float,
        typer.Option(
            "--rebalance-above",
            metavar="PERCENT",
            parser=parse_percent,
            help="Rebalance when a broker deviates by more than PERCENT from its fair share.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = 0.20


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchOutput:
    """Where a watch reports."""

    output: Annotated[
        WatchFormat, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT_SECTION)
    ] = WatchFormat.TABLE
    textfile: TextfileOption = None
    notify: NotifyOption = None


def check_options(
    settings: Settings, output: WatchOutput, heal: HealOptions, context: CommandContext, *, once: bool
) -> None:
    """Refuse what cannot be combined.

    Raises
    ------
    UsageError
        Naming the options.
    """
    if output.output is WatchFormat.JSON and not once:
        raise UsageError("-o json requires --once", hint="for events as they happen: -o jsonl")
    if output.output is WatchFormat.JSONL and once:
        raise UsageError("--once and -o jsonl cannot be combined: one check sees no event", hint="use -o json")
    if once and heal.heal is not HealLevel.NONE:
        raise UsageError("--once and --heal cannot be combined: one check is not enough to act on")
    for option, value in (("--notify", output.notify), ("--textfile", output.textfile)):
        if once and value is not None:
            raise UsageError(
                f"--once and {option} cannot be combined: one check sees no event",
                hint="use its exit code, or -o json",
            )
    if once:
        refuse_beside("--once", (*_OF_FOLLOWING, *_OF_MOVES, *_OF_HEALING), context)
    if heal.heal is HealLevel.NONE:
        refuse_without("--heal", _OF_HEALING, context, hint="add --heal leaders or --heal all")
    if heal.heal is not HealLevel.ALL:
        refuse_without("--heal all", _OF_MOVES, context)
    if settings.snapshot is not None and not once:
        raise UsageError("a snapshot does not change: it cannot be watched", hint="add --once to check it")


def watch_options(settings: Settings, heal: HealOptions, every_s: float, slow_fraction: float) -> "WatchOptions":
    """The options of a watch, from settings and options.

    Raises
    ------
    UsageError
        If it would rebalance what it calls balanced.
    """
    from kafkabal.config import DEFAULT_PLAN_TOLERANCE, TimeWindow
    from kafkabal.watch import LEAST_GAP_S, HealPolicy, HealthRules, WatchOptions

    inner = DEFAULT_PLAN_TOLERANCE if settings.tolerance is None else settings.tolerance
    if heal.heal is HealLevel.ALL and inner >= heal.outer_tolerance:
        raise UsageError(
            f"--rebalance-above {percent_as_option(heal.outer_tolerance)} must exceed "
            f"--tolerance {percent_as_option(inner)}",
            hint="raise --rebalance-above: shares between the two are left alone, so that noise moves no data",
        )
    return WatchOptions(
        every_s=every_s,
        broker_timeout_s=settings.broker_timeout_s or WatchOptions().broker_timeout_s,
        rules=HealthRules(slow_fraction=slow_fraction, longest_gap_s=max(2 * every_s, LEAST_GAP_S)),
        policy=HealPolicy(
            level=heal.heal,
            dead_after_s=heal.dead_after_s,
            move_after_s=heal.move_after_s,
            window=TimeWindow.parse(settings.window) if settings.window else None,
            topics=settings.topics,
            exclude_topics=settings.exclude_topics,
            exclude_brokers=frozenset(settings.exclude_brokers),
            include_internal=settings.include_internal,
            max_bytes_per_day=heal.max_bytes_per_day,
            max_actions_per_day=heal.max_actions_per_day,
            max_dead=heal.max_dead,
            outer_tolerance=heal.outer_tolerance,
            inner_tolerance=inner,
        ),
    )
