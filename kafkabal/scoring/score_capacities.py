"""Capacities of brokers, if they are not equal."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kafkabal.errors import ConfigError
from kafkabal.model import F64, ClusterState, Default, broker_capacity_bytes, has_no_working_dir, stated_of_brokers


def disk_capacity(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of the volumes; 1 for all if none reports. Dead and unknown brokers get the
    mean.

    Raises
    ------
    ConfigError
        If only some brokers report.
    """
    known = broker_capacity_bytes(state)
    asked = state.brokers.is_live & ~has_no_working_dir(state)
    missing = asked & np.isnan(known)
    if (missing == asked).all():
        return np.ones(len(known))
    if missing.any():
        raise ConfigError(
            f"capacity unknown for some brokers only: {_ids(state, missing)}",
            hint="set it in the profile, as in  capacity: {default: 4TiB, 7: {/d0: 2TiB}}",
        )
    # a broker that did not report still has replicas and leaders, and its disk may be its capacity for them
    return np.where(np.isnan(known), known[asked].mean(), known)


def network_capacity(state: ClusterState, rates: Mapping[int | Default, int]) -> F64:
    """float64, shape (n_brokers,): bytes per second; 1 for all if none is configured.

    Raises
    ------
    ConfigError
        If only some live brokers are configured.
    """
    capacity = np.full(len(state.brokers), np.nan)
    for row, rate in stated_of_brokers(state, rates):
        capacity[row] = rate
    missing = state.brokers.is_live & np.isnan(capacity)
    if rates and missing.any():
        raise ConfigError(
            f"NIC rate configured for some brokers only; missing: {_ids(state, missing)}",
            hint="set it in the profile, as in  nic_rate: {default: 1GB/s, 7: 3GB/s}",
        )
    return np.where(np.isnan(capacity), 1.0, capacity)


def _ids(state: ClusterState, rows: np.ndarray) -> str:
    return ", ".join(map(str, state.brokers.id[rows].tolist()))
