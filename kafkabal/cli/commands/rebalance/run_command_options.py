"""Options shared by the commands of ``rebalance``."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from kafkabal.atomic_files import check_replaceable
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_beside, refuse_without
from kafkabal.cli.framework.shared_options import (
    CLUSTER,
    EXECUTION_SECTION,
    LIVE_CLUSTER,
    OUTPUT_SECTION,
    NotifyOption,
    TextfileOption,
    YesOption,
)
from kafkabal.executor import OnInterrupt, Overridable
from kafkabal.units import parse_positive_duration

RUN_CLUSTER: Final = (*CLUSTER, "bootstrap_controllers")
"""Settings of the cluster, for commands that change its configs."""

LIVE_RUN_CLUSTER: Final = (*LIVE_CLUSTER, "bootstrap_controllers")
"""The same, for commands about what snapshots do not contain: throttles, and reassignments in progress."""

RUN_SETTINGS: Final = ("throttle", "log_dir_throttle", "window")
"""Settings that shape how data moves."""

REOPENED_RUN_SETTINGS: Final = ("throttle_of_run", "log_dir_throttle", "window")
"""The same, for commands that continue or undo a run."""

ADOPTED_RUN_SETTINGS: Final = ("throttle_to_add", "log_dir_throttle", "window")
"""The same, for reassignments of another tool."""

HOW_TO_CONTINUE: Final = "continue with 'kafkabal rebalance resume'"
HOW_TO_RESTORE: Final = "restore them with 'kafkabal rebalance repair' once the brokers respond and permit it"
"""What to do about throttles that a run could not restore."""
AFTER_CANCEL: Final = (
    "make a new plan with 'kafkabal rebalance', or move back what was moved with 'kafkabal rebalance rollback'"
)
"""What to do after a run that was cancelled."""

OF_RUNS: Final = (
    "--log-dir-throttle",
    "--window",
    "--override-throttle",
    "--on-interrupt",
    "--max-runtime",
    "--moves-per-broker",
    "--one-replica-at-a-time",
)
"""The options of :data:`RUN_SETTINGS` and :class:`RunCommandOptions` other than ``--throttle``."""

_ONLY_OF_REAL_RUNS: Final = (
    "--window",
    "--on-interrupt",
    "--max-runtime",
    "--on-unfinished",
    "--rollback-file",
    "--save",
    "--textfile",
    "--notify",
)
"""What a dry run neither obeys nor writes. ``--yes`` passes: a dry run prompts for nothing either."""


class RunFormat(StrEnum):
    """Output format of a run on stdout."""

    TABLE = "table"
    JSON = "json"
    """One document at the end."""
    JSONL = "jsonl"
    """One line per event, as it happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """Where a run is reported."""

    output: Annotated[
        RunFormat, typer.Option("-o", "--output", help="Output format.", rich_help_panel=OUTPUT_SECTION)
    ] = RunFormat.TABLE
    textfile: TextfileOption = None
    notify: NotifyOption = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCommandOptions:
    """Options for moving data that are not settings."""

    max_runtime_s: Annotated[
        float | None,
        typer.Option(
            "--max-runtime",
            metavar="TIME",
            parser=parse_positive_duration,
            help="Stop gracefully after TIME.",
            rich_help_panel=EXECUTION_SECTION,
        ),
    ] = None
    override_throttle: Annotated[
        bool,
        typer.Option(
            "--override-throttle", help="Replace existing lower throttles.", rich_help_panel=EXECUTION_SECTION
        ),
    ] = False
    on_interrupt: Annotated[
        OnInterrupt,
        typer.Option(
            "--on-interrupt",
            help="Moves in flight on Ctrl-C or SIGTERM: cancel, finish, or leave them with their throttle (detach).",
            rich_help_panel=EXECUTION_SECTION,
        ),
    ] = OnInterrupt.CANCEL
    moves_per_broker: Annotated[
        int,
        typer.Option(
            "--moves-per-broker",
            metavar="N",
            min=1,
            help="Maximum concurrent moves per broker, in and out.",
            rich_help_panel=EXECUTION_SECTION,
        ),
    ] = 10
    one_replica_at_a_time: Annotated[
        bool,
        typer.Option(
            "--one-replica-at-a-time", help="Replace replicas one at a time.", rich_help_panel=EXECUTION_SECTION
        ),
    ] = False


def check_reopening(context: CommandContext) -> None:
    """Check the options of a command that reopens a run: without ``--throttle``, the run keeps all of its own.

    Raises
    ------
    UsageError
        If another option of runs is given without it.
    """
    if "--throttle" not in context.given:
        refuse_without("--throttle", OF_RUNS, context, hint="without it, the run keeps its own options")


class OnUnfinished(StrEnum):
    """How to handle an unfinished earlier run of this host."""

    RESUME = "resume"
    """With --yes, resume it first; then make a new plan for what is still imbalanced."""
    REFUSE = "refuse"
    """Refuse to start (exit 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartCommandOptions:
    """Whether and how to start a run."""

    yes: YesOption = False
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the requests that would be sent; change nothing.")
    ] = False
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit 3 if there is something to do.")
    ] = False
    allow: Annotated[
        list[Overridable] | None,
        typer.Option(
            "--allow",
            metavar="CHECK",
            help=f"Preflight check to override. Repeatable. One of: {', '.join(Overridable)}.",
            rich_help_panel=EXECUTION_SECTION,
        ),
    ] = None
    force: Annotated[
        bool,
        typer.Option(
            "--force", help="Override every preflight check that can be overridden.", rich_help_panel=EXECUTION_SECTION
        ),
    ] = False
    on_unfinished: Annotated[
        OnUnfinished,
        typer.Option(
            "--on-unfinished",
            help="With --yes: how to handle a crashed earlier run of this host.",
            rich_help_panel=EXECUTION_SECTION,
        ),
    ] = OnUnfinished.RESUME
    rollback_file: Annotated[
        Path | None,
        typer.Option(
            "--rollback-file",
            metavar="FILE",
            parser=check_replaceable,
            help="Also write the rollback plan to FILE.",
        ),
    ] = None

    def check(self, context: CommandContext) -> None:
        """Check that every option has an effect.

        Raises
        ------
        UsageError
            If one requires ``--yes`` or ``--dry-run``, and it is not given, or has no effect in a dry run.
        """
        if self.dry_run:
            refuse_beside("--dry-run", _ONLY_OF_REAL_RUNS, context)
        if not self.yes:
            refuse_without("--yes", ["--on-unfinished"], context)
        if not self.dry_run:
            refuse_without("--dry-run", ["--exit-code"], context)

    @property
    def allowed(self) -> frozenset[Overridable]:
        """Checks that do not stop the run."""
        return frozenset(Overridable) if self.force else frozenset(self.allow or ())


JournalOption = Annotated[
    Path | None,
    typer.Option("--journal", metavar="FILE", help="Journal of the run, if not the latest one of this host."),
]

AnswerOption = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        parser=parse_positive_duration,
        help="How long to wait for the run to follow the request. [default: 1m]",
    ),
]

WaitOption = Annotated[
    float | None,
    typer.Option(
        "--wait",
        metavar="TIME",
        parser=parse_positive_duration,
        help="How long to wait while another kafkabal works on the cluster. [default: exit 75 at once]",
        rich_help_panel=EXECUTION_SECTION,
    ),
]
