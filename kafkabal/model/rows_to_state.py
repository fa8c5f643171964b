"""Builds a cluster state from rows: checks every row, sorts, and freezes.

Topics come as an iterable and are converted in chunks, so that the rows of a large cluster need not all exist at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields
from itertools import pairwise
from typing import Any

import numpy as np

from kafkabal.errors import InvalidClusterError
from kafkabal.model.cluster_rows import BrokerRow, HeaderRow, TopicRow
from kafkabal.model.cluster_state import (
    I32,
    I64,
    Brokers,
    BrokerState,
    ClusterState,
    CommittedOffsets,
    FutureReplicas,
    LogDirs,
    LogDirState,
    Partitions,
    Replicas,
    Topics,
    freeze,
)
from kafkabal.model.topic_columns import TopicColumns, join_columns, optional_ints, read_columns
from kafkabal.model.volumes import number_volumes

_MOST_BYTES = 2**61
"""A quarter of int64's range: sums are doubled for copies, and limits are added to them."""
_DIR_STATES = {"online": LogDirState.ONLINE, "offline": LogDirState.OFFLINE, "cordoned": LogDirState.CORDONED}


def build_cluster(
    header: HeaderRow,
    brokers: Sequence[BrokerRow],
    topics: Iterable[TopicRow],
    *,
    committed: CommittedOffsets | None = None,
) -> ClusterState:
    """Turn rows into a :class:`ClusterState`.

    Brokers and topics may come in any order. A broker that only appears in a replica list is added as dead.

    Parameters
    ----------
    committed
        Committed offsets of consumer groups; ``partition`` counts partitions in the order of the rows.

    Raises
    ------
    InvalidClusterError
        If a row contradicts itself or another row; the message names what and in which row.
    """
    chunks = read_columns(topics)
    broker_table, dir_table, racks = _broker_tables(brokers, np.concatenate([c.replica_ids for c in chunks]))
    names = [name for c in chunks for name in c.names]
    order = _topic_order(names)
    columns = join_columns(chunks)
    topic_table = Topics(
        name=tuple(names[i] for i in order),
        internal=columns.internal[order],
        configs=tuple(_pick([config for c in chunks for config in c.configs], order)),
        topic_id=tuple(_pick([topic_id for c in chunks for topic_id in c.topic_id], order)),
    )
    partitions_order, topic_of = _partition_order(columns, order, names)
    partitions, replicas, rank = _partition_tables(columns, broker_table, dir_table, partitions_order, topic_of)
    futures = _future_table(chunks, partitions, replicas, broker_table, dir_table, rank)
    offsets = _renumber(committed, rank) if committed is not None else CommittedOffsets()
    dir_table = number_volumes(broker_table, dir_table, replicas, brokers)
    for table in (broker_table, dir_table, topic_table, partitions, replicas, futures, offsets):
        freeze(*(v for f in fields(table) if isinstance(v := getattr(table, f.name), np.ndarray)))
    return ClusterState(
        cluster_id=header.cluster_id,
        taken_at=header.taken_at,
        source=header.source,
        racks=racks,
        brokers=broker_table,
        log_dirs=dir_table,
        topics=topic_table,
        partitions=partitions,
        replicas=replicas,
        futures=futures,
        committed=offsets,
        reassignments_known=header.reassignments_known,
    )


def _broker_tables(rows: Sequence[BrokerRow], replica_ids: I64) -> tuple[Brokers, LogDirs, tuple[str, ...]]:
    by_id: dict[int, BrokerRow] = {}
    for i, row in enumerate(rows):
        if row.broker in by_id:
            raise InvalidClusterError(f"duplicate broker: {row.broker}", broker_row=i)
        if row.broker < 0:
            raise InvalidClusterError(f"negative broker id: {row.broker}", broker_row=i)
        _check_dirs(row, i)
        by_id[row.broker] = row
    for unregistered in np.unique(replica_ids):
        by_id.setdefault(int(unregistered), BrokerRow(broker=int(unregistered), state="dead"))
    ordered = [by_id[i] for i in sorted(by_id)]
    racks = tuple(sorted({row.rack for row in ordered if row.rack is not None}))
    rack_index = {rack: i for i, rack in enumerate(racks)}
    brokers = Brokers(
        id=np.array([row.broker for row in ordered], np.int32),
        rack=np.array([-1 if r.rack is None else rack_index[r.rack] for r in ordered], np.int32),
        state=np.array([BrokerState.DEAD if r.state == "dead" else BrokerState.ONLINE for r in ordered], np.int8),
        host=tuple(row.host for row in ordered),
        port=np.array([row.port for row in ordered], np.int32),
    )
    return brokers, _dir_table(ordered), racks


