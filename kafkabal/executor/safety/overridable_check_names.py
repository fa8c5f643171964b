"""Names of the preflight checks that ``--allow`` overrides; the command line imports this file for its help."""

from __future__ import annotations

from enum import StrEnum


class Overridable(StrEnum):
    """A preflight check that stops a run unless ``--allow`` names it."""

    OTHER_REASSIGNMENTS = "other-reassignments"
    """Reassignments that do not belong to the plan are in flight."""
    RECENTLY_DEAD = "recently-dead"
    """A planned partition has a replica on a broker that has been dead for less than ``--dead-after``."""
    OFFLINE_PARTITIONS = "offline-partitions"
    """A planned partition has no leader."""
    UNDER_REPLICATED = "under-replicated"
    """A planned partition has a replica out of sync on a live broker, and the plan does not remove just that one."""
    REPLICATION_FACTOR = "replication-factor"
    """The plan changes a replication factor without having been asked to."""
    RACK_SPREAD = "rack-spread"
    """The plan leaves a partition in fewer racks, and was not asked to drain a broker."""
    CLOSED_TARGET = "closed-target"
    """A copy goes to a broker or log dir that is cordoned, offline or unknown."""
    THROTTLE = "throttle"
    """Producers write more to the partitions that a broker will send or receive than the throttle lets through."""
