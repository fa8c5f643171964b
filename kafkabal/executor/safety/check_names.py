"""Names of the preflight checks that ``--allow`` overrides; the command line imports this file for its help."""

from __future__ import annotations

from enum import StrEnum


class Overridable(StrEnum):
    """A check that stops a run unless it is allowed by its name."""

    OTHER_REASSIGNMENTS = "other-reassignments"
    """Reassignments that are none of the plan's are running."""
    RECENTLY_DEAD = "recently-dead"
    """A planned partition has a replica on a broker that has not been dead for as long as ``--dead-after`` says."""
    OFFLINE_PARTITIONS = "offline-partitions"
    """A planned partition has no leader."""
    UNDER_REPLICATED = "under-replicated"
    """A planned partition has a replica out of sync on a live broker, and the plan does not remove just that one."""
    THROTTLE = "throttle"
    """Producers write more to what a broker is to send or receive than the throttle lets through."""
