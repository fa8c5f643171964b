"""Policies that choose a broker by the fate of earlier records, then take the broker's partitions in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.led_partitions import Turns, next_partition, turns_of
from kafkabal.routing.per_record_policy import PerRecordPolicy
from kafkabal.routing.routing_view import RoutingView


class InFlight(NamedTuple):
    """Columns for kernels: what is sent and not yet acknowledged."""

    leader: list[int]
    """Broker row of each partition's leader, or of its last known one."""
    by_partition: list[int]
    """By partition, in records or bytes, as the policy counts."""
    pending: list[int]
    """By broker row: the sum over the partitions it leads."""
    broker_id: list[int]
    """By broker row."""


def in_flight_of(view: RoutingView, before: InFlight | None = None) -> InFlight:
    """Carry over what was in flight at an earlier view of the topic, with the current leaders, brokers and
    partitions."""
    brokers = view.broker_id.tolist()
    if before is None:
        before = InFlight([], [], [], brokers)
    row = {broker: at for at, broker in enumerate(brokers)}
    # a partition that lost its leader may still acknowledge records
    last = [row.get(before.broker_id[then], 0) for then in before.leader]
    now = view.leader.tolist()
    leader = [led if led >= 0 else then for led, then in zip(now, fit_to_partitions(last, len(now)), strict=True)]
    by_partition = fit_to_partitions(before.by_partition, len(now))
    pending = [0] * view.n_brokers
    for amount, broker in zip(by_partition, leader, strict=True):
        pending[broker] += amount
    return InFlight(leader, by_partition, pending, brokers)


def move_to_rows(column: list[float], then: InFlight, now: InFlight, fresh: list[float]) -> list[float]:
    """A column by broker row, moved to the rows of a later view; brokers that are new get ``fresh``."""
    row = {broker: at for at, broker in enumerate(then.broker_id)}
    return [column[row[broker]] if broker in row else first for broker, first in zip(now.broker_id, fresh, strict=True)]


def fit_to_partitions(column: list[int], n_partitions: int) -> list[int]:
    """A column by partition, extended by zeros if the topic has grown."""
    return [*column[:n_partitions], *([0] * (n_partitions - len(column)))]


@kernel
def count_in_flight(in_flight: InFlight, partition: int, amount: int) -> int:
    """Count an amount as in flight to a partition; returns the row of its broker."""
    broker = in_flight.leader[partition]
    in_flight.by_partition[partition] += amount
    in_flight.pending[broker] += amount
    return broker


class BrokerFirstPolicy(PerRecordPolicy, ABC):
    """Keeps from one view to the next what it has learnt about each broker.

    The state has the fields ``turns`` and ``in_flight``, and the columns by broker row that :attr:`learnt` names.
    """

    hash_seeds = ()
    learnt: ClassVar[tuple[str, ...]] = ()
    """Names of the state's columns that outlive a view."""

    def refresh(self, view: RoutingView) -> None:
        """See :meth:`~kafkabal.routing.policy_protocol.Policy.refresh`."""
        before = getattr(self, "state", None)
        if before is None:
            self.state = self.start(turns_of(view), in_flight_of(view), view)
            return
        now = self.start(turns_of(view, before.turns), in_flight_of(view, before.in_flight), view)
        columns = {name: (getattr(before, name), getattr(now, name)) for name in self.learnt}
        kept = {
            name: move_to_rows(then, before.in_flight, now.in_flight, fresh) for name, (then, fresh) in columns.items()
        }
        self.state = now._replace(**kept)

    @abstractmethod
    def start(self, turns: Turns, in_flight: InFlight, view: RoutingView) -> Any:
        """State of a policy that has learnt nothing yet."""


@kernel
def send_to(turns: Turns, in_flight: InFlight, broker: int) -> int:
    """Give one record to a broker; returns its partition."""
    partition = next_partition(turns, broker)
    count_in_flight(in_flight, partition, 1)
    return partition


@kernel
def mean_known_time(brokers: Sequence[int], times_s: Sequence[float]) -> float:
    """Mean of the known times of these brokers, those above 0; 1 if none is known.

    A broker that has not responded yet counts as average, not as the fastest.
    """
    total = 0.0
    known = 0
    for broker in brokers:
        if times_s[broker] > 0.0:
            total += times_s[broker]
            known += 1
    return total / known if known > 0 else 1.0
