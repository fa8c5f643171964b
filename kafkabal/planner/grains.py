"""A lower bound for small clusters, where replicas are too large to be divided at will."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkabal.planner.search.state import State


def grain_bound(start: State) -> int:
    """Bytes that single brokers must shed or take in whole replicas."""
    return 0
