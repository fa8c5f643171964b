"""The bytes that a plan made on a forecast moves today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from kafkabal.model import ClusterState, move_bytes, replica_bytes
from kafkabal.plan.cross_rack_traffic import cross_rack_bytes
from kafkabal.plan.drift import partition_rows
from kafkabal.plan.plan import ANY_DIR, PartitionChange, Plan


def with_present_bytes(plan: Plan, state: ClusterState, options: Mapping[str, Any]) -> Plan:
    """The plan with the bytes of its moves in this state, and with extra options recorded in it.

    Without the lower bound, which refers to forecast bytes. Scores stay those that the plan was computed with.
    """
    rows = dict(partition_rows(state, [change.name for change in plan.partitions]))
    arriving, held = np.maximum(move_bytes(state), 0), replica_bytes(state)
    ids = state.brokers.id[state.replicas.broker]

    def today(change: PartitionChange, row: int) -> PartitionChange:
        own = range(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
        size_on = {int(ids[r]): int(held[r]) for r in own}
        dirs = dict(zip(change.replicas, change.log_dirs, strict=True))
        copied = sum(size_on[b] for b in change.replicas if b in size_on and dirs[b] != ANY_DIR)
        return msgspec.structs.replace(
            change, bytes=len(change.to_add) * int(arriving[row]), log_dir_bytes=copied if change.log_dir_bytes else 0
        )

    partitions = tuple(today(change, rows[change.name]) for change in plan.partitions)
    return msgspec.structs.replace(
        plan,
        partitions=partitions,
        cross_rack_bytes=cross_rack_bytes(state, partitions),
        options={**plan.options, **options},
        bound_bytes=None,
    )
