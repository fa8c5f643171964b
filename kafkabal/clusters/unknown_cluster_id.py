"""The id of a cluster of which only files are known that do not contain it."""

from __future__ import annotations

from typing import Final

UNKNOWN_CLUSTER_ID: Final = "imported"
"""Two snapshots with this id may be of different clusters."""


def is_cluster_known(cluster_id: str) -> bool:
    """Whether an id tells clusters apart: everything with the same id is of the same cluster."""
    return cluster_id not in ("", UNKNOWN_CLUSTER_ID)


def are_two_clusters(first_id: str, second_id: str) -> bool:
    """Whether two ids are known to be of different clusters."""
    return first_id != second_id and is_cluster_known(first_id) and is_cluster_known(second_id)
