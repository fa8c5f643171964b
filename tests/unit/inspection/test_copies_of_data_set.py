"""Copies of a data set on several clusters: which one each mirrors, and how far it is behind."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kafkabal.inspection import TopicCopy, data_set_copies
from kafkabal.model import ClusterState
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def a_cluster(cluster_id: str, **end_offsets: int) -> ClusterState:
    """One topic of one partition for each name, in which ``_`` stands for a dot."""
    names = sorted(name.replace("_", ".") for name in end_offsets)
    state = cluster(brokers(1), [topic(name, [1]) for name in names])
    ends = np.array([end_offsets[name.replace(".", "_")] for name in names])
    rows = replace(state.partitions, start_offset=ends * 0, end_offset=ends)
    return replace(state, cluster_id=cluster_id, partitions=rows)


def origins(copies: tuple[TopicCopy, ...]) -> dict[tuple[str, str], tuple[str, str | None, int | None]]:
    """By cluster and topic: the data set, the cluster of its original, and how far it is behind."""
    return {(c.cluster, c.topic): (c.data_set, c.origin, c.behind) for c in copies}


def test_a_mirror_is_compared_with_the_topic_it_is_copied_from() -> None:
    """The name of a mirror says whose it is: of two clusters that mirror each other, the larger is not that of both."""
    clusters = {
        "east": a_cluster("e", images=1000, west_images=290),
        "west": a_cluster("w", images=300, east_images=990, east_gone=5),
        "south": a_cluster("s", west_east_images=980),
    }
    found = origins(data_set_copies(clusters, ["images", "gone"]))
    assert found == {
        ("east", "images"): ("images", None, None),
        ("west", "images"): ("images", "east", 700),
        ("west", "east.images"): ("images", "east", 10),
        ("south", "west.east.images"): ("images", "east", 20),
        ("east", "west.images"): ("images", "west", 10),
        ("west", "east.gone"): ("gone", "east", None),
    }


def test_a_mirror_of_a_cluster_that_does_not_respond_is_found() -> None:
    """It is still a copy of that data set, and no original; how far it is behind is unknown."""
    found = data_set_copies({"west": a_cluster("w", images=300, east_images=990)}, ["images"], ["east"])
    assert origins(found) == {
        ("west", "images"): ("images", None, None),
        ("west", "east.images"): ("images", "east", None),
    }
    assert origins(data_set_copies({"west": a_cluster("w", east_images=990)}, ["images"], ["east"])) == {
        ("west", "east.images"): ("images", "east", None)
    }


def test_no_cluster_mirrors_itself() -> None:
    """A topic that begins with the name of its own cluster, or with another profile of it, is an original there."""
    east = a_cluster("e", east_a=10, admin_b=10)
    west = a_cluster("w", east_east_a=9, east_admin_b=8)
    found = origins(data_set_copies({"east": east, "admin": east, "west": west}, ["*"]))
    assert found == {
        ("admin", "east.a"): ("east.a", None, None),
        ("admin", "admin.b"): ("admin.b", None, None),
        ("west", "east.east.a"): ("east.a", "admin", 1),
        ("west", "east.admin.b"): ("admin.b", "admin", 2),
    }
