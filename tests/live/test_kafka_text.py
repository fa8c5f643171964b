"""A snapshot built from the output of Kafka's own tools equals one read from the cluster itself."""

from __future__ import annotations

import uuid
from pathlib import Path

from kafkabal.clusters.cluster_protocol import NewTopic, ReadRequest
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.snapshot.import_kafka_tools import read_kafka_text
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.model.cluster_rows import TopicRow
from kafkabal.model.cluster_state import ClusterState
from kafkabal.model.state_to_rows import topic_rows
from kafkabal.sandbox import Sandbox


def test_printed_and_read_states_agree(three_brokers: Sandbox, tmp_path: Path) -> None:
    """Replicas, leaders, ISR, sizes and log dirs of a topic are the same from the tools' text as from the brokers."""
    name = f"text-{uuid.uuid4().hex[:8]}.x-0"
    servers = tuple(three_brokers.bootstrap_servers.split(","))
    with KafkaCluster(ConnectionSettings(bootstrap_servers=servers)) as cluster:
        wanted = NewTopic(name=name, assignment=((1, 2), (2, 3), (3, 1)), configs={"retention.ms": "86400000"})
        assert cluster.create_topics([wanted]) == {}
        for tool, file in (("TopicCommand", "topics"), ("LogDirsCommand", "dirs")):
            (tmp_path / file).write_text(three_brokers.kafka_tool(tool, "--describe").stdout)
        read = cluster.read(ReadRequest()).state
    printed = read_kafka_text(tmp_path / "topics", tmp_path / "dirs", cluster_id="x", taken_at="")
    assert printed.brokers.id.tolist() == read.brokers.id.tolist()
    assert set(printed.log_dirs.path) == set(read.log_dirs.path)
    assert partitions_of(printed, name) == partitions_of(read, name)
    assert row_of(printed, name).configs is not None
    assert (row_of(printed, name).configs or {})["retention.ms"] == "86400000"


def row_of(state: ClusterState, topic: str) -> TopicRow:
    """The row of a topic."""
    return next(row for row in topic_rows(state) if row.topic == topic)


def partitions_of(state: ClusterState, topic: str) -> list[tuple[object, ...]]:
    """What both ways know of a topic's partitions; log dirs by path, since their order may differ."""
    found = []
    for p in row_of(state, topic).partitions:
        rows = [state.brokers.index_of(b) for b in p.replicas]
        dirs = [
            state.log_dirs.path[int(state.log_dirs.first[row]) + (d or 0)]
            for row, d in zip(rows, p.log_dirs or [], strict=True)
        ]
        found.append((p.partition, p.leader, p.replicas, p.isr, p.sizes, dirs))
    return found
