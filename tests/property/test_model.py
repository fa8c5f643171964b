"""Properties of the conversion from rows to columns and back."""

from dataclasses import fields
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.replica_sizes import move_bytes, replica_bytes
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.model.state_to_rows import broker_rows, header_row, topic_rows
from kafkabal.testing.strategies import ClusterRows, cluster_rows, clusters

TABLES = ("brokers", "log_dirs", "topics", "partitions", "replicas", "futures")


def differences(a: ClusterState, b: ClusterState) -> list[str]:
    """Columns in which two states differ."""
    found = [name for name in ("cluster_id", "taken_at", "source", "racks") if getattr(a, name) != getattr(b, name)]
    for table in TABLES:
        for f in fields(getattr(a, table)):
            if not equal(getattr(getattr(a, table), f.name), getattr(getattr(b, table), f.name)):
                found.append(f"{table}.{f.name}")
    return found


def equal(a: Any, b: Any) -> bool:
    """Equal columns, unknown rates (NaN) being equal to each other."""
    if not isinstance(a, np.ndarray):
        return bool(a == b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@given(clusters())
def test_rows_made_from_columns_give_the_same_columns(cluster: ClusterState) -> None:
    """Nothing is lost or changed on the way to rows and back."""
    again = build_cluster(header_row(cluster), list(broker_rows(cluster)), list(topic_rows(cluster)))
    assert differences(cluster, again) == []


@given(cluster_rows(), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows: ClusterRows, random: Any) -> None:
    """Brokers, topics and partitions may come in any order: the columns are equal."""
    brokers, topics = list(rows.brokers), []
    random.shuffle(brokers)
    for topic in rows.topics:
        partitions = list(topic.partitions)
        random.shuffle(partitions)
        topics.append(
            type(topic)(**{**{f: getattr(topic, f) for f in topic.__struct_fields__}, "partitions": partitions})
        )
    random.shuffle(topics)
    assert differences(rows.build(), build_cluster(rows.header, brokers, topics)) == []


@given(cluster_rows())
def test_columns_agree_with_the_rows(rows: ClusterRows) -> None:
    """Every fact of the rows is found by its names, through the indexes of the columns."""
    cluster = rows.build()
    ids, r, p = cluster.brokers.id.tolist(), cluster.replicas, cluster.partitions
    by_name = {str(cluster.topic_partition(i)): i for i in range(len(p))}
    dirs = {row.broker: [d.path for d in row.log_dirs] for row in rows.brokers}
    assert len(by_name) == sum(len(t.partitions) for t in rows.topics)
    for topic in rows.topics:
        for row in topic.partitions:
            i = by_name[f"{topic.topic}-{row.partition}"]
            own = slice(int(p.first[i]), int(p.first[i + 1]))
            replicas = [ids[b] for b in r.broker[own]]
            assert replicas == row.replicas
            assert (ids[p.leader[i]] if p.leader[i] >= 0 else -1) == row.leader
            assert [v if v >= 0 else None for v in r.size_bytes[own].tolist()] == (row.sizes or [None] * len(replicas))
            assert [b for b, m in zip(replicas, r.in_sync[own], strict=True) if m] == [
                b for b in replicas if row.isr is None or b in row.isr
            ]
            assert {b for b, m in zip(replicas, r.adding[own], strict=True) if m} == set(row.adding)
            assert {b for b, m in zip(replicas, r.removing[own], strict=True) if m} == set(row.removing)
            where = [cluster.log_dirs.path[d] if d >= 0 else None for d in r.log_dir[own]]
            given = row.log_dirs or [None] * len(replicas)
            assert where == [dirs[b][d] if d is not None else None for b, d in zip(replicas, given, strict=True)]


@given(clusters())
def test_columns_cannot_be_changed(cluster: ClusterState) -> None:
    """A published state cannot change while it is in use."""
    for table in TABLES:
        for f in fields(getattr(cluster, table)):
            column = getattr(getattr(cluster, table), f.name)
            assert not isinstance(column, np.ndarray) or not column.flags.writeable, f"{table}.{f.name}"


@given(clusters())
def test_sizes_that_are_not_known_are_those_of_a_move(cluster: ClusterState) -> None:
    """A replica of unknown size counts as the leader's, or else the largest known one, or else nothing."""
    r, p = cluster.replicas, cluster.partitions
    move, each = move_bytes(cluster), replica_bytes(cluster)
    for i in range(len(p)):
        own = range(int(p.first[i]), int(p.first[i + 1]))
        known = {int(r.broker[j]): int(r.size_bytes[j]) for j in own if r.size_bytes[j] >= 0}
        expected = known.get(int(p.leader[i]), max(known.values(), default=-1))
        assert move[i] == expected
        assert [int(each[j]) for j in own] == [known.get(int(r.broker[j]), max(expected, 0)) for j in own]


@given(clusters())
def test_dirs_of_one_volume_belong_to_one_broker(cluster: ClusterState) -> None:
    """Volumes are numbered without gaps in the order of their first dir, and never shared between brokers."""
    volume, broker = cluster.log_dirs.volume, cluster.log_dirs.broker
    seen = list(dict.fromkeys(volume.tolist()))
    assert seen == list(range(len(seen)))
    assert all(len(set(broker[volume == v].tolist())) == 1 for v in seen)
