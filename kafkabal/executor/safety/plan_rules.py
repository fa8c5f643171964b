"""Checks the planner's rules on a plan from a file, which may have been edited or made by another tool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from kafkabal.model import (
    I64,
    ClusterState,
    LogDirState,
    rack_numbers,
    racks_by_partition,
    required_racks,
    takes_replicas,
)
from kafkabal.plan import ANY_DIR, Drift, PartitionChange, Plan, partition_rows


class PlannedRows:
    """The changes of a plan next to the cluster's partitions that they concern, without drifted ones."""

    def __init__(self, plan: Plan, state: ClusterState, drifts: Iterable[Drift]) -> None:
        self._plan = plan
        self._state = state
        drifted = {drift.partition for drift in drifts}
        changes = {change.name: change for change in plan.partitions if change.name not in drifted}
        self._rows: list[tuple[PartitionChange, list[int]]] = [
            (changes[name], self._brokers(row)) for name, row in partition_rows(state, changes)
        ]

    def _brokers(self, row: int) -> list[int]:
        """Rows of the brokers that hold a partition, except those being removed."""
        state = self._state
        rows = slice(int(state.partitions.first[row]), int(state.partitions.first[row + 1]))
        brokers: list[int] = state.replicas.broker[rows][~state.replicas.removing[rows]].tolist()
        return brokers

    def other_factors(self) -> Iterator[str]:
        """Changes of a replication factor that the plan was not asked for."""
        asked = self._plan.options.get("replication_factor")
        for change, brokers in self._rows:
            now, then = len(brokers), len(change.replicas)
            if then not in (now, asked):
                yield f"{change.name} from {now} to {then}"

    def fewer_racks(self) -> Iterator[str]:
        """Partitions that would be spread over fewer racks, although no option of the plan requires it."""
        if self._plan.drained:
            return
        live = self._state.brokers.is_live
        before = self._racks([b for b in brokers if live[b]] for _, brokers in self._rows)
        after = self._racks(self._known(change) for change, _ in self._rows)
        required = required_racks(np.array([len(change.replicas) for change, _ in self._rows], np.int64), before)
        for i in np.flatnonzero(after < required).tolist():
            yield f"{self._rows[i][0].name} from {before[i]} to {after[i]}"

    def _racks(self, brokers: Iterable[Iterable[int]]) -> I64:
        """int64, shape (n,): racks that the brokers of each change are in."""
        pairs = np.array([(i, b) for i, rows in enumerate(brokers) for b in rows], np.int64).reshape(-1, 2)
        return racks_by_partition(pairs[:, 0], rack_numbers(self._state)[pairs[:, 1]], len(self._rows))

    def closed_places(self) -> Iterator[str]:
        """Copies that would go to a broker or log dir which accepts none."""
        takes = takes_replicas(self._state, np.zeros(len(self._state.brokers), np.bool_))
        dirs = self._state.log_dirs
        open_dirs = {
            (int(b), path)
            for b, path, state in zip(dirs.broker.tolist(), dirs.path, dirs.state.tolist(), strict=True)
            if state == LogDirState.ONLINE
        }
        for change, brokers in self._rows:
            for broker_id, path in zip(change.replicas, change.log_dirs, strict=True):
                row = self._state.brokers.index_of(broker_id)
                if row < 0:
                    continue  # reported as drift
                if row not in brokers and not takes[row]:
                    yield f"{change.name} to broker {broker_id}"
                elif path != ANY_DIR and dirs.first[row] < dirs.first[row + 1] and (row, path) not in open_dirs:
                    yield f"{change.name} to {path} of broker {broker_id}"

    def _known(self, change: PartitionChange) -> Iterator[int]:
        return (row for row in map(self._state.brokers.index_of, change.replicas) if row >= 0)
