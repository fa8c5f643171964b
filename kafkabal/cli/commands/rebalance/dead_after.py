"""Dead brokers that may come back: nothing is copied on their account before ``--dead-after`` has passed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import note_brokers, sightings_file
from kafkabal.config import DEFAULT_DEAD_AFTER_S
from kafkabal.units import format_duration

if TYPE_CHECKING:
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Cluster
    from kafkabal.config import Settings
    from kafkabal.executor import Sightings
    from kafkabal.model import ClusterState


def recently_dead(
    cluster: Cluster,
    state: ClusterState,
    settings: Settings,
    context: CommandContext,
    *,
    drained: Collection[int] = (),
    before: Sightings | None = None,
    tells: bool = False,
) -> Mapping[int, float]:
    """Seconds since which brokers are dead that have not been for long enough; none of a snapshot, which has no clock.

    Parameters
    ----------
    drained
        Brokers that are to be emptied whatever becomes of them.
    before
        What this host knew before the cluster was read.
    tells
        Note in the cluster's record since when they are dead, for other hosts.
    """
    from kafkabal.executor import known_to_cluster, tell_cluster

    dead = set(state.brokers.id[~state.brokers.is_live].tolist())
    if settings.snapshot or not dead:
        return {}
    found = known_to_cluster(cluster, note_brokers(state, context), before)
    if tells:
        tell_cluster(cluster, found)
    limit_s = DEFAULT_DEAD_AFTER_S if settings.dead_after_s is None else settings.dead_after_s
    now = datetime.fromtimestamp(context.wall_clock(), UTC)
    ages = {b: (now - at).total_seconds() for b, at in found.dead_since.items()}
    waiting = {b: age_s for b, age_s in ages.items() if age_s < limit_s and b not in drained}
    path = sightings_file(state.cluster_id, context)
    if waiting and not path.exists():
        context.warn(f"{path}: cannot be written, so this host does not remember since when brokers are dead")
    return waiting


def gone_brokers(
    cluster: Cluster, state: ClusterState, settings: Settings, context: CommandContext, ids: Collection[int]
) -> frozenset[int]:
    """Those of the brokers that hold nothing and are registered no more, but were here once; says so.

    An id that no host has ever seen is a typing error, which the planner refuses.
    """
    missing = {b for b in ids if state.brokers.index_of(b) < 0}
    if settings.snapshot or not missing:
        return frozenset()
    from kafkabal.executor import known_to_cluster

    known = known_to_cluster(cluster, note_brokers(state, context), None)
    gone = sorted(missing & set(known.seen))
    for broker in gone:
        context.say(f"broker {broker} holds nothing: it is not registered in this cluster any more")
    return frozenset(gone)


def known_before(cluster: Cluster, settings: Settings, context: CommandContext) -> Sightings | None:
    """What this host knows of dead brokers before it reads the cluster."""
    from kafkabal.executor import read_sightings

    return None if settings.snapshot else read_sightings(sightings_file(cluster.cluster_id(), context))


def waiting_for(waiting: Mapping[int, float], settings: Settings) -> str:
    """Why nothing is moved yet."""
    limit_s = DEFAULT_DEAD_AFTER_S if settings.dead_after_s is None else settings.dead_after_s
    brokers = ", ".join(f"broker {b} was first seen dead {format_duration(s)} ago" for b, s in waiting.items())
    return f"{brokers} and may come back: nothing is moved before {format_duration(limit_s)} (--dead-after)"
