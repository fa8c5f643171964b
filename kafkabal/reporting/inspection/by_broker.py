"""One row per broker, worst first."""

from __future__ import annotations

import numpy as np

from kafkabal.inspection import (
    Inspection,
    broker_conditions,
    broker_figures,
    broker_severity,
    broker_states,
    partition_figures,
    sum_by,
    worst_first,
)
from kafkabal.model import I64, ClusterState, broker_capacity_bytes, foreign_of_brokers
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.report import Column, Table
from kafkabal.scoring import Grain


def broker_table(inspection: Inspection) -> Table:
    """All brokers, including dead ones."""
    state, n = inspection.state, len(inspection.state.brokers)
    scored = tuple(inspection.of_grain(Grain.BROKER))
    figures, partitions = broker_figures(state), partition_figures(state)
    share = scored[0].evaluation.share if scored else np.ones(n)
    order = worst_first(broker_severity(state), share)
    capacity, foreign = broker_capacity_bytes(state), foreign_of_brokers(state)
    leader = state.partitions.leader
    return Table(
        key="brokers",
        columns=(
            Column(key="broker", title="broker", values=state.brokers.id[order].tolist(), label=True),
            rack_column(state, order),
            *shared_columns.state(broker_states(state), broker_conditions(state), order),
            shared_columns.used("broker", figures.bytes, figures.estimated, order),
            shared_columns.capacity("broker", capacity, order),
            shared_columns.foreign("broker", foreign, order),
            shared_columns.fullness(figures.occupied_bytes, foreign, capacity, order),
            shared_columns.fullest_volume(state, order),
            *shared_columns.main_share(scored[0] if scored else None, order),
            shared_columns.fair(scored[0] if scored else None, order),
            *shared_columns.counts("broker", figures, order, scored),
            *shared_columns.partition_troubles(
                "broker",
                under_replicated=sum_by(leader, partitions.under_replicated, n),
                offline=sum_by(partitions.preferred, partitions.offline, n),
                not_preferred=sum_by(partitions.preferred, partitions.not_preferred, n),
                order=order,
            ),
            *shared_columns.rates("broker", figures.in_bytes_per_s, figures.out_bytes_per_s, order),
            *shared_columns.shares("broker", scored, order),
        ),
    )


def rack_column(state: ClusterState, order: I64) -> Column:
    """Rack of each broker, None if it has none."""
    racks = [state.racks[r] if r >= 0 else None for r in state.brokers.rack[order].tolist()]
    return Column(key="rack", title="rack", values=racks, quiet=True, dispensable=4)
