"""Base classes of built-in scores: counts of replicas and leaders, and network bytes per second."""

from __future__ import annotations

from typing import Self

from kafkabal.model import F64, ClusterState
from kafkabal.scoring.capacity_options import ScoreOptions
from kafkabal.scoring.score_capacities import disk_capacity, network_capacity
from kafkabal.scoring.score_protocol import Need, ScoreBase


class CountScore(ScoreBase):
    """A score that counts something; brokers have equal capacities, or capacities proportional to their disks."""

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
    """A score in bytes per second; all networks have the same capacity, or the configured one."""

    unit = "bytes/s"
    needs = frozenset({Need.RATES})

    def __init__(self, options: ScoreOptions | None = None) -> None:
        self._rates = (options or ScoreOptions()).nic_rate_bytes_per_s

    def configured(self, options: ScoreOptions) -> Self:
        """See :class:`~kafkabal.scoring.capacity_options.Configurable`."""
        return type(self)(options)

    def capacity(self, state: ClusterState) -> F64:
        """1 for all, or the configured bytes per second.

        Raises
        ------
        ConfigError
            If only some of the live brokers are configured.
        """
        return network_capacity(state, self._rates)
