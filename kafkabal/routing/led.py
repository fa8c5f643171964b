"""The partitions of a topic by the broker that leads them, for policies that choose the broker first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kafkabal.model.state import I32, I64
    from kafkabal.routing.view import RoutingView


@dataclass(frozen=True, slots=True, eq=False)
class LedPartitions:
    """Partitions that have a live leader, grouped by it."""

    broker: I32
    """int32, shape (n,), ascending: rows of the brokers that lead some partition."""
    first: I64
    """int64, shape (n + 1,): partitions of ``broker[i]`` are ``partition[first[i]:first[i + 1]]``."""
    partition: I32

    @classmethod
    def of(cls, view: RoutingView) -> LedPartitions:
        """Group the partitions of a view.

        Raises
        ------
        OperationError
            If no partition has a leader.
        """
        partition = view.available
        partition = partition[np.argsort(view.leader[partition], kind="stable")]
        broker, first = np.unique(view.leader[partition], return_index=True)
        return cls(broker, np.append(first, len(partition)), partition)

    def __len__(self) -> int:
        return len(self.broker)

    @property
    def count(self) -> I64:
        """int64, shape (n,): partitions that each broker leads."""
        return np.diff(self.first)

    def in_turn(self, broker: I64, turn: I64) -> I32:
        """The partition that it is for each index of a broker at its given turn."""
        return self.partition[self.first[broker] + turn % self.count[broker]]
