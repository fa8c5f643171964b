"""``kafkabal inspect --record`` and ``--growth``: history of a cluster on this host, and the forecast from it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.options_without_effect import refuse_without
from kafkabal.errors import ExitCode, OperationError, OutputError, UsageError
from kafkabal.reporting.inspection.grouping import GROWTH_GROUPINGS, Grouping
from kafkabal.units import format_duration, parse_positive_duration
from kafkabal.wording import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkabal.clusters import Cluster
    from kafkabal.history import Forecast, MeasuredGrowth
    from kafkabal.model import ClusterState

DEFAULT_OVER_S = 7 * 86400.0
"""A week: training and retention follow days of the week, and less history would take a weekend for the trend."""
_SHORTEST_S = 300.0
"""Half the interval at which ``watch`` records. Over seconds, one batch of a producer looks like a day's load."""
_CLOCK_SKEW_S = 60.0
"""Clocks of hosts that share a state folder differ by less, and a reading is recorded within it."""
_LAST_YEAR = 9900
"""Python knows no dates after the year 9999, and forecasts reach decades ahead of a snapshot."""
_SECTION = "History"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions:
    """What to do with the history of a cluster."""

    record: Annotated[
        bool,
        typer.Option("--record", help="Record bytes and offsets in the state folder.", rich_help_panel=_SECTION),
    ] = False
    growth: Annotated[
        bool,
        typer.Option(
            "--growth",
            help="Show growth and when disks will be full, --by broker, log-dir or topic; needs --record before.",
            rich_help_panel=_SECTION,
        ),
    ] = False
    over_s: Annotated[
        float | None,
        typer.Option(
            "--over",
            metavar="TIME",
            parser=parse_positive_duration,
            help="With --growth: how far to look back. [default: 7d]",
            rich_help_panel=_SECTION,
        ),
    ] = None
    full_within_s: Annotated[
        float | None,
        typer.Option(
            "--full-within",
            metavar="TIME",
            parser=parse_positive_duration,
            help="With --growth: exit 3 if a disk will be full within TIME.",
            rich_help_panel=_SECTION,
        ),
    ] = None

    def check(self, by: Grouping | None, context: CommandContext, *, nagios: bool) -> None:
        """Check that the options can be combined.

        Raises
        ------
        UsageError
            If one has no effect, or growth is not measured by that grouping.
        """
        if not self.growth:
            refuse_without("--growth", ["--over", "--full-within"], context)
        if self.over_s is not None and self.over_s < _SHORTEST_S:
            raise UsageError(
                f"--over: too short: {format_duration(self.over_s)}",
                hint=f"growth needs a history of at least {format_duration(_SHORTEST_S)}",
            )
        if self.growth and nagios:
            raise UsageError("--growth and --nagios cannot be combined", hint="--full-within TIME sets the exit code")
        if self.growth and by is not None and by not in GROWTH_GROUPINGS:
            hint = f"choose from: {', '.join(GROWTH_GROUPINGS)}"
            raise UsageError(f"--growth cannot be combined with --by {by}", hint=hint)

    @property
    def is_needed(self) -> bool:
        """Whether offsets and configs have to be read."""
        return self.record or self.growth


