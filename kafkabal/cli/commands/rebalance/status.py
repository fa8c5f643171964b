"""``kafkabal rebalance status``: show the status of the latest run."""

from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kafkabal.cli.commands.rebalance.run_command_options import JournalOption
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.shared_options import CLUSTER, OUTPUT_SECTION, Format, Forms, OutputOptions, Uses
from kafkabal.cli.framework.show_report import show_report
from kafkabal.config import Settings
from kafkabal.errors import ExitCode, NotAuthorizedError, OperationError, UsageError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.executor import RunStatus

_SAMPLE_S: Final = 2.0
"""Pause between two observations: brokers report sizes as they are, so that this is enough for a rate."""
_LONGEST_SAMPLE_S: Final = 10.0
"""Pause if nothing arrived: at 1 MB/s a throttled follower gets several MB at once, then nothing for some seconds."""
_WATCH_EVERY_S: Final = 5.0
"""As often as a run observes the cluster: more often would show the same figures."""
_GIVE_UP_S: Final = 300.0
"""A run, too, gives up after 5 minutes without a response."""
_WATCHED_TOGETHER: Final = 6
"""Observations in the mean of a rate: half a minute smooths bytes that arrive at once."""


def status(
    context: CommandContext,
    settings: Annotated[Settings, Uses(*CLUSTER)],
    output: Annotated[OutputOptions, Forms("table", "json", "yaml")],
    journal: JournalOption = None,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch", help="Print progress every 5 seconds until the run ends.", rich_help_panel=OUTPUT_SECTION
        ),
    ] = False,
) -> ExitCode:
    """Show the status of the latest run.

    Compares the run with the cluster as it is now, from any host. For an active run it shows progress, rate, time left,
    and the process that works on it. Exits 0 if all partitions are in place and no throttle of the run is left, and 3
    if the run is active or the cluster differs from its target.

    Examples:

      kafkabal rebalance status

      kafkabal rebalance status --watch

      kafkabal rebalance status -o json
    """
    if watch and output.output is not Format.TABLE:
        raise UsageError(f"--watch has no -o {output.output.value}", hint="leave out -o")
    from kafkabal.cli.commands.rebalance.open_run_session import open_run_session

    with open_run_session("rebalance status", settings, context, journal=journal) as command:
        known = _read_status_twice(command, journal)
        if known is None:
            _expect_readable_record(command)
        if watch:
            known = _watch(command, journal, known)
    from kafkabal.reporting.runs.status_report import status_report

    show_report(status_report(known), output, context)
    return ExitCode.DONE if known is None or known.is_as_planned else ExitCode.FINDINGS


def _expect_readable_record(command: "RunSession") -> None:
    """Refuse to report no run while runs of other hosts cannot be seen.

    Raises
    ------
    NotAuthorizedError
        With the missing permission.
    """
    from kafkabal.executor import refused_record

    refused = refused_record(command.cluster)
    if refused is not None:
        raise NotAuthorizedError(f"no run found on this host, others are unknown: {refused.message}", hint=refused.hint)


def _read_status(command: "RunSession", journal: Path | None) -> "RunStatus | None":
    from kafkabal.executor import find_run, run_status

    with command.saying_if_slow():
        found = find_run(command.environment, journal)
        if found is None or not found.state.has_begun:
            return None
        return run_status(command.cluster, found)


def _read_status_twice(command: "RunSession", journal: Path | None) -> "RunStatus | None":
    """Add the rate if a process is working on the run."""
    clock = command.environment.clock
    first, at_s = _read_status(command, journal), clock.monotonic()
    if first is None or not first.is_live:
        return first
    while True:
        clock.sleep(_SAMPLE_S)
        second, elapsed_s = _read_status(command, journal), clock.monotonic() - at_s
        if second is None:
            return None
        if not second.has_stalled_since(first) or elapsed_s >= _LONGEST_SAMPLE_S:
            return second.since(first, elapsed_s)


def _watch(command: "RunSession", journal: Path | None, known: "RunStatus | None") -> "RunStatus | None":
    """Show the progress until no process works on the run any more.

    Raises
    ------
    OperationError
        If the cluster cannot be read for minutes.
    """
    from kafkabal.reporting.runs.status_report import progress_line

    clock = command.environment.clock
    earlier: deque[tuple[RunStatus, float]] = deque(maxlen=_WATCHED_TOGETHER)
    while known is not None and known.is_live:
        command.context.say(progress_line(known))
        earlier.append((known, clock.monotonic()))
        now = _read_status_later(command, journal)
        first, at_s = earlier[0]
        known = now.since(first, clock.monotonic() - at_s) if now is not None else None
    return known


def _read_status_later(command: "RunSession", journal: Path | None) -> "RunStatus | None":
    """The next observation. A run or a lock that cannot be read, as while brokers are restarted, is read again."""
    clock = command.environment.clock
    give_up_at_s = clock.monotonic() + _GIVE_UP_S
    while True:
        clock.sleep(_WATCH_EVERY_S)
        is_last = clock.monotonic() >= give_up_at_s
        try:
            found = _read_status(command, journal)
        except OperationError as error:
            if is_last:
                raise
            unknown = error.message
        else:
            if is_last or found is None or not found.why_holder_unknown:
                return found
            unknown = found.why_holder_unknown
        command.context.say(f"{unknown}; trying again")
