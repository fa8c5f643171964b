"""One row per rack, worst first."""

from __future__ import annotations

from typing import Final

import numpy as np

from kafkabal.inspection import (
    HolderFigures,
    Inspection,
    Scored,
    broker_figures,
    rack_traffic,
    rate_by,
    sum_by,
    worst_first,
)
from kafkabal.model import F64, I32, ClusterState, broker_capacity_bytes, foreign_of_brokers
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.report import Column, Metric, Table, ValueKind, known
from kafkabal.scoring import Grain
from kafkabal.units import DAY_S

_GB: Final = 10**9
_MONTH_S: Final = 30 * DAY_S
_RATES: Final = ("produced", "replicated_in", "replicated_out", "read", "clients_across")


def rack_table(inspection: Inspection) -> Table:
    """All racks; brokers without a rack, if any, are in row ``-``."""
    state, brokers = inspection.state, inspection.state.brokers
    names: list[str | None] = [*state.racks]
    rack = brokers.rack
    if (rack < 0).any():
        rack = np.where(rack < 0, len(names), rack).astype(np.int32)
        names.append(None)
    n = len(names)
    each = broker_figures(state)
    figures = _sum(each, rack, n)
    scored = next(inspection.of_grain(Grain.BROKER), None)
    share = _share(scored, rack, n) if scored else np.full(n, np.nan)
    order = worst_first(np.zeros(n, np.int64), share)
    of_brokers = broker_capacity_bytes(state)
    capacity = _total(of_brokers, rack, n)
    foreign = _total(foreign_of_brokers(state), rack, n)
    # the size of a dead broker's volumes is unknown, so that its replicas fill none
    occupied = sum_by(rack, np.where(np.isnan(of_brokers), 0, each.occupied_bytes), n)
    shares = known(share[order])
    return Table(
        key="racks",
        columns=(
            Column(key="rack", title="rack", values=[names[i] for i in order.tolist()], label=True),
            Column(
                key="brokers",
                title="brokers",
                kind=ValueKind.NUMBER,
                values=np.bincount(rack, minlength=n)[order].tolist(),
            ),
            Column(
                key="dead_brokers",
                title="dead",
                kind=ValueKind.NUMBER,
                values=sum_by(rack, ~brokers.is_live, n)[order].tolist(),
                quiet=True,
            ),
            shared_columns.used("rack", figures.bytes, figures.estimated, order),
            shared_columns.capacity("rack", capacity, order),
            shared_columns.foreign("rack", foreign, order),
            shared_columns.fullness(occupied, foreign, capacity, order),
            Column(key="share", title=scored.score.name if scored else "", kind=ValueKind.FAIR, values=shares),
            Column(key="bar", title=" " if scored else "", kind=ValueKind.FAIR_BAR, dispensable=2, values=shares),
            *shared_columns.counts("rack", figures, order),
            *shared_columns.rates("rack", figures.in_bytes_per_s, figures.out_bytes_per_s, order),
        ),
    )


def traffic_table(state: ClusterState, price_per_gb: float | None) -> Table:
    """Bytes per second across racks, if rates were sampled; ``price_per_gb`` is the price of 10^9 bytes."""
    found = rack_traffic(state)
    order = np.lexsort((np.arange(len(state.racks)), -np.nan_to_num(found.replicated_out)))

    def rate(key: str, title: str, values: F64, help_text: str) -> Column:
        metric = Metric(f"kafkabal_rack_{key}_bytes_per_second", help_text)
        return Column(
            key=f"{key}_bytes_per_s",
            title=title,
            kind=ValueKind.RATE,
            values=known(values[order]),
            metric=metric,
        )

    def cost(key: str, title: str, values: F64) -> Column:
        a_month = np.full(len(order), np.nan) if price_per_gb is None else values * _MONTH_S / _GB * price_per_gb
        is_priced = price_per_gb is not None
        return Column(key=key, title=title, kind=ValueKind.NUMBER, values=known(a_month[order]), quiet=not is_priced)

    return Table(
        key="rack_traffic",
        title="Across racks",
        for_programs=bool(np.isnan(found.produced).all()),
        columns=(
            Column(key="rack", title="rack", values=[state.racks[i] for i in order.tolist()], label=True),
            rate("produced", "produced", found.produced, "Bytes per second written to leaders in the rack."),
            rate("replicated_in", "copied in", found.replicated_in, "Bytes per second copied from other racks."),
            rate("replicated_out", "copied out", found.replicated_out, "Bytes per second copied to other racks."),
            rate("read", "read", found.read, "Bytes per second read from leaders in the rack."),
            rate(
                "clients_across",
                "clients*",
                found.clients_across,
                "Bytes per second of clients across racks if they are spread evenly.",
            ),
            cost("replication_cost_per_month", "copies a month", found.replicated_out),
            cost("clients_cost_per_month", "clients* a month", found.clients_across),
        ),
    )


def no_traffic() -> Table:
    """The same table without rows, if it was not requested."""
    keys = ("rack", *(f"{key}_bytes_per_s" for key in _RATES), "replication_cost_per_month", "clients_cost_per_month")
    return Table(key="rack_traffic", columns=[Column(key=key, title="", values=[]) for key in keys])


def _share(scored: Scored, rack: I32, n: int) -> F64:
    """Load of each rack's counted brokers relative to their fair load; NaN if none is counted."""
    e = scored.evaluation
    load = np.bincount(rack[e.counted], e.load[e.counted], n)
    fair = np.bincount(rack[e.counted], np.nan_to_num(e.fair[e.counted]), n)
    is_counted = np.bincount(rack[e.counted], minlength=n) > 0
    return np.where(is_counted, np.divide(load, fair, out=np.ones(n), where=fair > 0), np.nan)


def _total(values: F64, rack: I32, n: int) -> F64:
    """Sum of the known values of each rack's brokers; NaN if none is known."""
    rows = ~np.isnan(values)
    total = np.bincount(rack[rows], values[rows], n)
    return np.where(np.bincount(rack[rows], minlength=n) > 0, total, np.nan)


def _sum(figures: HolderFigures, rack: I32, n: int) -> HolderFigures:
    return HolderFigures(
        bytes=sum_by(rack, figures.bytes, n),
        occupied_bytes=sum_by(rack, figures.occupied_bytes, n),
        estimated=sum_by(rack, figures.estimated, n) > 0,
        replicas=sum_by(rack, figures.replicas, n),
        leaders=sum_by(rack, figures.leaders, n),
        out_of_sync=sum_by(rack, figures.out_of_sync, n),
        in_bytes_per_s=rate_by(rack, figures.in_bytes_per_s, n),
        out_bytes_per_s=rate_by(rack, figures.out_bytes_per_s, n),
    )
