"""Partitions of a topic by their leader, for policies that choose the broker first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kafkabal.model import I32, I64
from kafkabal.routing.compiled_kernels import kernel
from kafkabal.routing.routing_view import RoutingView


@dataclass(frozen=True, slots=True, eq=False)
class LedPartitions:
    """Partitions with a live leader, grouped by leader."""

    broker: I32
    """int32, ascending: rows of the brokers that lead at least one partition."""
    first: I64
    """int64, shape (n_brokers + 1,): partitions of broker row b are ``partition[first[b]:first[b + 1]]``."""
    partition: I32

    @classmethod
    def of(cls, view: RoutingView) -> LedPartitions:
        """Group the partitions of a view.

        Raises
        ------
        OperationError
            If no partition has a leader.
        """
        available = view.available
        leader = view.leader[available]
        count = np.bincount(leader, minlength=view.n_brokers)
        return cls(
            broker=np.flatnonzero(count).astype(np.int32),
            first=np.append(0, np.cumsum(count)),
            partition=available[np.argsort(leader, kind="stable")],
        )


class Turns(NamedTuple):
    """Columns for kernels: which of a broker's partitions is next."""

    broker: list[int]
    """Rows of the brokers that lead at least one partition."""
    first: list[int]
    partition: list[int]
    turn: list[int]
    """By broker row: how often it was picked."""


def turns_of(view: RoutingView, before: Turns | None = None) -> Turns:
    """Group the partitions of a view for kernels, continuing the turns of an earlier view of the same brokers."""
    led = LedPartitions.of(view)
    same = before is not None and len(before.turn) == view.n_brokers
    turn = before.turn if before is not None and same else [0] * view.n_brokers
    return Turns(led.broker.tolist(), led.first.tolist(), led.partition.tolist(), turn)


@kernel
def next_partition(turns: Turns, broker: int) -> int:
    """The partition of a broker row whose turn it is."""
    firsts, turn = turns.first, turns.turn
    first, nth = firsts[broker], turn[broker]
    turn[broker] = nth + 1
    return turns.partition[first + nth % (firsts[broker + 1] - first)]
