"""Waits for what the plan did not repair: brokers that do not respond, replicas out of sync or lost since; fails if it
lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import read_cluster
from kafkabal.clusters import FOR_REPORTS
from kafkabal.errors import FindingsError
from kafkabal.wording import first_of

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.model import ClusterState, TopicPartition

_PASSING_S = 30.0
"""Kafka counts a follower as out of sync after replica.lag.time.max.ms, 30 s by default, and fences a killed broker
after broker.session.timeout.ms, 9 s: what is over by then was the end of a restart and not worth a mail."""
_POLL_S = 5.0
"""Pause between reads: one is a metadata request; a restart takes tens of seconds."""


def await_healthy_cluster(command: RunSession, before: ClusterState, *, has_run: bool) -> None:
    """Read again a cluster with faults that the plan did not repair, until it recovers or half a minute has passed.

    Parameters
    ----------
    before
        The cluster that was planned for.
    has_run
        Whether a run has changed it since. If not, and nothing is broken, it is not read again.

    Raises
    ------
    FindingsError
        If live brokers still do not answer, or their replicas still are out of sync, or replicas went offline during
        the run.
    """
    settings, context, clock = command.settings, command.context, command.environment.clock
    if settings.snapshot:
        return  # a snapshot does not change while we wait
    give_up_at_s = clock.monotonic() + _PASSING_S
    state = read_cluster(command.cluster, settings, context, FOR_REPORTS).state if has_run else before
    while (finding := _finding(state) or _lost_since(before, state)) is not None:
        if clock.monotonic() >= give_up_at_s or command.environment.stop.reason is not None:
            raise finding
        clock.sleep(_POLL_S)
        state = read_cluster(command.cluster, settings, context, FOR_REPORTS).state


def refuse_unhealthy_cluster(state: ClusterState) -> None:
    """End a dry run, which waits for nothing, with the finding that the run would end with.

    Raises
    ------
    FindingsError
        If live brokers do not answer, or their replicas are out of sync.
    """
    finding = _finding(state)
    if finding is not None:
        raise finding


def _finding(state: ClusterState) -> FindingsError | None:
    from kafkabal.inspection import beyond_moves

    broken = "; ".join(beyond_moves(state))
    if not broken:
        return None
    return FindingsError(
        f"not repaired: {broken}",
        hint="moving replicas does not repair this: restore these brokers; 'kafkabal inspect' shows them",
    )


def _lost_since(before: ClusterState, state: ClusterState) -> FindingsError | None:
    """What failed during a run, which may take hours: the next one would be the first to say so."""
    lost = sorted(_with_offline_replicas(state) - _with_offline_replicas(before))
    if not lost:
        return None
    return FindingsError(
        f"replicas went offline during the run: {first_of(lost)}",
        hint="'kafkabal inspect' shows what has failed; another run can repair it",
    )


def _with_offline_replicas(state: ClusterState) -> set[TopicPartition]:
    """Partitions with a replica on a dead broker or in an offline log dir."""
    from kafkabal.model import offline_replicas

    return {state.topic_partition(row) for row in set(state.replicas.partition[offline_replicas(state)].tolist())}
