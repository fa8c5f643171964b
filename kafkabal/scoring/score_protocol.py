"""What a score is: a load for every holder, in one unit, compared with the holder's capacity.

A score declares its parts and fetches nothing. Loads are additive, so that moving, adding or appending to a replica
changes only two holders::

    load  = base_load + replica_load of the replicas on the holder + leader_load of the partitions led from it
    u     = load / capacity
    fair  = utilisation of the holder in the most even placement that the hard rules allow; if none binds, the mean,
            total load / total capacity of the counted holders (of the group)
    share = u / fair
    skew  = max(max share - 1, 1 - min share)
"""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol, runtime_checkable

import numpy as np

from kafkabal.model import F64, I32, ClusterState
from kafkabal.scoring.bands import Band


class Grain(StrEnum):
    """What holds the load."""

    BROKER = "broker"
    LOG_DIR = "log-dir"


class Need(StrEnum):
    """An input that a cluster must supply for a score to make sense."""

    LOG_DIRS = "log-dirs"
    CAPACITY = "capacity"
    RATES = "rates"
    TELEMETRY = "telemetry"
    PROMETHEUS = "prometheus"


@runtime_checkable
class Score(Protocol):
    """A scoring function. A plug-in may derive from :class:`ScoreBase` and define only what differs."""

    @property
    def name(self) -> str:
        """Unique, lower case, with dashes."""

    @property
    def unit(self) -> str:
        """Unit of the load, for people: ``bytes``, ``replicas``, ``bytes/s``."""

    @property
    def meaning(self) -> str:
        """One line that says what is measured."""

    @property
    def grain(self) -> Grain:
        """What holds the load."""

    @property
    def needs(self) -> frozenset[Need]:
        """The inputs that the cluster must supply."""

    @property
    def band(self) -> Band | None:
        """What counts as balanced; None if the score serves only routing, leadership and new topics."""

    def base_load(self, cluster: ClusterState) -> F64:
        """float64, shape (n_holders,): load that no replica carries."""

    def replica_load(self, cluster: ClusterState) -> F64:
        """float64, shape (n_replicas,): load that a replica adds to its holder, leader or follower."""

    def leader_load(self, cluster: ClusterState) -> F64:
        """float64, shape (n_partitions,): load that the leader adds on top."""

    def capacity(self, cluster: ClusterState) -> F64:
        """float64, shape (n_holders,), > 0: the capacity of each holder, in the unit of the load."""

    def group(self, cluster: ClusterState) -> I32 | None:
        """int32, shape (n_replicas,): the score is taken within each group; None for the whole cluster."""

    def holder_group(self, cluster: ClusterState) -> I32 | None:
        """int32, shape (n_holders,): the one group of each holder; None if each belongs to all."""


class ScoreBase:
    """A broker score without load and with equal capacities; derive from it and override what differs."""

    name = ""
    unit = ""
    meaning = ""
    grain = Grain.BROKER
    needs: frozenset[Need] = frozenset()
    band: Band | None = None

    def base_load(self, cluster: ClusterState) -> F64:
        """No load of its own."""
        return np.zeros(n_holders(self.grain, cluster))

    def replica_load(self, cluster: ClusterState) -> F64:
        """A replica adds nothing."""
        return np.zeros(len(cluster.replicas))

    def leader_load(self, cluster: ClusterState) -> F64:
        """The leader adds nothing."""
        return np.zeros(len(cluster.partitions))

    def capacity(self, cluster: ClusterState) -> F64:
        """All holders have the same capacity."""
        return np.ones(n_holders(self.grain, cluster))

    def group(self, cluster: ClusterState) -> I32 | None:  # noqa: ARG002
        """The whole cluster is one group."""
        return None

    def holder_group(self, cluster: ClusterState) -> I32 | None:  # noqa: ARG002
        """Every holder belongs to every group."""
        return None


def n_holders(grain: Grain, cluster: ClusterState) -> int:
    """Number of holders of this grain in the cluster."""
    return len(cluster.brokers) if grain is Grain.BROKER else len(cluster.log_dirs)
