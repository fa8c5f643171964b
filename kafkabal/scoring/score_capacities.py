"""What brokers are measured against, where it is not simply the same for all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from kafkabal.errors import ConfigError
from kafkabal.model import F64, ClusterState, Default, broker_capacity_bytes, reports_no_log_dir, stated_of_brokers
from kafkabal.scoring.capacity_options import ScoreOptions
from kafkabal.scoring.score_protocol import Need, ScoreBase


class CountScore(ScoreBase):
    """A score that counts something; all brokers have the same capacity, or one proportional to their disks."""

    def __init__(self, options: ScoreOptions | None = None) -> None:
        self._by_disk = options is not None and options.count_by_disk
        self.needs = frozenset({Need.LOG_DIRS, Need.CAPACITY}) if self._by_disk else frozenset()

    def configured(self, options: ScoreOptions) -> Self:
        """See :class:`~kafkabal.scoring.capacity_options.Configurable`."""
        return type(self)(options)

    def capacity(self, state: ClusterState) -> F64:
        """1 for all, or the bytes of the disks."""
        return disk_capacity(state) if self._by_disk else super().capacity(state)


class NetworkScore(ScoreBase):
    """A score of bytes a second; all networks have the same capacity, or the configured one."""

    unit = "bytes/s"
    needs = frozenset({Need.RATES})

    def __init__(self, options: ScoreOptions | None = None) -> None:
        self._rates = (options or ScoreOptions()).nic_rate_bytes_per_s

    def configured(self, options: ScoreOptions) -> Self:
        """See :class:`~kafkabal.scoring.capacity_options.Configurable`."""
        return type(self)(options)

    def capacity(self, state: ClusterState) -> F64:
        """1 for all, or the configured bytes a second.

        Raises
        ------
        ConfigError
            If only some live brokers are configured.
        """
        return network_capacity(state, self._rates)


def disk_capacity(state: ClusterState) -> F64:
    """float64, shape (n_brokers,): bytes of the volumes; 1 for all where none reports. Dead and unknown: the mean.

    Raises
    ------
    ConfigError
        If only some brokers report.
    """
    known = broker_capacity_bytes(state)
    asked = state.brokers.is_live & ~reports_no_log_dir(state)
    missing = asked & np.isnan(known)
    if (missing == asked).all():
        return np.ones(len(known))
    if missing.any():
        raise ConfigError(
            f"capacity unknown for some brokers only: {_ids(state, missing)}",
            hint="set it in the profile, as in  capacity: {default: 4TiB, 7: {/d0: 2TiB}}",
        )
    # a broker that did not report has replicas and leaders, and may count by its disk
    return np.where(np.isnan(known), known[asked].mean(), known)


def network_capacity(state: ClusterState, rates: Mapping[int | Default, int]) -> F64:
    """float64, shape (n_brokers,): bytes a second; 1 for all where none is configured.

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
