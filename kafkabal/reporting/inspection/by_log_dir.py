"""One row per log dir, worst first."""

from __future__ import annotations

import numpy as np

from kafkabal.inspection import Inspection, dir_conditions, dir_figures, worst_first
from kafkabal.model import I32, I64, dir_capacity_bytes, foreign_on_volumes
from kafkabal.reporting.inspection import shared_columns
from kafkabal.reporting.report import Column, Table
from kafkabal.scoring import has_several_log_dirs


def log_dir_table(inspection: Inspection) -> Table:
    """All log dirs that brokers reported; the share is within each broker, and shown if any has several dirs."""
    state, dirs = inspection.state, inspection.state.log_dirs
    scored = inspection.log_dir_score()
    figures, foreign = dir_figures(state), foreign_on_volumes(state)
    order = worst_first(dirs.state.astype(np.int64) % 2, scored.evaluation.share)
    capacity = dir_capacity_bytes(state)
    return Table(
        key="log_dirs",
        columns=(
            Column(key="broker", title="broker", values=state.brokers.id[dirs.broker[order]].tolist(), label=True),
            Column(key="log_dir", title="log dir", values=[dirs.path[i] for i in order.tolist()], label=True),
            *shared_columns.state(dir_conditions(state), dir_conditions(state), order),
            shared_columns.used("log_dir", figures.bytes, figures.estimated, order),
            shared_columns.capacity("log_dir", capacity, order),
            shared_columns.foreign("log_dir", foreign, order),
            shared_columns.fullness_of_log_dirs(state, figures.bytes, order),
            *shared_columns.main_share(scored, order, is_shown=has_several_log_dirs(state)),
            *shared_columns.counts("log_dir", figures, order, leaders_shown=False),
            *shared_columns.rates("log_dir", figures.in_bytes_per_s, figures.out_bytes_per_s, order),
            _volumes(dirs.volume, order),
        ),
    )


def _volumes(volume: I32, order: I64) -> Column:
    """Number of the volume, shown to people only if dirs share one."""
    shared = len(np.unique(volume)) < len(volume)
    return Column(key="volume", title="volume" if shared else "", values=volume[order].tolist())