def seconds_of(taken_at: str) -> float:
    """Seconds since the epoch; 0 for a time before it, or one in a far future."""
    from datetime import UTC, datetime

    time = datetime.fromisoformat(taken_at)
    if time.year > _LAST_YEAR:
        return 0.0
    return max(0.0, (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp())


def read_at_s(state: "ClusterState", context: CommandContext) -> float:
    """When a state was read, in seconds since the epoch: the time in the state if it has one."""
    return seconds_of(state.taken_at) or context.wall_clock()


def measured_growth(
    cluster: "Cluster", state: "ClusterState", over_s: float, now_s: float, context: CommandContext
) -> "MeasuredGrowth | None":
    """Growth of a cluster over the last ``over_s`` seconds of its history; None if too little was recorded then."""
    from kafkabal.history import (
        HistoryFolder,
        MeasuredGrowth,
        chosen_times,
        measure_growth,
        of_one_clock,
        read_defaults,
        retention_of,
    )

    folder = HistoryFolder(context.state_dir, state.cluster_id, context.warn)
    points = of_one_clock(folder.read(chosen_times(folder.times_s(), now_s, over_s)), state)
    if not points or now_s - points[0].at_s < _SHORTEST_S:
        return None
    live = state.brokers.id[state.brokers.is_live].tolist()
    defaults = read_defaults(cluster, tuple(live))
    retention = retention_of(state, defaults)
    return MeasuredGrowth(
        state=state,
        partitions=measure_growth(points, state, now_s, retention.is_compacted),
        retention=retention,
        past=tuple(points),
        now_s=now_s,
        is_default_read=defaults.is_read,
    )


def has_history(cluster_id: str, context: CommandContext) -> bool:
    """Whether a cluster has a history."""
    from kafkabal.history import HistoryFolder

    return bool(HistoryFolder(context.state_dir, cluster_id).times_s())


def soonest_full(growth: "MeasuredGrowth") -> float | None:
    """Seconds until the first disk of the cluster is full; infinite for never, None if no size is known."""
    from kafkabal.history import soonest_full_s

    return soonest_full_s(growth.state, growth.partitions, growth.retention)


def no_history(state: "ClusterState", over_s: float, now_s: float, context: CommandContext) -> OperationError:
    """The error for a cluster without enough history in a period: none at all, only older, or only just begun."""
    from kafkabal.clusters.unknown_cluster_id import is_cluster_known
    from kafkabal.history import UNKNOWN_CLUSTER, HistoryFolder

    if not is_cluster_known(state.cluster_id):
        return OperationError(UNKNOWN_CLUSTER)
    folder = HistoryFolder(context.state_dir, state.cluster_id)
    times = folder.times_s()
    again = "run 'kafkabal inspect --record' regularly, for example from cron every hour"
    if not times:  # recorded by another user or on another host, it is in another folder
        return OperationError(f"no history of this cluster in {folder.path}", hint=again)
    what = f"no history of this cluster in the last {format_duration(over_s)}"
    before = [t for t in times if t < now_s - over_s]
    inside = [t for t in times if now_s - over_s <= t < now_s]
    if inside and (reached_s := now_s - inside[0]) < _SHORTEST_S:
        return OperationError(
            f"the history of this cluster reaches back {format_duration(reached_s)}: "
            f"growth needs at least {format_duration(_SHORTEST_S)}",
            hint="try again later: the longer the history, the better the forecast",
        )
    if inside:  # those inside cannot be read, as a warning has said
        return OperationError(what, hint=again)
    if before:
        return OperationError(f"{what}: the last was recorded {format_duration(now_s - before[-1])} ago", hint=again)
    if (ahead_s := times[-1] - now_s) > _CLOCK_SKEW_S:
        return OperationError(
            f"{what}: the last record is dated {format_duration(ahead_s)} ahead of this reading",
            hint="check the clock of this host, which may have been set back since, or the age of the snapshot",
        )
    return OperationError(
        "the history of this cluster begins now: nothing was recorded before this reading",
        hint="try again later: growth is what is written between a record and now",
    )


def warn_of_short_history(growth: "MeasuredGrowth", after_s: float, context: CommandContext) -> None:
    """Warn if a forecast reaches much farther ahead than history reaches back."""
    if growth.is_too_short_for(after_s):
        measured = format_duration(growth.partitions.over_s)
        context.warn(
            f"a history of {measured} is too short for a forecast of {format_duration(after_s)}: "
            f"record for {format_duration(growth.history_needed_s(after_s))} or longer ('kafkabal inspect --record')"
        )


def disks_full_before(forecast: "Forecast", after_s: float) -> tuple[str, ...]:
    """One line that names the log dirs which will be full before the time that a plan is for, the first ones first."""
    full_s, dirs, ids = forecast.full_after_s(), forecast.state.log_dirs, forecast.state.brokers.id
    rows = sorted((float(full_s[d]), d) for d in range(len(dirs)) if full_s[d] < after_s)
    if not rows:
        return ()
    named = [
        f"log dir {dirs.path[d]} of broker {ids[dirs.broker[d]]} {f'in {format_duration(in_s)}' if in_s else 'now'}"
        for in_s, d in rows
    ]
    return (f"forecast to be full within {format_duration(after_s)} if nothing moves: {first_of(named)}",)


def record(state: "ClusterState", now_s: float, context: CommandContext) -> str:
    """Record a cluster in its history; returns the reason for a failure, or an empty text.

    Raises nothing: a full disk on this host must not hide what was read of the cluster.
    """
    from kafkabal.history import HistoryFolder, point_of

    try:
        path = HistoryFolder(context.state_dir, state.cluster_id, context.warn).record(point_of(state, now_s))
    except OutputError as error:
        return error.message
    context.detail(f"recorded {path}")
    return ""


def not_recorded(problems: "Iterable[str]") -> OutputError:
    """The error for clusters that were shown but could not be recorded."""
    return OutputError(f"history not recorded: {first_of(sorted(problems))}")


def growth_exit_code(growth: "MeasuredGrowth", full_within_s: float | None) -> ExitCode:
    """3 if a disk will be full within ``full_within_s`` seconds."""
    soonest_s = soonest_full(growth)
    is_near = full_within_s is not None and soonest_s is not None and soonest_s < full_within_s
    return ExitCode.FINDINGS if is_near else ExitCode.DONE
