"""Options of commands that make a plan, and what they mean to the planner."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_beside
from kafkabal.cli.framework.repeated_options import each_key_once
from kafkabal.cli.framework.selected_scores import unchecked_scores
from kafkabal.cli.framework.shared_options import LIMITS_SECTION, SCOPE_SECTION
from kafkabal.config import DEFAULT_PLAN_TOLERANCE, Settings
from kafkabal.errors import InputFileError, UsageError
from kafkabal.planner import BrokerLimit, Mode, PlanOptions
from kafkabal.units import parse_broker_ids, parse_bytes, parse_percent, parse_whole_number

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkabal.plan import Plan

_LIMIT_HINT: Final = "write it like 3:4000:2TiB or 3::2TiB"

_OF_COPIES: Final = (
    "--below",
    "--broker-limit",
    "--keep-moved",
    "--max-bytes",
    "--max-cross-rack-bytes",
    "--max-duration",
    "--max-moves",
)
"""They choose and limit what is copied to other brokers."""
_WITHOUT_EFFECT: Final = {
    Mode.REPAIR_ONLY: ("--below",),
    Mode.LEADERS_ONLY: _OF_COPIES,
    Mode.LOG_DIRS_ONLY: (*_OF_COPIES, "--exclude-brokers", "--max-leader-changes"),
}

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanCommandOptions:
    """Planning options that are not settings."""

    drain: Annotated[
        frozenset[int] | None,
        typer.Option(
            "--drain",
            metavar="ID[,...]",
            parser=parse_broker_ids,
            help="Move all replicas and leaders off these brokers.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = None
    repair_only: Annotated[
        bool,
        typer.Option(
            "--repair-only", help="Repair only: dead brokers, offline log dirs, racks.", rich_help_panel=SCOPE_SECTION
        ),
    ] = False
    leaders_only: Annotated[
        bool, typer.Option("--leaders-only", help="Only change leaders; move no data.", rich_help_panel=SCOPE_SECTION)
    ] = False
    log_dirs_only: Annotated[
        bool,
        typer.Option(
            "--log-dirs-only", help="Only move data between log dirs of the same broker.", rich_help_panel=SCOPE_SECTION
        ),
    ] = False
    only_to_new: Annotated[
        bool,
        typer.Option("--only-to-new", help="Copy data only to brokers without data.", rich_help_panel=SCOPE_SECTION),
    ] = False
    below: Annotated[
        float | None,
        typer.Option(
            "--below",
            metavar="PERCENT",
            parser=parse_percent,
            help="Only move data off brokers above this disk usage.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = None
    max_cross_rack_bytes: Annotated[
        int | None,
        typer.Option(
            "--max-cross-rack-bytes",
            metavar="SIZE",
            parser=parse_bytes,
            help="Maximum bytes to copy from a leader in another rack.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = None
    broker_limits: Annotated[
        list[str] | None,
        typer.Option(
            "--broker-limit",
            metavar="ID:REPLICAS[:SIZE]",
            help="Maximum replicas and bytes of a broker. Repeatable.",
            rich_help_panel=LIMITS_SECTION,
        ),
    ] = None
    keep_moved: Annotated[
        list[Path] | None,
        typer.Option(
            "--keep-moved",
            metavar="PLAN",
            help="Keep replicas where an earlier plan moved them: a plan file or a folder of plans. Repeatable.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = None
    replication_factor: Annotated[
        int | None,
        typer.Option(
            "--replication-factor",
            metavar="N",
            min=1,
            help="Change the replication factor.",
            rich_help_panel=SCOPE_SECTION,
        ),
    ] = None

    def chosen_mode(self) -> Mode:
        """The planning mode chosen by a flag.

        Raises
        ------
        UsageError
            If several modes are chosen.
        """
        modes = {
            Mode.REPAIR_ONLY: self.repair_only,
            Mode.LEADERS_ONLY: self.leaders_only,
            Mode.LOG_DIRS_ONLY: self.log_dirs_only,
            Mode.ONLY_TO_NEW: self.only_to_new,
        }
        chosen = [mode for mode, given in modes.items() if given]
        if len(chosen) > 1:
            raise UsageError(f"--{chosen[0]} and --{chosen[1]} cannot be combined")
        return chosen[0] if chosen else Mode.FULL

    def check(self, context: CommandContext) -> None:
        """Check that every option has an effect in the chosen mode.

        Raises
        ------
        UsageError
            If one has none, or several modes are chosen.
        """
        mode = self.chosen_mode()
        refuse_beside(f"--{mode}", _WITHOUT_EFFECT.get(mode, ()), context)
        if self.below is not None:
            # it sets the band itself, and goes by disks only
            refuse_beside("--below", ("--tolerance", "--count-capacity"), context)


def parse_broker_limits(texts: "Iterable[str]") -> dict[int, BrokerLimit]:
    """Read limits such as ``3:4000`` (replicas), ``3:4000:2TiB`` and ``3::2TiB``.

    Raises
    ------
    UsageError
        If a limit is malformed, or a broker has two.
    """
    return each_key_once("--broker-limit", map(_broker_limit, texts))


def _broker_limit(text: str) -> tuple[int, BrokerLimit]:
    broker, replicas, size, *rest = [*text.split(":"), "", ""]
    if not broker or not (replicas or size) or any(rest):
        raise UsageError(f"--broker-limit: invalid limit: {text!r}", hint=_LIMIT_HINT)
    try:
        return parse_whole_number(broker, 0, 2**31 - 1), BrokerLimit(
            replicas=parse_whole_number(replicas) if replicas else None, bytes=parse_bytes(size) if size else None
        )
    except UsageError as error:
        raise UsageError(f"--broker-limit: invalid limit: {text!r}: {error.message}", hint=_LIMIT_HINT) from None


def earlier_plans(paths: "Iterable[Path]") -> "tuple[Plan, ...]":
    """Read plan files and all plans of a folder, each once, sorted by id.

    Raises
    ------
    InputFileError
        If a file cannot be read or is not a plan, or a folder holds other files only.
    """
    from kafkabal.input_files import exists
    from kafkabal.plan import read_plan

    files = [file for path in paths for file in (_plans_in(path) if exists(path) and path.is_dir() else [path])]
    plans = {plan.plan_id: plan for plan in map(read_plan, files)}
    return tuple(plans[plan_id] for plan_id in sorted(plans))


def _plans_in(folder: Path) -> "list[Path]":
    """Its plans; none on the first day of a cron job that writes them there."""
    found = sorted(folder.glob("*.json"))
    if not found and any(folder.iterdir()):
        raise InputFileError(
            folder, "no plan (*.json) in this folder, but other files", hint="name the folder of plans"
        )
    return found


def plan_options(settings: Settings, command_options: PlanCommandOptions) -> PlanOptions:
    """The options of the planner that settings and options ask for.

    To be called before the cluster is contacted: a mistake is then reported at once, even if another command holds the
    lock.

    Raises
    ------
    UsageError
        If an option is invalid, or a plan to keep cannot be read.
    """
    return PlanOptions(
        tolerance=DEFAULT_PLAN_TOLERANCE if settings.tolerance is None else settings.tolerance,
        scores=unchecked_scores(settings, default=_default_scores(settings, command_options)),
        mode=command_options.chosen_mode(),
        below=command_options.below,
        broker_limits=parse_broker_limits(command_options.broker_limits or ()),
        replication_factor=command_options.replication_factor,
        keep_moved=earlier_plans(command_options.keep_moved or ()),
        drain=command_options.drain or frozenset(),
        exclude_brokers=frozenset(settings.exclude_brokers),
        topics=settings.topics,
        exclude_topics=settings.exclude_topics,
        include_internal=settings.include_internal,
        max_bytes=settings.max_bytes,
        max_cross_rack_bytes=command_options.max_cross_rack_bytes,
        max_moves=settings.max_moves,
        max_leader_changes=settings.max_leader_changes,
        max_duration_s=settings.max_duration_s,
        throttle_bytes_per_s=_rate_to_plan_with(settings),
    )


def without_brokers(options: PlanOptions, gone: frozenset[int]) -> PlanOptions:
    """The options without the brokers to drain or to exclude that are no longer in the cluster."""
    return replace(options, drain=options.drain - gone, exclude_brokers=options.exclude_brokers - gone)


def _default_scores(settings: Settings, command_options: PlanCommandOptions) -> tuple[str, ...]:
    """The scores to load if none is named; empty to leave them to the planner, which loads them once it is needed."""
    # --below considers disks only, so count capacity has no effect
    if settings.count_capacity != "disk" or command_options.below is not None:
        return ()
    from kafkabal.scoring import DEFAULT_SCORES

    return DEFAULT_SCORES


def _rate_to_plan_with(settings: Settings) -> int | None:
    """The throttle if it affects the plan, which it does only with --max-duration."""
    if settings.max_duration_s is None or not isinstance(settings.throttle, int):
        return None
    return settings.throttle
