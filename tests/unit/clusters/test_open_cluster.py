"""From an address to the back end for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.clusters.snapshot.cluster import SnapshotCluster
from kafkabal.clusters.snapshot.snapshot_writer import write_snapshot
from kafkabal.config.connection_settings import ConnectionSettings, SnapshotAddress
from kafkabal.errors import ConfigError, InputFileError
from kafkabal.testing import cluster_builders


@pytest.fixture
def snapshot(tmp_path: Path) -> str:
    """A snapshot of a small cluster."""
    path = tmp_path / "s.jsonl"
    write_snapshot(cluster_builders.cluster(cluster_builders.brokers(1), []), path)
    return str(path)


def test_a_snapshot_is_opened(snapshot: str) -> None:
    """A file is opened as a cluster."""
    cluster = connect(SnapshotAddress(snapshot))
    assert isinstance(cluster, SnapshotCluster)
    assert cluster.name == snapshot


def test_a_live_cluster_is_not_contacted_before_the_first_request() -> None:
    """No server listens there, and nothing fails yet."""
    cluster = connect(ConnectionSettings(bootstrap_servers=("127.0.0.1:1", "127.0.0.1:2")))
    assert isinstance(cluster, KafkaCluster)
    assert cluster.name == "127.0.0.1:1,127.0.0.1:2"


def test_invalid_cluster_settings_are_reported_at_once(tmp_path: Path) -> None:
    """A missing file, and an invalid address."""
    with pytest.raises(InputFileError, match=r"nowhere\.jsonl"):
        connect(SnapshotAddress(str(tmp_path / "nowhere.jsonl")))
    with pytest.raises(ConfigError, match="invalid broker address: 'broker1'"):
        connect(ConnectionSettings(bootstrap_servers=("broker1",)))


def test_a_snapshot_needs_no_kafka_library(snapshot: str) -> None:
    """Working on files does not load libraries of live clusters."""
    program = (
        "import sys; from kafkabal.clusters.open_cluster import connect; "
        "from kafkabal.config.connection_settings import *; "
        f"connect(SnapshotAddress({snapshot!r})); "
        "print(sorted({'kafka', 'kazoo', 'confluent_kafka'} & sys.modules.keys()))"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
