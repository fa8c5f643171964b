"""Options that the commands of ``rebalance`` share."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from kafkabal.cli.framework.shared_options import CLUSTER, OUTPUT_SECTION, SAFETY_SECTION
from kafkabal.executor.run_options import OnInterrupt
from kafkabal.files import check_replaceable
from kafkabal.units import parse_some_time

RUN_CLUSTER: Final = (*CLUSTER, "bootstrap_controllers")
"""Settings of the cluster, for commands that change its configs."""

RUN_SETTINGS: Final = ("throttle", "log_dir_throttle", "window")
"""Settings that shape how data moves."""


class RunFormat(StrEnum):
    """How a run is told on stdout."""

    TABLE = "table"
    JSON = "json"
    """One document at the end."""
    JSONL = "jsonl"
    """One line an event, as it happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutput:
    """Where a run is told."""

    output: Annotated[
        RunFormat, typer.Option("-o", "--output", help="Form of the result.", rich_help_panel=OUTPUT_SECTION)
    ] = RunFormat.TABLE
    textfile: Annotated[
        Path | None,
        typer.Option(
            "--textfile",
            metavar="FILE",
            parser=check_replaceable,
            help="Keep a Prometheus textfile current meanwhile.",
            rich_help_panel=OUTPUT_SECTION,
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFlags:
    """How data moves, beside the settings."""

    override_throttle: Annotated[
        bool,
        typer.Option(
            "--override-throttle", help="Replace lower throttles that are set already.", rich_help_panel=SAFETY_SECTION
        ),
    ] = False
    on_interrupt: Annotated[
        OnInterrupt,
        typer.Option(
            "--on-interrupt", help="What becomes of moves in flight on Ctrl-C.", rich_help_panel=SAFETY_SECTION
        ),
    ] = OnInterrupt.CANCEL
    max_runtime_s: Annotated[
        float | None,
        typer.Option(
            "--max-runtime",
            metavar="TIME",
            parser=parse_some_time,
            help="Stop in good order after so long.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = None
    moves_per_broker: Annotated[
        int,
        typer.Option(
            "--moves-per-broker",
            metavar="N",
            min=1,
            help="Most copies in flight from, and to, each broker.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = 10
    one_replica_at_a_time: Annotated[
        bool,
        typer.Option("--one-replica-at-a-time", help="Exchange replicas one by one.", rich_help_panel=SAFETY_SECTION),
    ] = False


class OnUnfinished(StrEnum):
    """What becomes of an earlier run of this host that was not ended."""

    RESUME = "resume"
    """With --yes it is resumed first; what is still uneven then is planned anew."""
    REFUSE = "refuse"
    """Nothing is done (exit 4)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BeginFlags:
    """Whether, and how, a run is begun."""

    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked of the brokers.")] = False
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: exit 3 where something is to be done.")
    ] = False
    force: Annotated[
        bool,
        typer.Option("--force", help="Begin although a check says no, where it may.", rich_help_panel=SAFETY_SECTION),
    ] = False
    on_unfinished: Annotated[
        OnUnfinished,
        typer.Option(
            "--on-unfinished",
            help="With --yes: what becomes of an earlier run of this host that crashed.",
            rich_help_panel=SAFETY_SECTION,
        ),
    ] = OnUnfinished.RESUME
    rollback_file: Annotated[
        Path | None,
        typer.Option(
            "--rollback-file",
            metavar="FILE",
            parser=check_replaceable,
            help="Write the way back there as well as to the journal.",
        ),
    ] = None


JournalOption = Annotated[
    Path | None, typer.Option("--journal", metavar="FILE", help="Journal of the run, such as a copy.")
]
