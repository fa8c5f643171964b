"""Policies that choose a broker by what became of earlier records, then one of its partitions in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from kafkabal.routing.compiled import kernel
from kafkabal.routing.decision import DecisionPolicy
from kafkabal.routing.led import LedPartitions, next_partition

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView


class BrokerFirst(DecisionPolicy, ABC):
    """Keeps what it learnt of each broker from one view to the next.

    The state has the columns ``broker``, ``first``, ``partition``, ``turn`` (see
    :func:`~kafkabal.routing.led.next_partition`), ``leader``, ``owed`` and ``pending`` (records not acknowledged yet,
    by partition and by broker), and columns by broker row that outlive a view.
    """

    hash_seeds = ()

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        led = LedPartitions.of(view)
        before = getattr(self, "state", None)
        if before is None or (len(before.turn), len(before.leader)) != (view.n_brokers, view.n_partitions):
            before = self.start(view)
        leader = latest_leaders(view, before.leader)
        self.state = before._replace(
            broker=led.broker.tolist(),
            first=led.first.tolist(),
            partition=led.partition.tolist(),
            leader=leader,
            pending=by_broker(before.owed, leader, view.n_brokers),
        )

    @abstractmethod
    def start(self, view: RoutingView) -> Any:
        """State of a policy that has learnt nothing yet."""


def latest_leaders(view: RoutingView, before: list[int]) -> list[int]:
    """Leaders by partition; one that has none now keeps the last, whose acknowledgements may still come."""
    return [max(now, then) if now < 0 else now for now, then in zip(view.leader.tolist(), before, strict=True)]


def by_broker(of_partition: list[int], leader: list[int], n_brokers: int) -> list[int]:
    """Sums over the partitions that each broker leads."""
    sums = [0] * n_brokers
    for amount, broker in zip(of_partition, leader, strict=True):
        sums[broker] += amount
    return sums


@kernel
def send_to(state: Any, broker: int) -> int:
    """Give a record to a broker, which owes an acknowledgement then; the partition that it goes to."""
    partition: int = next_partition(state, broker)
    state.owed[partition] += 1
    state.pending[broker] += 1
    return partition


@kernel
def settle(state: Any, partition: int) -> int:
    """Take note of an acknowledgement; the broker that it came from."""
    broker: int = state.leader[partition]
    state.owed[partition] -= 1
    state.pending[broker] -= 1
    return broker
