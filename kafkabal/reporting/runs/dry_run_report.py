"""A dry run as a report: what would move, and every request that would be sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kafkabal.plan import Plan
from kafkabal.reporting.plan_moves import FIRST_MOVES
from kafkabal.reporting.plan_report import plan_report
from kafkabal.reporting.report import Column, Fact, Report, Table, ValueKind
from kafkabal.reporting.runs.result_report import problems_table
from kafkabal.wording import first_of

_SHOWN_ITEMS = 10
"""Of a list of throttled replicas, which has thousands for a large topic; no partition has so many replicas."""


@dataclass(frozen=True, slots=True)
class DryRunRequest:
    """One change that a run would ask of the brokers."""

    at_s: float
    """When it would be sent, since the start of the run."""
    api: str
    """Kafka's name of the request: ``AlterPartitionReassignments``."""
    resource: str
    """What it would change: ``images-3``, ``images-3 on broker 2``, ``broker 2``."""
    value: str | None
    """What it would be changed to; None for an election of the preferred leader."""

    def line(self, *, shortened: bool) -> str:
        """The change in words; ``shortened``: of a list of throttled replicas only the first few."""
        value = self.value
        if value is not None and shortened:
            value = first_of(value.split(","), _SHOWN_ITEMS, separator=",")
        goal = "" if value is None else f": {value}"
        return f"{self.at_s:8.0f} s  {self.api} {self.resource}{goal}"


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a run would do."""

    requests: Sequence[DryRunRequest] = ()
    elapsed_s: float = 0.0
    """Duration on the simulated clock."""
    problems: Mapping[str, str] = field(default_factory=dict)
    """Partition to reason, for those that would not reach their planned placement."""


def request_lines(dry_run: DryRun, *, all_rows: bool) -> Iterator[str]:
    """The changes as lines: the first few, as of a table, unless all are asked for."""
    shown = dry_run.requests if all_rows else dry_run.requests[:FIRST_MOVES]
    yield from (request.line(shortened=not all_rows) for request in shown)
    if len(shown) < len(dry_run.requests):
        yield f"and {len(dry_run.requests) - len(shown):,} more, listed by -o json"


def dry_run_report(plan: Plan, dry_run: DryRun) -> Report:
    """The plan's report, with the requests, their duration and the partitions that would not arrive."""
    planned = plan_report(plan, "rebalance --dry-run", shown_moves=None)
    elapsed = Fact(key="elapsed_s", value=dry_run.elapsed_s, kind=ValueKind.DURATION)
    return replace(
        planned,
        facts=(*planned.facts, elapsed),
        tables=(*planned.tables, _requests(dry_run.requests), problems_table(dry_run.problems)),
    )


def _requests(requests: Sequence[DryRunRequest]) -> Table:
    return Table(
        key="requests",
        title="requests",
        columns=(
            Column(key="at_s", title="after", kind=ValueKind.DURATION, values=[r.at_s for r in requests]),
            Column(key="api", title="request", values=[r.api for r in requests], label=True),
            Column(key="resource", title="of", values=[r.resource for r in requests], label=True),
            Column(key="value", title="to", values=[r.value for r in requests]),
        ),
    )