def _check_dirs(row: BrokerRow, at: int) -> None:
    paths = [d.path for d in row.log_dirs]
    if len(set(paths)) != len(paths):
        raise InvalidClusterError(f"broker {row.broker}: duplicate log dir", broker_row=at)
    for d in row.log_dirs:
        if any(v is not None and v < 0 for v in (d.total_bytes, d.usable_bytes)):
            raise InvalidClusterError(f"log dir {d.path} of broker {row.broker} has negative bytes", broker_row=at)
        # a total of 0 is unknown
        if d.total_bytes and (d.usable_bytes or 0) > d.total_bytes:
            raise InvalidClusterError(
                f"log dir {d.path} of broker {row.broker}: usable_bytes {d.usable_bytes} exceeds "
                f"total_bytes {d.total_bytes}",
                broker_row=at,
            )


def _dir_table(ordered: list[BrokerRow]) -> LogDirs:
    dirs = [d for row in ordered for d in row.log_dirs]
    _check_sum(optional_ints([d.total_bytes for d in dirs]), "log dirs")
    counts = [len(row.log_dirs) for row in ordered]
    return LogDirs(
        broker=np.repeat(np.arange(len(ordered), dtype=np.int32), counts),
        path=tuple(d.path for d in dirs),
        # some file systems report a total of 0: that says nothing about the size, and nothing about the room
        total_bytes=optional_ints([d.total_bytes or None for d in dirs]),
        usable_bytes=optional_ints([d.usable_bytes if d.total_bytes != 0 else None for d in dirs]),
        state=np.array([_DIR_STATES[d.state] for d in dirs], np.int8),
        volume=np.arange(len(dirs), dtype=np.int32),
        first=np.concatenate(([0], np.cumsum(counts, dtype=np.int64))).astype(np.int64),
    )


def _check_sum(size_bytes: I64, what: str) -> None:
    """Check that the sum of all sizes, doubled for copies in flight, fits into 64 bits."""
    if size_bytes.sum(dtype=np.float64) > _MOST_BYTES:
        raise InvalidClusterError(f"the bytes of all {what} add up to more than {_MOST_BYTES:,}")


def _topic_order(names: list[str]) -> I64:
    order = sorted(range(len(names)), key=names.__getitem__)
    for a, b in pairwise(order):
        if names[a] == names[b]:
            raise InvalidClusterError(f"duplicate topic: {names[a]}", topic_row=max(a, b))
    return np.array(order, np.int64)


def _pick(values: list[Any], order: I64) -> list[Any]:
    return [values[i] for i in order]


def _partition_order(columns: TopicColumns, topic_order: I64, names: list[str]) -> tuple[I64, I32]:
    """Rows of the partitions in (topic, number) order, and the topic of each."""
    rank = np.empty(len(topic_order), np.int32)
    rank[topic_order] = np.arange(len(topic_order), dtype=np.int32)
    topic = np.repeat(rank, columns.partition_count)
    order = np.lexsort((columns.number, topic))
    topic, number = topic[order], columns.number[order]
    if number.size and number.min() < 0:
        bad = topic_order[topic[np.argmin(number)]]
        raise InvalidClusterError(f"topic {names[bad]} has a negative partition number", topic_row=int(bad))
    twice = np.flatnonzero((np.diff(topic) == 0) & (np.diff(number) == 0))
    if twice.size:
        bad = topic_order[topic[twice[0]]]
        raise InvalidClusterError(f"duplicate partition: {names[bad]}-{number[twice[0]]}", topic_row=int(bad))
    return order, topic


def _partition_tables(
    columns: TopicColumns, brokers: Brokers, dirs: LogDirs, order: I64, topic: I32
) -> tuple[Partitions, Replicas, I64]:
    """Sorted tables, and the new row of each partition row of the input."""
    first_before = np.concatenate(([0], np.cumsum(columns.replica_count)))
    counts = columns.replica_count[order]
    first = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    partition = np.repeat(np.arange(len(order), dtype=np.int32), counts)
    given = np.arange(len(partition)) - first[partition] + first_before[order][partition]
    broker = np.searchsorted(brokers.id, columns.replica_ids[given]).astype(np.int32)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))

    def fault(replica: int, message: str) -> InvalidClusterError:
        row = int(order[partition[replica]])
        topic_row = int(np.searchsorted(np.cumsum(columns.partition_count), row, side="right"))
        return InvalidClusterError(f"partition {columns.number[row]} {message}", topic_row=topic_row)

    _check_distinct(partition, broker, brokers, fault)
    size = columns.size_bytes[given]
    if size.size and size.min() < -1:
        raise fault(int(np.argmin(size)), "has a negative size")
    _check_sum(size, "replicas")
    replicas = Replicas(
        partition=partition,
        broker=broker,
        log_dir=_dir_rows(columns.dir_index[given], broker, brokers, dirs, fault),
        size_bytes=size,
        in_sync=columns.in_sync[given],
        adding=columns.adding[given],
        removing=columns.removing[given],
    )
    partitions = Partitions(
        topic=topic,
        number=columns.number[order].astype(np.int32),
        leader=_leaders(columns.leader_id[order], replicas, brokers, first, fault),
        first=first,
        start_offset=columns.start_offset[order],
        end_offset=columns.end_offset[order],
        remote_bytes=columns.remote_bytes[order],
        in_bytes_per_s=columns.in_bytes_per_s[order],
        out_bytes_per_s=columns.out_bytes_per_s[order],
    )
    return partitions, replicas, rank


