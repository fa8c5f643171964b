"""Checks of topics to create that need no cluster, and none of its numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kafkabal.config import TopicSpec
from kafkabal.errors import UsageError
from kafkabal.placement.placement_policy import Layout, PlacementPolicy

MOST_REPLICAS: Final = 2_000_000
"""Per call: about what a cluster supports in total."""


def check_specs(specs: Sequence[TopicSpec], policy: PlacementPolicy) -> None:
    """Refuse topics that lack a number, or that are too many for one call; needs no cluster.

    Raises
    ------
    UsageError
        Naming the topic and what it lacks.
    """
    for spec in specs:
        if spec.partitions is None and policy.layout is not Layout.BROKERS_PLUS_2:
            raise UsageError(f"topic {spec.name}: no number of partitions given", hint="add -p 12 or a preset")
        if spec.replication_factor is None:
            raise UsageError(f"topic {spec.name}: no replication factor given", hint="add -r 3 or a preset")
    check_total(sum((spec.partitions or 1) * (spec.replication_factor or 1) for spec in specs))


def check_total(replicas: int) -> None:
    """Refuse more replicas than one call may create.

    Raises
    ------
    UsageError
        Naming the limit.
    """
    if replicas > MOST_REPLICAS:
        raise UsageError(
            f"replicas: {replicas:,} exceeds the limit of {MOST_REPLICAS:,} at once",
            hint="create the topics in several steps",
        )
