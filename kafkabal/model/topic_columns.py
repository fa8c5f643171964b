"""Converts topic rows to flat columns in the same order; nothing is sorted, and ids are kept as given."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any, cast

import numpy as np

from kafkabal.chunks import chunked
from kafkabal.errors import InvalidClusterError
from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.model.cluster_state import F64, I64, Bools
from kafkabal.wording import brokers_by_id, counted_noun

# few enough to be freed before a garbage collection visits them, which would double the time
_TOPICS_A_CHUNK = 128


@dataclass(frozen=True, slots=True)
class TopicColumns:
    """Columns of some topics in the order of the rows; broker ids and dir indexes as given."""

    names: list[str]
    configs: list[dict[str, str] | None]
    topic_id: list[str]
    internal: Bools
    partition_count: I64
    number: I64
    leader_id: I64
    replica_count: I64
    start_offset: I64
    end_offset: I64
    remote_bytes: I64
    in_bytes_per_s: F64
    out_bytes_per_s: F64
    replica_ids: I64
    size_bytes: I64
    dir_index: I64
    in_sync: Bools
    adding: Bools
    removing: Bools
    futures: list[tuple[int, int, int, int]]
    """(partition row within the chunk, broker id, dir index, bytes)"""


@dataclass(frozen=True, slots=True)
class _Lists:
    """Lists of broker ids in one column, with the partition of each id."""

    value: I64
    owner: I64

    @staticmethod
    def of(lists: list[list[int]]) -> _Lists:
        counts = np.fromiter(map(len, lists), np.int64, len(lists))
        return _Lists(
            value=np.fromiter(chain.from_iterable(lists), np.int64, int(counts.sum())),
            owner=np.repeat(np.arange(len(lists)), counts),
        )


def read_columns(topics: Iterable[TopicRow]) -> list[TopicColumns]:
    """Convert topics to columns, in chunks.

    Raises
    ------
    InvalidClusterError
        If a row contradicts itself.
    """
    chunks: list[TopicColumns] = []
    done = 0
    for rows in chunked(topics, _TOPICS_A_CHUNK):
        chunks.append(_read_chunk(rows, done))
        done += len(rows)
    return chunks or [_read_chunk([], 0)]


def _read_chunk(topics: list[TopicRow], topics_before: int) -> TopicColumns:
    parts = [p for t in topics for p in t.partitions]

    def fault(partition: int, message: str) -> InvalidClusterError:
        ends = np.cumsum([len(t.partitions) for t in topics])
        row = int(np.searchsorted(ends, partition, side="right"))
        name = f"{topics[row].topic}-{parts[partition].partition}"
        return InvalidClusterError(f"{name} {message}", topic_row=topics_before + row)

    replicas = _Lists.of([p.replicas for p in parts])
    counts = np.bincount(replicas.owner, minlength=len(parts)).astype(np.int64)
    if not counts.all():
        raise fault(int(np.argmin(counts)), "has no replicas")
    if replicas.value.size and replicas.value.min() < 0:
        at = int(np.argmin(replicas.value))
        raise fault(int(replicas.owner[at]), f"has a replica on broker {replicas.value[at]}")
    return TopicColumns(
        names=[t.topic for t in topics],
        configs=[t.configs for t in topics],
        topic_id=[t.topic_id for t in topics],
        internal=np.fromiter((t.internal for t in topics), np.bool_, len(topics)),
        partition_count=np.fromiter((len(t.partitions) for t in topics), np.int64, len(topics)),
        number=np.array([p.partition for p in parts], np.int64),
        leader_id=np.array([p.leader for p in parts], np.int64),
        replica_count=counts,
        start_offset=optional_ints([p.start_offset for p in parts]),
        end_offset=optional_ints([p.end_offset for p in parts]),
        remote_bytes=optional_ints([p.remote_bytes for p in parts]),
        in_bytes_per_s=_optional_floats([p.in_bytes_per_s for p in parts]),
        out_bytes_per_s=_optional_floats([p.out_bytes_per_s for p in parts]),
        replica_ids=replicas.value,
        size_bytes=_following([p.sizes for p in parts], "sizes", counts, fault),
        dir_index=_following([p.log_dirs for p in parts], "log_dirs", counts, fault),
        in_sync=_in_sync(parts, replicas, fault),
        adding=_marked([p.adding for p in parts], replicas, "is adding", fault),
        removing=_marked([p.removing for p in parts], replicas, "is removing", fault),
        futures=[(i, f.broker, f.log_dir, f.bytes) for i, p in enumerate(parts) if p.future for f in p.future],
    )


def optional_ints(values: list[int | None]) -> I64:
    """int64, one entry per value, -1 if unknown; most lists are all known or all unknown."""
    if None not in values:
        return np.fromiter(cast("list[int]", values), np.int64, len(values))
    if values.count(None) == len(values):
        return np.full(len(values), -1, np.int64)
    return np.fromiter((-1 if v is None else v for v in values), np.int64, len(values))


def _optional_floats(values: list[float | None]) -> F64:
    if values.count(None) == len(values):
        return np.full(len(values), np.nan)
    return np.fromiter((np.nan if v is None else v for v in values), np.float64, len(values))


def _following(
    lists: list[list[int | None] | None], key: str, counts: I64, fault: Callable[[int, str], InvalidClusterError]
) -> I64:
    """Column of a list that is parallel to ``replicas``; null, or a missing list, becomes -1."""
    filled = [[None] * n if v is None else v for v, n in zip(lists, counts.tolist(), strict=True)]
    lengths = np.fromiter(map(len, filled), np.int64, len(filled))
    wrong = np.flatnonzero(lengths != counts)
    if wrong.size:
        at = int(wrong[0])
        raise fault(at, f"has {counted_noun(counts[at], 'replica')} but {lengths[at]} {key}")
    return optional_ints(list(chain.from_iterable(filled)))


def _in_sync(parts: list[PartitionRow], replicas: _Lists, fault: Callable[[int, str], InvalidClusterError]) -> Bools:
    """Which replicas are in the ISR; if a partition's ISR is unknown, all its replicas count as in sync."""
    isr = [p.replicas if p.isr is None else p.isr for p in parts]
    return _named(_Lists.of(isr), replicas, "has in its ISR", fault)