def _check_distinct(
    partition: I32, broker: I32, brokers: Brokers, fault: Callable[[int, str], InvalidClusterError]
) -> None:
    key = partition.astype(np.int64) * len(brokers) + broker
    if len(key) > 1:
        # lists are short: comparing each replica with the next few is faster than sorting
        longest = int(np.bincount(partition).max())
        for step in range(1, longest):
            same = np.flatnonzero(key[step:] == key[:-step])
            if same.size:
                raise fault(int(same[0]), f"has broker {brokers.id[broker[same[0]]]} twice among its replicas")


def _dir_rows(
    index: I64,
    broker: I32,
    brokers: Brokers,
    dirs: LogDirs,
    fault: Callable[[int, str], InvalidClusterError],
) -> I32:
    known = index >= 0
    if (index < -1).any():
        raise fault(int(np.argmin(index)), "has a negative log dir index")
    beyond = np.flatnonzero(known & (index >= np.diff(dirs.first)[broker]))
    if beyond.size:
        at = int(beyond[0])
        raise fault(at, f"is in log dir {index[at]} of broker {brokers.id[broker[at]]}, which has fewer log dirs")
    return np.where(known, dirs.first[broker] + index, -1).astype(np.int32)


def _leaders(
    leader_id: I64,
    replicas: Replicas,
    brokers: Brokers,
    first: I64,
    fault: Callable[[int, str], InvalidClusterError],
) -> I32:
    leads = brokers.id[replicas.broker] == leader_id[replicas.partition]
    leader = np.full(len(leader_id), -1, np.int32)
    leader[replicas.partition[leads]] = replicas.broker[leads]
    unregistered = np.flatnonzero((leader_id >= 0) & (leader < 0))
    if unregistered.size:
        at = int(unregistered[0])
        raise fault(int(first[at]), f"is led by broker {leader_id[at]}, not among its replicas")
    return leader


def _future_table(
    chunks: list[TopicColumns],
    partitions: Partitions,
    replicas: Replicas,
    brokers: Brokers,
    dirs: LogDirs,
    rank: I64,
) -> FutureReplicas:
    rows: list[tuple[int, int, int]] = []
    before = topics_before = 0
    for chunk in chunks:
        ends = np.cumsum(chunk.partition_count)
        for partition, broker_id, dir_index, size_bytes in chunk.futures:
            replica = _replica_on(int(rank[before + partition]), broker_id, partitions, replicas, brokers)
            broker = int(replicas.broker[replica]) if replica >= 0 else -1
            if replica < 0 or not 0 <= dir_index < dirs.first[broker + 1] - dirs.first[broker]:
                raise InvalidClusterError(
                    f"partition {chunk.number[partition]} has a future replica in log dir {dir_index} "
                    f"of broker {broker_id}, which {'has fewer log dirs' if replica >= 0 else 'has no replica of it'}",
                    topic_row=topics_before + int(np.searchsorted(ends, partition, side="right")),
                )
            rows.append((replica, int(dirs.first[broker]) + dir_index, size_bytes))
        before += len(chunk.number)
        topics_before += len(chunk.names)
    table = np.array(sorted(rows), np.int64).reshape(-1, 3)
    return FutureReplicas(
        replica=table[:, 0].astype(np.int32),
        log_dir=table[:, 1].astype(np.int32),
        size_bytes=table[:, 2].copy(),
    )


def _replica_on(partition: int, broker_id: int, partitions: Partitions, replicas: Replicas, brokers: Brokers) -> int:
    """Row of a partition's replica on a broker, -1 if there is none."""
    first, end = int(partitions.first[partition]), int(partitions.first[partition + 1])
    at = np.flatnonzero(brokers.id[replicas.broker[first:end]] == broker_id)
    return first + int(at[0]) if at.size else -1


def _renumber(committed: CommittedOffsets, rank: I64) -> CommittedOffsets:
    partition = rank[committed.partition].astype(np.int32)
    order = np.lexsort((partition, committed.group))
    return CommittedOffsets(
        groups=committed.groups,
        group=committed.group[order],
        partition=partition[order],
        offset=committed.offset[order],
    )
