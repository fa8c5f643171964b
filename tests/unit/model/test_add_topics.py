"""Topics added to a cluster."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.errors import InvalidClusterError
from kafkabal.model.add_topics import with_topics
from kafkabal.model.cluster_rows import PartitionRow, TopicRow
from kafkabal.model.cluster_state import CommittedOffsets
from kafkabal.model.rows_to_state import build_cluster
from kafkabal.model.state_to_rows import broker_rows, topic_rows
from kafkabal.testing import cluster_builders
from kafkabal.testing.strategies import ClusterRows, cluster_rows


@given(rows=cluster_rows(), data=st.data())
def test_adding_topics_equals_building_with_them(rows: ClusterRows, data: st.DataObject) -> None:
    """It makes no difference whether topics were there from the start or were added later."""
    later = data.draw(st.sets(st.sampled_from([t.topic for t in rows.topics]))) if rows.topics else set()
    # a broker without a row exists only through its replicas, so all brokers are given rows
    whole = build_cluster(rows.header, list(broker_rows(rows.build())), rows.topics)
    before = build_cluster(rows.header, list(broker_rows(whole)), [t for t in rows.topics if t.topic not in later])
    after = with_topics(before, [t for t in rows.topics if t.topic in later])
    assert list(topic_rows(after)) == list(topic_rows(whole))
    for table in ("topics", "partitions", "replicas", "futures"):
        for f in fields(getattr(after, table)):
            a, b = getattr(getattr(after, table), f.name), getattr(getattr(whole, table), f.name)
            assert a == b if isinstance(a, tuple) else (a.dtype == b.dtype and not a.flags.writeable), f.name


def test_committed_offsets_stay_with_their_partitions() -> None:
    """A topic that sorts before the others shifts their partitions, and committed offsets follow."""
    committed = CommittedOffsets(
        groups=("g",), group=np.zeros(1, np.int32), partition=np.zeros(1, np.int32), offset=np.array([5])
    )
    before = cluster_builders.cluster(cluster_builders.brokers(1), [cluster_builders.topic("m", [1])]).replace(
        committed=committed
    )
    after = with_topics(before, [cluster_builders.topic("a", [1], [1])])
    assert [str(after.topic_partition(p)) for p in after.committed.partition] == ["m-0"]


@pytest.mark.parametrize(
    ("name", "replicas", "message"),
    [("m", [1], "topic m already exists"), ("n", [9], "new topic on an unknown broker: 9")],
)
def test_invalid_topics_are_refused(name: str, replicas: Sequence[int], message: str) -> None:
    """A taken name and an unknown broker are named."""
    cluster = cluster_builders.cluster(cluster_builders.brokers(1), [cluster_builders.topic("m", [1])])
    with pytest.raises(InvalidClusterError, match=message):
        with_topics(cluster, [TopicRow(topic=name, partitions=[PartitionRow(partition=0, replicas=list(replicas))])])


def test_each_column_of_topics_is_listed_once() -> None:
    """Time grows with the number of topics, not with its square: with 33,000 of them, it took 12 s longer."""

    listed: list[int] = []

    class Counted(tuple[Mapping[str, str] | None, ...]):
        __slots__ = ()

        def __iter__(self) -> Iterator[Mapping[str, str] | None]:
            listed.append(len(self))
            return super().__iter__()

    before = cluster_builders.cluster(
        cluster_builders.brokers(1), [cluster_builders.topic(f"t{i}", [1]) for i in range(5)]
    )
    before = before.replace(topics=replace(before.topics, configs=Counted(before.topics.configs)))
    with_topics(before, [cluster_builders.topic("new", [1])])

    assert listed == [5]