def _marked(
    lists: list[list[int]], replicas: _Lists, what: str, fault: Callable[[int, str], InvalidClusterError]
) -> Bools:
    """Which replicas are listed, for lists that are mostly empty."""
    if not any(lists):
        return np.zeros(len(replicas.value), np.bool_)
    return _named(_Lists.of(lists), replicas, what, fault)


def _named(named: _Lists, replicas: _Lists, what: str, fault: Callable[[int, str], InvalidClusterError]) -> Bools:
    """Which replicas are in lists of broker ids, one list per partition."""
    if np.array_equal(named.value, replicas.value) and np.array_equal(named.owner, replicas.owner):
        return np.ones(len(replicas.value), np.bool_)
    ids = np.unique(np.concatenate((named.value, replicas.value)))
    named_key, key = (x.owner * len(ids) + np.searchsorted(ids, x.value) for x in (named, replicas))
    unknown = ~np.isin(named_key, key)
    if unknown.any():
        at = int(named.owner[unknown][0])
        raise fault(at, f"{what} {_ids(named.value[unknown & (named.owner == at)])}, not among its replicas")
    return np.isin(key, named_key)


def _ids(ids: Iterable[int]) -> str:
    return brokers_by_id(sorted(ids))


def join_columns(chunks: list[TopicColumns]) -> TopicColumns:
    """Concatenate all columns; fields that are lists instead of arrays are left out."""
    if len(chunks) == 1:
        return chunks[0]
    joined: dict[str, Any] = {}
    for f in fields(TopicColumns):
        values = [getattr(c, f.name) for c in chunks]
        joined[f.name] = np.concatenate(values) if isinstance(values[0], np.ndarray) else []
    return TopicColumns(**joined)
