"""The report of ``route-simulate``: policies side by side, and the effect of each on every broker."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from kafkabal.model import F64
from kafkabal.reporting.report import Column, Fact, Report, ShareChart, Table, Tone, ValueKind, known
from kafkabal.reporting.training_times import training_columns, training_tables
from kafkabal.routing import Input, early_pauses_s
from kafkabal.simulator import (
    PolicyComparison,
    PolicyOutcome,
    PolicyRuns,
    Workload,
    max_over_mean,
)
from kafkabal.units import format_bytes
from kafkabal.wording import counted_noun, first_of

# with more policies, people only see them side by side
_FEW = 3


def route_simulation_report(simulated: PolicyComparison) -> Report:
    """The report of ``route-simulate``."""
    first = simulated.policies[0].runs[0]
    return Report(
        command="route-simulate",
        headline=_headline(simulated),
        tone=Tone.PLAIN,
        facts=(
            Fact(key="topic", value=simulated.view.topic),
            Fact(key="partitions", value=simulated.view.n_partitions),
            Fact(key="workload", value=simulated.workload.name),
            Fact(key="records", value=first.records),
            Fact(key="written_bytes", value=first.written_bytes),
            Fact(key="seeds", value=[run.seed for run in simulated.policies[0].runs]),
            Fact(key="capacity_known", value=first.capacity_known),
        ),
        tables=(_policy_table(simulated), _broker_table(simulated), *training_tables(simulated)),
        notes=tuple(_notes(simulated)),
        charts=partial(_charts, simulated),
    )


def _charts(simulated: PolicyComparison) -> tuple[ShareChart, ...]:
    """The fullest broker of each policy, and the brokers under the most balanced one."""
    best = simulated.policies[0]
    return (
        ShareChart(
            title="fullest broker over the mean, by policy",
            labels=[runs.label for runs in simulated.policies],
            shares=[float(runs.figure(lambda run: run.max_over_mean).mean) for runs in simulated.policies],
        ),
        ShareChart(
            title=f"brokers under {best.label}",
            labels=[f"broker {broker}" for broker in simulated.view.broker_id.tolist()],
            shares=known(best.column(lambda run: run.shares)),
        ),
    )


def _headline(simulated: PolicyComparison) -> str:
    best = simulated.policies[0]
    ratio = best.figure(lambda run: run.max_over_mean).mean
    first = best.runs[0]
    view = simulated.view
    start = max_over_mean(view.used_bytes[first.live], view.capacity_bytes[first.live])
    what = (
        f"{counted_noun(first.records, 'record')}, {format_bytes(first.written_bytes)}, "
        f"into topic {simulated.view.topic}"
    )
    if len(simulated.policies) == 1:
        return f"{what}: the fullest broker changes from {start:.2f}x to {ratio:.2f}x the mean"
    worst = simulated.policies[-1]
    worst_ratio = worst.figure(lambda run: run.max_over_mean).mean
    return (
        f"{what}: the fullest broker, now at {start:.2f}x the mean, ends at {ratio:.2f}x "
        f"with {best.label}, at {worst_ratio:.2f}x with {worst.label}"
    )


def _policy_table(simulated: PolicyComparison) -> Table:
    policies = simulated.policies
    several = len(policies[0].runs) > 1
    return Table(
        key="policies",
        columns=(
            Column(key="policy", title="policy", values=[runs.label for runs in policies], label=True),
            *_figure(
                policies,
                "max_over_mean",
                "fullest",
                ValueKind.FAIR,
                lambda run: run.max_over_mean,
                spread=several,
                least=1,
            ),
            Column(
                key="bar",
                title=" ",
                kind=ValueKind.FAIR_BAR,
                dispensable=9,
                values=[runs.figure(lambda run: run.max_over_mean).mean for runs in policies],
            ),
            *_whole_figure(policies, "log_dir_bytes", "", ValueKind.BYTES, lambda run: float(run.added_bytes.sum())),
            *_figure(
                policies, "written_max_over_mean", "", ValueKind.FAIR, lambda run: run.written_max_over_mean, least=1
            ),
            *_figure(policies, "variation", "CV", ValueKind.PERCENT, lambda run: run.variation, dispensable=4),
            *_figure(policies, "jain", "", ValueKind.NUMBER, lambda run: run.jain),
            *_latency_figures(simulated),
            *_figure(policies, "bytes_per_s", "rate", ValueKind.RATE, lambda run: run.bytes_per_s, dispensable=6),
            *_figure(
                policies,
                "batches_per_mb",
                "batches/MB",
                ValueKind.NUMBER,
                lambda run: run.batches_per_mb,
                dispensable=7,
            ),
            _key_order(simulated),
            *_whole_figure(
                policies, "refused", "refused", ValueKind.NUMBER, lambda run: float(run.refused), quiet=True
            ),
            *_figure(
                policies, "full_after_s", "full after", ValueKind.DURATION, lambda run: run.full_after_s, dispensable=5
            ),
            *training_columns(simulated),
        ),
    )


def _figure(
    policies: Sequence[PolicyRuns],
    key: str,
    title: str,
    kind: ValueKind,
    of: Callable[[PolicyOutcome], float],
    *,
    spread: bool = False,
    quiet: bool = False,
    dispensable: int = 0,
    least: float | None = None,
) -> Iterator[Column]:
    """Mean over the seeds, and half the interval for one more run, which people see if ``spread`` is set."""
    estimates = [runs.figure(of, least) for runs in policies]
    means = np.array([estimate.mean for estimate in estimates])
    yield Column(key=key, title=title, kind=kind, values=_finite(means), quiet=quiet, dispensable=dispensable)
    half = np.array([estimate.half_width for estimate in estimates])
    yield Column(
        key=f"{key}_ci95",
        title="+-" if spread else "",
        kind=ValueKind.NUMBER,
        values=_finite(half),
        dispensable=8 if spread else 0,
    )


def _whole_figure(
    policies: Sequence[PolicyRuns],
    key: str,
    title: str,
    kind: ValueKind,
    of: Callable[[PolicyOutcome], float],
    *,
    quiet: bool = False,
) -> Iterator[Column]:
    """Like :func:`_figure`, but for counts of records and bytes: the mean is rounded to a count."""
    mean, half = _figure(policies, key, title, kind, of, quiet=quiet)
    yield replace(mean, values=[None if value is None else round(value) for value in mean.values])
    yield half


def _finite(values: F64) -> list[float | None]:
    """None for values that are unknown or infinite."""
    return known(np.where(np.isfinite(values), values, np.nan))


def _latency_figures(simulated: PolicyComparison) -> Iterator[Column]:
    def quantile(name: str) -> Callable[[PolicyOutcome], float]:
        return lambda run: math.nan if run.latency is None else float(getattr(run.latency, name))

    for name, title, dispensable in (("p50_s", "p50", 0), ("p99_s", "p99", 0), ("p999_s", "p99.9", 3)):
        yield from _figure(
            simulated.policies,
            f"latency_{name}",
            title if simulated.has_latencies else "",
            ValueKind.DURATION,
            quantile(name),
            dispensable=dispensable,
        )


def _key_order(simulated: PolicyComparison) -> Column:
    """How often the order of a key is at risk; shown only if records have keys."""
    violations = [runs.figure(lambda run: float(run.order_violations)).mean for runs in simulated.policies]
    return Column(
        key="order_violations",
        title="order at risk" if simulated.workload.keys is not None else "",
        kind=ValueKind.NUMBER,
        values=[round(value) for value in violations],
        tones=[Tone.WARNING if value else Tone.GOOD for value in violations],
    )


def _broker_table(simulated: PolicyComparison) -> Table:
    """One row per policy and broker."""
    policies = simulated.policies
    few = len(policies) <= _FEW
    used = known(np.concatenate([runs.column(lambda run: run.used_ratio) for runs in policies]))
    shares = known(np.concatenate([runs.column(lambda run: run.shares) for runs in policies]))
    ids = simulated.view.broker_id.tolist()

    def title(text: str) -> str:
        return text if few else ""

    def joined(of: Callable[[PolicyOutcome], F64]) -> list[float]:
        return [float(value) for runs in policies for value in runs.column(of).tolist()]

    return Table(
        key="brokers",
        columns=(
            Column(key="policy", title=title("policy"), values=[r.label for r in policies for _ in ids], label=True),
            Column(key="broker", title=title("broker"), values=ids * len(policies), label=True),
            Column(
                key="records",
                title=title("records"),
                kind=ValueKind.NUMBER,
                values=[round(value) for value in joined(lambda run: run.broker_records.astype(np.float64))],
            ),
            Column(
                key="written_bytes",
                title=title("written"),
                kind=ValueKind.BYTES,
                values=[round(value) for value in joined(lambda run: run.added_bytes)],
            ),
            Column(
                key="used_bytes",
                title=title("used"),
                kind=ValueKind.BYTES,
                values=[round(value) for value in joined(lambda run: run.used_bytes)],
            ),
            Column(
                key="used_ratio",
                title=title("of capacity") if policies[0].runs[0].capacity_known else "",
                kind=ValueKind.PERCENT,
                values=used,
            ),
            Column(key="share", title=title("vs mean"), kind=ValueKind.FAIR, values=shares),
            Column(
                key="share_bar",
                title=title(" "),
                kind=ValueKind.FAIR_BAR,
                dispensable=1,
                values=shares,
            ),
        ),
    )


def _notes(simulated: PolicyComparison) -> Iterator[str]:
    first = simulated.policies[0].runs[0]
    if not first.capacity_known:
        yield "broker capacities unknown, assumed equal"
    yield _bytes_note(simulated.workload)
    breaking = [runs.label for runs in simulated.policies if not runs.about.keeps_key_order]
    if simulated.workload.keys is not None and breaking:
        yield f"policies that do not keep key order: {first_of(breaking)}"
    fed = [runs.label for runs in simulated.policies if Input.LATENCY in runs.about.inputs]
    interval_s = simulated.workload.metrics_interval_s
    if fed and not min((*early_pauses_s(interval_s), interval_s)) < first.duration_s:
        yield f"the workload ended before the first metrics arrived, which these policies use: {first_of(fed)}"
    if simulated.has_latencies:
        yield "latencies are modelled (batches, connections, queues): use for comparison only"


def _bytes_note(workload: Workload) -> str:
    headers = f"headers of {format_bytes(workload.header_bytes)} per record" if workload.header_bytes else "no headers"
    compression = workload.log.compression
    left = f"compressed to {compression:.0%}" if compression < 1 else "not compressed"
    return f"broker bytes are log-dir bytes, including batch and record overhead, {headers}, {left}"
