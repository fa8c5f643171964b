"""Policies that choose a broker by what became of earlier records, then one of its partitions in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

from kafkabal.routing.compiled import kernel
from kafkabal.routing.decision import DecisionPolicy
from kafkabal.routing.led import Turns, next_partition, turns_of

if TYPE_CHECKING:
    from kafkabal.routing.view import RoutingView


class Debts(NamedTuple):
    """Columns for kernels: what was sent and is not acknowledged yet."""

    leader: list[int]
    """Broker row of each partition, the last one known where it has none now."""
    owed: list[int]
    """Of each partition; records or bytes, as the policy counts."""
    pending: list[int]
    """Of each broker row: the sum over the partitions that it leads."""


def debts_of(view: RoutingView, before: Debts | None = None) -> Debts:
    """Take over the debts of an earlier view of the same topic and brokers, with the leaders of this one."""
    if before is None or (len(before.leader), len(before.pending)) != (view.n_partitions, view.n_brokers):
        before = Debts([0] * view.n_partitions, [0] * view.n_partitions, [0] * view.n_brokers)
    # acknowledgements of a partition that has lost its leader may still come
    leader = [now if now >= 0 else then for now, then in zip(view.leader.tolist(), before.leader, strict=True)]
    pending = [0] * view.n_brokers
    for owed, broker in zip(before.owed, leader, strict=True):
        pending[broker] += owed
    return Debts(leader, before.owed, pending)


@kernel
def owe(debts: Debts, partition: int, amount: int) -> int:
    """Note that so much was sent to a partition; the broker that it goes to."""
    leader, owed, pending = debts
    broker = leader[partition]
    owed[partition] += amount
    pending[broker] += amount
    return broker


class BrokerFirst(DecisionPolicy, ABC):
    """Keeps what it learnt of each broker from one view to the next.

    The state has the parts ``turns`` and ``debts``, and columns by broker row that outlive a view.
    """

    hash_seeds = ()

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None or len(before.turns.turn) != view.n_brokers:
            self.state = self.start(turns_of(view), debts_of(view), view)
        else:
            self.state = before._replace(turns=turns_of(view, before.turns), debts=debts_of(view, before.debts))

    @abstractmethod
    def start(self, turns: Turns, debts: Debts, view: RoutingView) -> Any:
        """State of a policy that has learnt nothing yet."""


@kernel
def send_to(turns: Turns, debts: Debts, broker: int) -> int:
    """Give one record to a broker; the partition that it goes to."""
    partition = next_partition(turns, broker)
    owe(debts, partition, 1)
    return partition
