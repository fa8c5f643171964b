"""Whether brokers can be stopped for good, proved from the current state of the cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kafkabal.clusters import Cluster
from kafkabal.model import ClusterState
from kafkabal.wording import first_of

_NAMED = 3
"""How many partitions to name: enough to look one up on the cluster; a broker may hold thousands."""


@dataclass(frozen=True, slots=True)
class SafeToStop:
    """What was checked for one broker."""

    broker: int
    replicas: int
    """Replicas that it still holds, or that a reassignment is adding or removing."""
    names: tuple[str, ...]
    """The first few of these partitions."""
    is_voter: bool | None
    """Whether it votes for the controller (KRaft); None if the cluster does not report it."""

    def in_words(self) -> str:
        """One line for people."""
        if self.replicas:
            return f"broker {self.broker} is not safe to stop: it holds {first_of(self.names, _NAMED)}"
        if self.is_voter:
            return f"broker {self.broker} is not safe to stop: it votes in the controller quorum; remove it there first"
        quorum = "" if self.is_voter is None else ", and it is not a voter of the controller quorum"
        return f"broker {self.broker} is safe to stop: no replica, so no leader and no group coordinator{quorum}"


def prove_safe_to_stop(cluster: Cluster, state: ClusterState, brokers: Collection[int]) -> tuple[SafeToStop, ...]:
    """Check each broker.

    Parameters
    ----------
    state
        The current state of the cluster, read after the last move.
    """
    voters = cluster.quorum_voters()
    return tuple(_safe_to_stop(state, broker, voters) for broker in sorted(brokers))


def _safe_to_stop(state: ClusterState, broker: int, voters: frozenset[int] | None) -> SafeToStop:
    rows = list(_partitions_on(state, broker))
    names = tuple(str(state.topic_partition(row)) for row in rows[:_NAMED])
    return SafeToStop(broker, len(rows), names, None if voters is None else broker in voters)


def _partitions_on(state: ClusterState, broker: int) -> Iterator[int]:
    row = state.brokers.index_of(broker)
    if row >= 0:
        yield from sorted(set(state.replicas.partition[state.replicas.broker == row].tolist()))
