"""Policies that choose a broker by what became of earlier records, then one of its partitions in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns, next_partition, turns_of
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.routing_view import RoutingView


class InFlight(NamedTuple):
    """Columns for kernels: what was sent and is not acknowledged yet."""

    leader: list[int]
    """Broker row of each partition, the last one known where it has none now."""
    by_partition: list[int]
    """Of each partition; records or bytes, as the policy counts."""
    pending: list[int]
    """Of each broker row: the sum over the partitions that it leads."""
    broker_id: list[int]
    """Of each broker row."""


def in_flight_of(view: RoutingView, before: InFlight | None = None) -> InFlight:
    """Take over what was in flight at an earlier view of the topic, with leaders, brokers and partitions of now."""
    brokers = view.broker_id.tolist()
    if before is None:
        before = InFlight([], [], [], brokers)
    row = {broker: at for at, broker in enumerate(brokers)}
    # acknowledgements of a partition that has lost its leader may still come
    last = [row.get(before.broker_id[then], 0) for then in before.leader]
    now = view.leader.tolist()
    leader = [led if led >= 0 else then for led, then in zip(now, of_length(last, len(now), 0), strict=True)]
    by_partition = of_length(before.by_partition, len(now), 0)
    pending = [0] * view.n_brokers
    for amount, broker in zip(by_partition, leader, strict=True):
        pending[broker] += amount
    return InFlight(leader, by_partition, pending, brokers)


def carried(column: list[float], then: InFlight, now: InFlight, fresh: list[float]) -> list[float]:
    """A column by broker row, with the rows of a later view; brokers that are new there get what is fresh."""
    row = {broker: at for at, broker in enumerate(then.broker_id)}
    return [column[row[broker]] if broker in row else first for broker, first in zip(now.broker_id, fresh, strict=True)]


def of_length(column: list[int], n_partitions: int, fresh: int) -> list[int]:
    """A column by partition of a topic that may have got more of them."""
    return [*column[:n_partitions], *([fresh] * (n_partitions - len(column)))]


@kernel
def count_in_flight(in_flight: InFlight, partition: int, amount: int) -> int:
    """Note that so much is in flight to a partition; the broker that it goes to."""
    broker = in_flight.leader[partition]
    in_flight.by_partition[partition] += amount
    in_flight.pending[broker] += amount
    return broker


class BrokerFirstPolicy(PerRecordPolicy, ABC):
    """Keeps what it learnt of each broker from one view to the next.

    The state has the parts ``turns`` and ``in_flight``, and the columns by broker row that are :attr:`learnt`.
    """

    hash_seeds = ()
    learnt: ClassVar[tuple[str, ...]] = ()
    """Columns of the state that outlive a view."""

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None:
            self.state = self.start(turns_of(view), in_flight_of(view), view)
            return
        now = self.start(turns_of(view, before.turns), in_flight_of(view, before.in_flight), view)
        columns = {name: (getattr(before, name), getattr(now, name)) for name in self.learnt}
        kept = {name: carried(then, before.in_flight, now.in_flight, fresh) for name, (then, fresh) in columns.items()}
        self.state = now._replace(**kept)

    @abstractmethod
    def start(self, turns: Turns, in_flight: InFlight, view: RoutingView) -> Any:
        """State of a policy that has learnt nothing yet."""


@kernel
def send_to(turns: Turns, in_flight: InFlight, broker: int) -> int:
    """Give one record to a broker; the partition that it goes to."""
    partition = next_partition(turns, broker)
    count_in_flight(in_flight, partition, 1)
    return partition


@kernel
def usual(brokers: Sequence[int], times_s: Sequence[float]) -> float:
    """Mean of the times of these brokers that are known, those above 0; 1 where none is.

    A broker that has not answered yet is taken for an average one, not for the quickest.
    """
    total = 0.0
    known = 0
    for broker in brokers:
        if times_s[broker] > 0.0:
            total += times_s[broker]
            known += 1
    return total / known if known > 0 else 1.0
