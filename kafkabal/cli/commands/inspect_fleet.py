"""``kafkabal inspect`` over several clusters: read at the same time, shown together."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkabal.cli.commands.inspect_history import (
    DEFAULT_OVER_S,
    has_history,
    measured_growth,
    read_at_s,
    record,
    soonest_full,
)
from kafkabal.cli.commands.inspect_sampling import read_plainly, reading_with_rates
from kafkabal.cli.framework.chosen_clusters import ChosenClusters, run_on_each
from kafkabal.cli.framework.cluster_access import note_brokers
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.cli.framework.selected_scores import inspection_of
from kafkabal.cli.framework.shared_options import Format, OutputOptions
from kafkabal.cli.framework.show_report import show_report
from kafkabal.errors import ExitCode, KafkabalError, NotAuthorizedError
from kafkabal.wording import counted_noun

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkabal.clusters import Cluster, Reading
    from kafkabal.config import Settings
    from kafkabal.inspection import Member
    from kafkabal.reporting.inspection.grouping import Grouping

DEFAULT_CLUSTER_TIMEOUT_S: Final = 60.0
"""Twice the timeout of a request: one retry; a cluster that takes longer must not hold back the table of the
others."""
# the time reserved in a monitoring plugin to report which cluster did not respond
_SAYING_S: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions:
    """What to show of several clusters."""

    by: Grouping | None
    shown_rows: int | None
    topics: tuple[str, ...]
    """Patterns; empty for no view by data set."""
    sample_s: float | None
    record: bool
    """Keep each cluster in its history."""
    limit_s: float
    """How long each cluster may take."""

    @property
    def needs_details(self) -> bool:
        """Whether offsets and configs have to be read of every cluster."""
        return bool(self.topics) or self.record


def cluster_limit_s(given_s: float | None, sample_s: float | None, nagios_s: float | None) -> float:
    """Timeout of each cluster, sampling included; a monitoring plugin must respond before its own timeout."""
    limit_s = (DEFAULT_CLUSTER_TIMEOUT_S if given_s is None else given_s) + (sample_s or 0.0)
    return limit_s if nagios_s is None else max(min(limit_s, nagios_s - _SAYING_S), nagios_s / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetReader:
    """Reads and inspects the clusters of several profiles, each in a thread that prints nothing."""

    chosen: ChosenClusters
    context: CommandContext
    options: FleetOptions
    problems: list[str] = field(default_factory=list, init=False)
    """Why clusters were not recorded."""
    _warnings: list[str] = field(default_factory=list, init=False)
    _without_growth: set[str] = field(default_factory=set, init=False)
    """Ids of clusters whose offsets may not be read."""

    def members(self) -> tuple[Member, ...]:
        """All clusters, worst first, with the reason for each that did not respond or could not be judged."""
        from kafkabal.inspection import Member, worst_members_first

        found = run_on_each(self.chosen.profiles, self._one, self.options.limit_s)
        members = []
        for name, outcome in found.items():
            if isinstance(outcome, KafkabalError):
                members.append(Member(name=name, problem=outcome.message))
                continue
            reading, member, is_live = outcome
            for warning in reading.warnings:
                self.context.warn(f"{name}: {warning}")
            if is_live:
                note_brokers(reading.state, self.context)
            members.append(member)
        for text in sorted(self._warnings):
            self.context.warn(text)
        return worst_members_first(members)

    def _one(self, name: str) -> tuple[Reading, Member, bool]:
        from kafkabal.clusters import connect
        from kafkabal.config import cluster_address

        quiet = replace(self.context, quiet=True)
        settings = self.chosen.settings_of(name, quiet)
        with connect(cluster_address(settings)) as cluster:
            reading = self._read(cluster, settings)
            return reading, self._inspect(name, reading, cluster, settings), settings.snapshot is None

    def _read(self, cluster: Cluster, settings: Settings) -> Reading:
        plainly = partial(read_plainly, cluster, settings)
        sample_s = self.options.sample_s if settings.snapshot is None else None
        sampled = partial(reading_with_rates, plainly, cluster, replace(self.context, quiet=True), sample_s=sample_s)
        cluster_id = cluster.cluster_id()
        detailed = self.options.needs_details or has_history(cluster_id, self.context)
        try:
            return sampled(detailed=detailed)
        except NotAuthorizedError:
            if self.options.needs_details or not detailed:
                raise
            # 'watch' records without these permissions, and may have done so on this host
            self._without_growth.add(cluster_id)
            return sampled(detailed=False)

    def _inspect(self, name: str, reading: Reading, cluster: Cluster, settings: Settings) -> Member:
        from kafkabal.inspection import member_of

        state = reading.state
        now_s = read_at_s(state, self.context)
        has_offsets = self.options.needs_details or has_history(state.cluster_id, self.context)
        is_measured = has_offsets and state.cluster_id not in self._without_growth
        own = replace(self.context, quiet=True, held=deque())
        growth = measured_growth(cluster, state, DEFAULT_OVER_S, now_s, own) if is_measured else None
        if self.options.record and (problem := record(state, now_s, own)):
            self.problems.append(f"{name}: {problem}")
        self._warnings.extend(f"{name}: {text}" for text in own.held)
        full_s = None if growth is None else soonest_full(growth)
        return member_of(name, inspection_of(settings, state), now_s, full_s)


def show_fleet(
    members: Sequence[Member], options: FleetOptions, output: OutputOptions, context: CommandContext
) -> None:
    """Show one row per cluster and the rows of all of them, or where data sets are stored."""
    from kafkabal.inspection import data_set_copies
    from kafkabal.reporting.inspection.data_set_report import data_set_report
    from kafkabal.reporting.inspection.fleet_report import fleet_report
    from kafkabal.reporting.inspection.grouping import Grouping

    if options.topics:
        states = {m.name: m.inspection.state for m in members if m.inspection is not None}
        unresponsive = [m.name for m in members if m.inspection is None]
        copies = data_set_copies(states, options.topics, unresponsive)
        show_report(data_set_report(copies, options.topics, members, shown_rows=options.shown_rows), output, context)
        return
    # monitoring expects the same series per broker as from one cluster
    by = Grouping.BROKER if options.by is None and output.output is Format.PROMETHEUS else options.by
    rows_first = output.output in (Format.CSV, Format.JSONL)
    report = fleet_report(members, by, shown_rows=options.shown_rows, rows_first=rows_first)
    show_report(report, output, context)


def fleet_exit_code(members: Sequence[Member], *, check: bool) -> ExitCode:
    """The exit code of the worst cluster: 1 if one did not respond; with ``check``, 3 if one has findings."""
    from kafkabal.inspection import has_findings

    if any(member.inspection is None for member in members):
        return ExitCode.FAILED
    inspections = [member.inspection for member in members if member.inspection is not None]
    is_bad = check and any(has_findings(inspection, inspection.tolerance) for inspection in inspections)
    return ExitCode.FINDINGS if is_bad else ExitCode.DONE


def fleet_nagios(members: Sequence[Member], thresholds: tuple[float, float], context: CommandContext) -> int:
    """One line over all clusters, and the status of the worst; one that did not respond is critical."""
    from kafkabal.cli.framework.nagios_output import (
        NagiosStatus,
        nagios_status_of,
        performance_data,
        status_line,
        verdict_of,
    )
    from kafkabal.inspection import full_log_dirs

    words, figures, worst = [], [], NagiosStatus.OK
    for member in members:
        if member.inspection is None:
            status, text, is_full = NagiosStatus.CRITICAL, member.problem, False
        else:
            status, text = nagios_status_of(member.inspection, thresholds), verdict_of(member.inspection)
            is_full = bool(full_log_dirs(member.inspection.state))
            figures.append(performance_data(member.inspection, *thresholds, prefix=f"{member.name} "))
        worst = max(worst, status)
        if status is not NagiosStatus.OK or is_full:
            words.append(f"{member.name}: {text.removesuffix('.')}")
    summary = "; ".join(words) or f"{counted_noun(len(members), 'cluster')} balanced"
    context.stdout.write(status_line(worst, summary, " ".join(figures)) + "\n")
    return worst
