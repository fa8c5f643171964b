"""Waits for what no move repairs, brokers that do not respond and replicas out of sync; fails if it lasts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkabal.cli.framework.cluster_access import read_cluster
from kafkabal.clusters import FOR_REPORTS
from kafkabal.errors import FindingsError

if TYPE_CHECKING:
    from kafkabal.cli.commands.rebalance.run_session import RunSession
    from kafkabal.model import ClusterState

_PASSING_S = 30.0
"""Kafka counts a follower as out of sync after replica.lag.time.max.ms, 30 s by default, and fences a killed broker
after broker.session.timeout.ms, 9 s: what is over by then was the end of a restart and not worth a mail."""
_POLL_S = 5.0
"""Pause between reads: one is a metadata request; a restart takes tens of seconds."""


def await_healthy_cluster(command: RunSession, state: ClusterState | None) -> None:
    """Read again a cluster with faults that no plan repairs, until it recovers or half a minute has passed.

    Parameters
    ----------
    state
        The cluster as it was just read; None if a run has changed it since. If nothing is broken, it is not read again.

    Raises
    ------
    FindingsError
        If live brokers still do not answer, or their replicas still are out of sync.
    """
    settings, context, clock = command.settings, command.context, command.environment.clock
    if settings.snapshot:
        return  # a snapshot does not change while we wait
    give_up_at_s = clock.monotonic() + _PASSING_S
    if state is None:
        state = read_cluster(command.cluster, settings, context, FOR_REPORTS).state
    while (finding := _finding(state)) is not None:
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
