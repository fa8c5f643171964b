"""Options of ``kafkabal inspect``: what sets the exit code, and what ``--by rack`` shows."""

from dataclasses import dataclass
from typing import Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.errors import UsageError
from kafkabal.reporting.inspection.grouping import Grouping
from kafkabal.units import parse_percent, parse_positive_duration, percent_as_option

_DEFAULT_THRESHOLDS = (0.10, 0.25)
"""Warning if a rebalance would have work to do (its own tolerance is 9%), critical well above that."""
# monitoring servers kill a plugin after 60 s, and then report only that
_DEFAULT_TIMEOUT_S = 30.0
_SECTION = "Checks"
_RACKS = "Racks"


def _seconds_or_time(text: str) -> float:
    """Read a duration above 0; by their guidelines monitoring servers write ``-t 10``, and mean seconds."""
    return parse_positive_duration(f"{text}s" if text.isascii() and text.isdigit() else text)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """Whether and how findings set the exit code."""

    check: Annotated[
        bool,
        typer.Option("--check", help="Exit 3 if the cluster is imbalanced or broken.", rich_help_panel=_SECTION),
    ] = False
    nagios: Annotated[
        bool,
        typer.Option("--nagios", help="Monitoring plugin: one line of output, exit 0 to 3.", rich_help_panel=_SECTION),
    ] = False
    warning: Annotated[
        float | None,
        typer.Option(
            "-w",
            "--warning",
            metavar="PERCENT",
            parser=parse_percent,
            help="Warning threshold for --nagios. [default: 10%]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    critical: Annotated[
        float | None,
        typer.Option(
            "-c",
            "--critical",
            metavar="PERCENT",
            parser=parse_percent,
            help="Critical threshold for --nagios. [default: 25%]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    timeout_s: Annotated[
        float | None,
        typer.Option(
            "-t",
            "--timeout",
            metavar="TIME",
            parser=_seconds_or_time,
            help="With --nagios: CRITICAL if the check takes longer than TIME; a bare number means seconds. "
            "[default: 30s]",
            rich_help_panel=_SECTION,
        ),
    ] = None

    def check_effect(self, context: CommandContext) -> None:
        """Refuse options of ``--nagios`` without it.

        Raises
        ------
        UsageError
            If one was given.
        """
        if not self.nagios:
            refuse_without("--nagios", ["--warning", "--critical"], context, hint="with --check, set --tolerance")
            limits_brokers = "--broker-timeout limits how long each broker may take"
            refuse_without("--nagios", ["--timeout"], context, hint=limits_brokers)

    def limit_s(self, sample_s: float | None) -> float | None:
        """Timeout of ``--nagios`` in seconds, without the time that sampling takes; None without ``--nagios``."""
        limit = _DEFAULT_TIMEOUT_S if self.timeout_s is None else self.timeout_s
        return limit + (sample_s or 0.0) if self.nagios else None

    def thresholds(self) -> tuple[float, float]:
        """Warning and critical thresholds of ``--nagios``.

        Raises
        ------
        UsageError
            If they are contradictory.
        """
        warning = _DEFAULT_THRESHOLDS[0] if self.warning is None else self.warning
        critical = _DEFAULT_THRESHOLDS[1] if self.critical is None else self.critical
        if warning > critical:
            raise UsageError(
                f"-w {percent_as_option(warning)} is above -c {percent_as_option(critical)}",
                hint="raise -c, or lower -w",
            )
        return warning, critical


@dataclass(frozen=True, slots=True, kw_only=True)
class RackOptions:
    """What ``--by rack`` shows."""

    level: Annotated[
        int | None,
        typer.Option(
            "--rack-level",
            metavar="N",
            min=1,
            help="With --by rack: group by the first N parts of racks such as dc1/row2/r7.",
            rich_help_panel=_RACKS,
        ),
    ] = None
    price_per_gb: Annotated[
        float | None,
        typer.Option(
            "--price-per-gb",
            metavar="PRICE",
            min=0,
            help="With --by rack: price of 10^9 bytes across racks, to show a cost per month.",
            rich_help_panel=_RACKS,
        ),
    ] = None

    def check(self, by: Grouping | None, context: CommandContext) -> None:
        """Check that racks are shown.

        Raises
        ------
        UsageError
            If they are not, and an option has no effect.
        """
        if by is not Grouping.RACK:
            refuse_without("--by rack", ["--rack-level", "--price-per-gb"], context)
        if self.price_per_gb is not None and self.price_per_gb < 0:
            raise UsageError("--price-per-gb must not be negative")
