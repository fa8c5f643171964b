"""One data set on several clusters: its topics, and how far each is behind the one it is copied from.

A topic and its mirrors are recognised by name: equal names (MirrorMaker's IdentityReplicationPolicy), or the name of
another cluster and a dot in front (its DefaultReplicationPolicy, KIP-382). Offsets of a mirror are its own, and records
that expire before they are copied never arrive: the difference is an estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from kafkabal.inspection.partition_and_holder_figures import partition_figures
from kafkabal.model import ClusterState


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicCopy:
    """A topic of a data set on one cluster."""

    data_set: str
    """Name of the original topic."""
    cluster: str
    topic: str
    partitions: int
    replicas: int
    bytes: int
    """Of all replicas."""
    records: int | None
    """End offsets minus start offsets, over all partitions."""
    end_offsets: int | None
    """Sum over all partitions; None if some are unknown."""
    origin: str | None = None
    """Cluster that it is copied from; None for the original."""
    behind: int | None = None
    """End offsets of the original minus its own."""


def data_set_copies(clusters: Mapping[str, ClusterState], patterns: Sequence[str]) -> tuple[TopicCopy, ...]:
    """All copies of the topics that match a pattern, by data set, the original of each first.

    A cluster that appears under several names counts once, under the first of them.

    Parameters
    ----------
    clusters
        States by the name that mirrors use as a prefix.
    patterns
        Globs, matched against both the name of the data set and the topic's own.
    """
    # two profiles of one cluster: its topics are not mirrors of each other
    once = {clusters[name].cluster_id: name for name in sorted(clusters, reverse=True)}.values()
    copies = [copy for name in once for copy in _copies_on(name, clusters[name], patterns, clusters.keys())]
    by_set: dict[str, list[TopicCopy]] = {}
    for copy in copies:
        by_set.setdefault(copy.data_set, []).append(copy)
    return tuple(copy for data_set in sorted(by_set) for copy in _compared(by_set[data_set]))


def _copies_on(name: str, state: ClusterState, patterns: Sequence[str], names: Collection[str]) -> Iterable[TopicCopy]:
    partitions, figures = state.partitions, partition_figures(state)
    for row, topic in enumerate(state.topics.name):
        data_set = _data_set(topic, names)
        if not any(fnmatchcase(text, pattern) for text in (topic, data_set) for pattern in patterns):
            continue
        own = partitions.rows_of(row)
        start, end = partitions.start_offset[own], partitions.end_offset[own]
        is_known = bool((end >= 0).all())
        yield TopicCopy(
            data_set=data_set,
            cluster=name,
            topic=topic,
            partitions=own.stop - own.start,
            replicas=int(state.replication_factor[own].sum()),
            bytes=int(figures.bytes[own].sum()),
            records=int((end - start).sum()) if is_known and bool((start >= 0).all()) else None,
            end_offsets=int(end.sum()) if is_known else None,
        )


def _data_set(topic: str, names: Collection[str]) -> str:
    """The topic without the prefixes of the clusters it was copied through."""
    head, dot, rest = topic.partition(".")
    return _data_set(rest, names) if dot and rest and head in names else topic


def _compared(copies: Sequence[TopicCopy]) -> list[TopicCopy]:
    """The copies of a data set, compared with the original: the one with the bare name and the most records."""
    ranked = sorted(
        copies, key=lambda c: (c.topic != c.data_set, -(-1 if c.end_offsets is None else c.end_offsets), c.cluster)
    )
    origin, *mirrors = ranked
    return [origin, *(_mirror(mirror, origin) for mirror in mirrors)]


def _mirror(copy: TopicCopy, origin: TopicCopy) -> TopicCopy:
    known = origin.end_offsets is not None and copy.end_offsets is not None
    behind = origin.end_offsets - copy.end_offsets if known else None  # type: ignore[operator]  # both are known
    return replace(copy, origin=origin.cluster, behind=behind)
