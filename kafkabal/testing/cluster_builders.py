"""Short functions to describe a cluster in a test."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafkabal.model import (
    SNAPSHOT_VERSION,
    BrokerRow,
    ClusterState,
    HeaderRow,
    LogDirRow,
    PartitionRow,
    TopicRow,
    build_cluster,
)

GB = 10**9


def header(cluster_id: str = "simulated") -> HeaderRow:
    """A header with a fixed time."""
    return HeaderRow(kafkabal_snapshot=SNAPSHOT_VERSION, cluster_id=cluster_id, taken_at="2026-01-01T00:00:00Z")


def brokers(count: int, *, racks: int = 1, dirs: int = 1, dir_bytes: int = 1000 * GB) -> list[BrokerRow]:
    """Brokers 1 to ``count``, racks alternating, every log dir on its own volume."""
    return [
        BrokerRow(
            broker=b,
            rack=f"r{(b - 1) % racks}",
            host=f"b{b}",
            port=9092,
            log_dirs=[
                LogDirRow(path=f"/d{d}", total_bytes=dir_bytes, usable_bytes=dir_bytes, volume=f"v{d}")
                for d in range(dirs)
            ],
        )
        for b in range(1, count + 1)
    ]


def partition(
    number: int,
    replicas: Sequence[int],
    size_bytes: int = GB,
    *,
    leader: int | None = None,
    log_dirs: Sequence[int] | None = None,
) -> PartitionRow:
    """A partition with all replicas in sync, led by the first one by default."""
    return PartitionRow(
        partition=number,
        leader=replicas[0] if leader is None else leader,
        replicas=list(replicas),
        isr=list(replicas),
        sizes=[size_bytes] * len(replicas),
        log_dirs=list(log_dirs or [0] * len(replicas)),
    )


def topic(name: str, *assignments: Sequence[int], size_bytes: int = GB) -> TopicRow:
    """A topic with one partition per replica list."""
    return TopicRow(topic=name, partitions=[partition(i, a, size_bytes) for i, a in enumerate(assignments)])


def cluster(broker_rows: Sequence[BrokerRow], topics: Iterable[TopicRow]) -> ClusterState:
    """The state built from these rows."""
    return build_cluster(header(), broker_rows, topics)
