"""Dead brokers that may come back: their replicas are not copied before ``--dead-after`` has passed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import note_brokers, read_cluster, sightings_file
from kafkabal.config import DEFAULT_DEAD_AFTER_S, FENCED_AFTER_S
from kafkabal.errors import FindingsError
from kafkabal.units import format_duration
from kafkabal.wording import first_brokers

if TYPE_CHECKING:
    from pathlib import Path

    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.cli.framework.command_context import CommandContext
    from kafkabal.clusters import Clock, Cluster
    from kafkabal.config import Settings
    from kafkabal.executor import Sightings
    from kafkabal.model import ClusterState

_LONGEST_STAY_S = 60.0
"""Longest wait for a user at a terminal; a short grace means that the broker should be replaced now."""
_LONGEST_UNATTENDED_STAY_S = DEFAULT_DEAD_AFTER_S
"""Longest wait of a command with ``--yes``. A nightly cron job may be the first to see a broker dead, and would leave
its partitions under-replicated until the next night; a longer grace than usual is left to that night."""
_POLL_S = 5.0
"""Pause between reads before a prompt, for which people wait; a read is a metadata request."""
_READ_AGAIN_S = 30.0
"""Pause between reads during a grace: a restarted broker is back within a minute or a few."""


def longest_stay_s(*, is_unattended: bool, max_runtime_s: float | None) -> float:
    """Longest time that a command waits for brokers that may come back."""
    longest_s = _LONGEST_UNATTENDED_STAY_S if is_unattended else _LONGEST_STAY_S
    return longest_s if max_runtime_s is None else min(longest_s, max_runtime_s)


def await_end_of_grace(
    command: RunSession, drained: Collection[int], stay_s: float
) -> tuple[ClusterState, Mapping[int, float]]:
    """Read the cluster once it is clear which brokers are dead; wait for the end of their grace if that is near.

    The lock is released meanwhile, as it is for a prompt: an operator may want to act at once.

    Parameters
    ----------
    stay_s
        How long the command may wait.

    Returns
    -------
    tuple
        The cluster, and those of its brokers that may still come back, as of :func:`recently_dead`.
    """

    cluster, settings, context = command.cluster, command.settings, command.context
    clock = command.environment.clock

    waiting: Mapping[int, float] = {}
    read_at_s = clock.monotonic()

    def read_state() -> tuple[ClusterState, Mapping[int, float]]:
        nonlocal read_at_s
        before = known_before(cluster, settings, context)
        state = _when_responded(cluster, settings, context, clock)
        elapsed_s, read_at_s = clock.monotonic() - read_at_s, clock.monotonic()
        oldest_s = {b: age_s + elapsed_s for b, age_s in waiting.items()}
        return state, recently_dead(
            cluster, state, settings, context, drained=drained, before=before, oldest_s=oldest_s, shares=True
        )

    state, waiting = read_state()
    ends_at_s, is_announced = clock.monotonic() + stay_s, False
    while waiting and clock.monotonic() + (left_s := _left_s(waiting, settings)) <= ends_at_s:
        if not is_announced:
            command.lock.release()
            context.say(f"{_dead_for(waiting)} and may come back: waiting {format_duration(left_s)} (--dead-after)")
            is_announced = True
        clock.sleep(min(left_s, _READ_AGAIN_S))
        state, waiting = read_state()
    if is_announced:
        command.take_lock()
        state, waiting = read_state()  # another run may have changed the cluster meanwhile
    return state, waiting


def _when_responded(cluster: Cluster, settings: Settings, context: CommandContext, clock: Clock) -> ClusterState:
    """The cluster once every registered broker has responded, or not responded for so long that Kafka fences it."""
    from kafkabal.clusters import ReadRequest
    from kafkabal.model import reports_no_log_dir

    # a plan made meanwhile would find nothing to repair, and exit with 0 although a broker is about to count as dead
    give_up_at_s, is_announced = clock.monotonic() + FENCED_AFTER_S, False
    while True:
        state = read_cluster(cluster, settings, context, ReadRequest()).state
        unreported = state.brokers.id[reports_no_log_dir(state)].tolist()
        if not unreported or settings.snapshot or clock.monotonic() >= give_up_at_s:
            return state
        if not is_announced:
            names = ", ".join(map(str, unreported))
            limit = format_duration(FENCED_AFTER_S)
            context.say(f"broker {names} did not respond: waiting up to {limit} until it responds or counts as dead")
            is_announced = True
        clock.sleep(_POLL_S)


def recently_dead(
    cluster: Cluster,
    state: ClusterState,
    settings: Settings,
    context: CommandContext,
    *,
    drained: Collection[int] = (),
    before: Sightings | None = None,
    oldest_s: Mapping[int, float] | None = None,
    shares: bool = False,
) -> Mapping[int, float]:
    """Seconds for which brokers within their grace have been dead; empty for a snapshot, which has no clock.

    Parameters
    ----------
    drained
        Brokers that are to be emptied whatever becomes of them.
    before
        What this host knew before the cluster was read.
    oldest_s
        Seconds for which brokers can have been dead at most, as an earlier reading of this process and the time since
        show: if the clock is set ahead during a wait, it must not end the grace.
    shares
        Note in the cluster's record since when they are dead, for other hosts.
    """
    from kafkabal.executor import known_to_cluster, record_on_cluster

    dead = set(state.brokers.id[~state.brokers.is_live].tolist())
    if settings.snapshot or not dead:
        return {}
    ours = note_brokers(state, context)
    found = known_to_cluster(cluster, ours, before)
    now = datetime.fromtimestamp(context.wall_clock(), UTC)
    if shares:
        record_on_cluster(cluster, found, now)
    limit_s = _limit_s(settings)
    limits_s = oldest_s or {}
    ages = {b: min((now - at).total_seconds(), limits_s.get(b, inf)) for b, at in found.dead_since.items()}
    waiting = {b: age_s for b, age_s in ages.items() if age_s < limit_s and b not in drained}
    if waiting:
        _warn_if_unrecorded(ours, sightings_file(state.cluster_id, context), context)
    return waiting


def _warn_if_unrecorded(ours: Sightings, path: Path, context: CommandContext) -> None:
    """Warn if the file of this host does not have what was just seen: each command would count the grace from zero."""
    from kafkabal.executor import read_sightings

    kept = read_sightings(path)
    # another command may have written a later observation meanwhile
    if kept is None or kept.checked_at < ours.checked_at:
        context.alert(f"{path}: cannot be written, so this host cannot record since when brokers have been dead")


def gone_brokers(
    cluster: Cluster, state: ClusterState, settings: Settings, context: CommandContext, ids: Collection[int]
) -> frozenset[int]:
    """Those of the given brokers that hold nothing, are not registered, and were seen before; reports them.

    An id that no host has ever seen is a typing error, which the planner refuses.
    """
    missing = {b for b in ids if state.brokers.index_of(b) < 0}
    if settings.snapshot or not missing:
        return frozenset()
    from kafkabal.executor import known_to_cluster

    known = known_to_cluster(cluster, note_brokers(state, context), None)
    gone = sorted(missing & set(known.seen))
    for broker in gone:
        context.say(f"broker {broker} holds no replicas and is not registered with this cluster")
    return frozenset(gone)


def known_before(cluster: Cluster, settings: Settings, context: CommandContext) -> Sightings | None:
    """What this host knows of dead brokers before it reads the cluster."""
    from kafkabal.executor import read_sightings

    return None if settings.snapshot else read_sightings(sightings_file(cluster.cluster_id(), context))


def waiting_for(waiting: Mapping[int, float], settings: Settings) -> FindingsError:
    """Why nothing is moved yet, as a finding, so that cron mails it."""
    limit_s = _limit_s(settings)
    left = format_duration(_left_s(waiting, settings))
    return FindingsError(
        f"{_dead_for(waiting)} and may come back: nothing is moved before {format_duration(limit_s)} (--dead-after)",
        hint=f"run it again in {left} or later, or add --dead-after 0 to repair now",
    )


def _left_s(waiting: Mapping[int, float], settings: Settings) -> float:
    """Seconds until the grace of all of them has ended."""
    return _limit_s(settings) - min(waiting.values())


def _dead_for(waiting: Mapping[int, float]) -> str:
    brokers: dict[str, list[int]] = {}
    for broker, seconds in waiting.items():
        brokers.setdefault(_ago(seconds), []).append(broker)
    return ", ".join(
        f"{first_brokers(ids)} {'was' if len(ids) == 1 else 'were'} first seen dead {ago}"
        for ago, ids in brokers.items()
    )


def _ago(seconds: float) -> str:
    return "just now" if seconds < 1 else f"{format_duration(seconds)} ago"


def _limit_s(settings: Settings) -> float:
    return DEFAULT_DEAD_AFTER_S if settings.dead_after_s is None else settings.dead_after_s
