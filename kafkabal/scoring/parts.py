"""The parts of a score for one cluster, asked for once and checked: a plug-in may get them wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kafkabal.errors import UsageError
from kafkabal.scoring.protocol import n_holders

if TYPE_CHECKING:
    from kafkabal.model.state import F64, I32, ClusterState
    from kafkabal.scoring.protocol import Score


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Parts:
    """What :class:`~kafkabal.scoring.protocol.Score` declares, as float64 and int32 columns of the right length."""

    base_load: F64
    """NaN where the load of a holder is not known."""
    replica_load: F64
    leader_load: F64
    capacity: F64
    group: I32 | None
    holder_group: I32 | None


def parts_of(score: Score, cluster: ClusterState) -> Parts:
    """Ask a score for its parts.

    Raises
    ------
    UsageError
        If a part has the wrong length or is not finite, or a capacity is not above 0; it names score and part.
    """
    holders, replicas = n_holders(score.grain, cluster), len(cluster.replicas)
    base = _column(score, "base_load", score.base_load(cluster), holders)
    parts = Parts(
        base_load=base,
        replica_load=_column(score, "replica_load", score.replica_load(cluster), replicas),
        leader_load=_column(score, "leader_load", score.leader_load(cluster), len(cluster.partitions)),
        capacity=_column(score, "capacity", score.capacity(cluster), holders),
        group=_groups(score, "group", score.group(cluster), replicas),
        holder_group=_groups(score, "holder_group", score.holder_group(cluster), holders),
    )
    _check(score, "base_load", "finite or NaN", not np.isinf(base).any())
    _check(score, "replica_load", "finite", np.isfinite(parts.replica_load).all())
    _check(score, "leader_load", "finite", np.isfinite(parts.leader_load).all())
    _check(score, "capacity", "above 0", (np.isfinite(parts.capacity) & (parts.capacity > 0)).all())
    return parts


def _column(score: Score, part: str, values: F64, length: int) -> F64:
    column = np.asarray(values, np.float64)
    _check(score, part, f"of shape ({length},)", column.shape == (length,))
    return column


def _groups(score: Score, part: str, values: I32 | None, length: int) -> I32 | None:
    if values is None:
        return None
    column = np.asarray(values)
    _check(score, part, f"of shape ({length},)", column.shape == (length,))
    _check(score, part, "whole numbers from 0 on", column.dtype.kind in "iu" and not (column < 0).any())
    return column.astype(np.int32, copy=False)


def _check(score: Score, part: str, wanted: str, is_met: bool | np.bool_) -> None:
    if not is_met:
        raise UsageError(f"score {score.name!r}: its {part} is not {wanted}", hint="see docs/own-score.md")
