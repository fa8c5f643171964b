"""One data set on several clusters: its topics, and how far each is behind the one it is copied from.

A topic and its mirrors are recognised by name: equal names (MirrorMaker's IdentityReplicationPolicy), or the name of
another cluster and a dot in front (its DefaultReplicationPolicy, KIP-382), which says where it comes from; no cluster
mirrors itself. Offsets of a mirror are its own, and records that expire before they are copied never arrive: the
difference is an estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from kafkabal.clusters.unknown_cluster_id import is_cluster_known
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
    estimated: bool
    """The size of at least one replica was not reported."""
    records: int | None
    """End offsets minus start offsets, over all partitions."""
    end_offsets: int | None
    """Sum over all partitions; None if some are unknown."""
    origin: str | None = None
    """Cluster of the original; None for the original."""
    behind: int | None = None
    """End offsets of the original minus its own; None if one of them is unknown."""


def data_set_copies(
    clusters: Mapping[str, ClusterState], patterns: Sequence[str], unresponsive: Collection[str] = ()
) -> tuple[TopicCopy, ...]:
    """All copies of the topics that match a pattern, by data set, the original of each first.

    A cluster that appears under several names counts once, under the first of them; those without a known id are
    different ones.

    Parameters
    ----------
    clusters
        States by the name that mirrors use as a prefix.
    patterns
        Globs, matched against both the name of the data set and the topic's own.
    unresponsive
        Names of clusters that did not respond: others may have mirrors of their topics.
    """
    # two profiles of one cluster: its topics are not mirrors of each other
    ids = {
        name: ("id", state.cluster_id) if is_cluster_known(state.cluster_id) else ("name", name)
        for name, state in clusters.items()
    }
    once = {ids[name]: name for name in sorted(clusters, reverse=True)}
    names = {**{name: name for name in unresponsive}, **{name: once[ids[name]] for name in clusters}}
    copies = [copy for name in once.values() for copy in _copies_on(name, clusters[name], patterns, names)]
    by_set: dict[str, list[TopicCopy]] = {}
    for copy in copies:
        by_set.setdefault(copy.data_set, []).append(copy)
    return tuple(copy for data_set in sorted(by_set) for copy in _compared(by_set[data_set]))


def _copies_on(
    name: str, state: ClusterState, patterns: Sequence[str], names: Mapping[str, str]
) -> Iterable[TopicCopy]:
    partitions, figures = state.partitions, partition_figures(state)
    for row, topic in enumerate(state.topics.name):
        data_set, origin = _original(topic, name, names)
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
            estimated=bool(figures.estimated[own].any()),
            records=int((end - start).sum()) if is_known and bool((start >= 0).all()) else None,
            end_offsets=int(end.sum()) if is_known else None,
            origin=None if origin == name else origin,
        )


def _original(topic: str, cluster: str, names: Mapping[str, str]) -> tuple[str, str]:
    """Topic and cluster of the original, by the prefixes of the clusters that a topic was copied through.

    Parameters
    ----------
    names
        Cluster by each of its names.
    """
    ends = [at for at, sign in enumerate(topic[:-1]) if sign == "." and topic[:at] in names]
    if not ends or names[topic[: ends[-1]]] == cluster:
        return topic, cluster
    return _original(topic[ends[-1] + 1 :], names[topic[: ends[-1]]], names)


def _compared(copies: Sequence[TopicCopy]) -> list[TopicCopy]:
    """The copies of a data set, each compared with its original: of the bare names, the one with the most records."""
    ranked = sorted(
        copies, key=lambda c: (c.origin is not None, -(-1 if c.end_offsets is None else c.end_offsets), c.cluster)
    )
    originals = {copy.cluster: copy for copy in ranked if copy.origin is None}
    first = next(iter(originals), "")
    return [
        copy if copy.origin is None and copy.cluster == first else _mirror(copy, copy.origin or first, originals)
        for copy in ranked
    ]


def _mirror(copy: TopicCopy, origin: str, originals: Mapping[str, TopicCopy]) -> TopicCopy:
    end = originals[origin].end_offsets if origin in originals else None
    behind = None if end is None or copy.end_offsets is None else end - copy.end_offsets
    return replace(copy, origin=origin, behind=behind)
