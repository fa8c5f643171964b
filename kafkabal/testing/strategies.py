"""Hypothesis strategies that draw small, untidy clusters, as the rows that a back end would pass on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from kafkabal.model import (
    SNAPSHOT_VERSION,
    BrokerRow,
    ClusterState,
    FutureRow,
    HeaderRow,
    LogDirRow,
    PartitionRow,
    TopicRow,
    build_cluster,
)

_NAMES = st.text("abcXYZ019._-", min_size=1, max_size=6)
_BYTES = st.integers(0, 10**6) | st.integers(0, 2**53)
# squares of smaller ones would be 0: a score that gives them is refused
_RATES = st.just(0.0) | st.floats(1e-100, 1e9) | st.none()


@dataclass(frozen=True, slots=True)
class ClusterRows:
    """Rows of one cluster."""

    header: HeaderRow
    brokers: tuple[BrokerRow, ...]
    topics: tuple[TopicRow, ...]

    def build(self) -> ClusterState:
        """The state built from these rows."""
        return build_cluster(self.header, self.brokers, self.topics)


@st.composite
def cluster_rows(draw: DrawFn, *, max_brokers: int = 6, tidy: bool = False) -> ClusterRows:
    """A cluster; a tidy one has no dead or unreporting brokers, no offline dirs and no unknown values."""
    ids = draw(st.lists(st.integers(0, 2000), min_size=1, max_size=max_brokers, unique=True))
    brokers = tuple(draw(_broker(broker_id, tidy=tidy)) for broker_id in ids)
    strangers = [] if tidy else draw(st.lists(st.integers(2001, 2003), max_size=1))
    dirs = {b.broker: 0 if b.state == "dead" else len(b.log_dirs) for b in brokers}
    names = draw(st.lists(_NAMES, max_size=4, unique=True))
    topics = tuple(draw(_topic(name, [*ids, *strangers], dirs, tidy=tidy)) for name in names)
    header = HeaderRow(
        kafkabal_snapshot=SNAPSHOT_VERSION,
        cluster_id=draw(_NAMES),
        taken_at="2026-01-01T00:00:00Z",
        source=draw(st.sampled_from(["kafka", "synthetic"])),
    )
    return ClusterRows(header, brokers, topics)


def clusters(*, max_brokers: int = 6, tidy: bool = False) -> SearchStrategy[ClusterState]:
    """The states of :func:`cluster_rows`."""
    return cluster_rows(max_brokers=max_brokers, tidy=tidy).map(ClusterRows.build)


@st.composite
def _broker(draw: DrawFn, broker_id: int, *, tidy: bool) -> BrokerRow:
    state: Literal["online", "dead"] = "online"
    if not tidy:
        state = draw(st.sampled_from(("online", "online", "online", "dead")))
    least = 1 if tidy else 0
    return BrokerRow(
        broker=broker_id,
        rack=draw(st.sampled_from([None, "r0", "r1", "r2"])),
        host=draw(st.sampled_from(["", "h1", "h2"])),
        port=draw(st.sampled_from([-1, 9092])),
        log_dirs=[draw(_log_dir(i, tidy=tidy)) for i in range(draw(st.integers(least, 3)))],
        state=state,
    )


@st.composite
def _log_dir(draw: DrawFn, number: int, *, tidy: bool) -> LogDirRow:
    total = draw(st.sampled_from([2**31, 2**40, 2**41]) if tidy else st.none() | st.sampled_from([0, 2**31, 2**40]))
    return LogDirRow(
        path=f"/d{number}",
        total_bytes=total,
        usable_bytes=draw(st.integers(0, total)) if total is not None else None,
        state="online" if tidy else draw(st.sampled_from(["online", "online", "offline", "cordoned"])),
        volume=None if tidy else draw(st.sampled_from([None, "v0", "v1"])),
    )


@st.composite
def _topic(draw: DrawFn, name: str, ids: Sequence[int], dirs: dict[int, int], *, tidy: bool) -> TopicRow:
    numbers = draw(st.lists(st.integers(0, 20), max_size=4, unique=True))
    configs = draw(st.none() | st.dictionaries(_NAMES, _NAMES, max_size=2))
    return TopicRow(
        topic=name,
        partitions=[draw(_partition(number, ids, dirs, tidy=tidy)) for number in numbers],
        configs=configs,
        internal=draw(st.booleans()),
    )


@st.composite
def _partition(draw: DrawFn, number: int, ids: Sequence[int], dirs: dict[int, int], *, tidy: bool) -> PartitionRow:
    replicas = draw(st.lists(st.sampled_from(list(ids)), min_size=1, max_size=min(4, len(ids)), unique=True))
    some_replicas = st.lists(st.sampled_from(replicas), unique=True)
    in_dir = [_dir_index(dirs.get(b, 0), tidy=tidy) for b in replicas]
    size = _BYTES if tidy else st.none() | _BYTES
    moving = [b for b in replicas if dirs.get(b, 0)]
    to_other_dirs = draw(st.lists(st.sampled_from(moving), max_size=2, unique=True)) if moving and not tidy else []
    return PartitionRow(
        partition=number,
        leader=draw(st.sampled_from(replicas if tidy else [*replicas, -1])),
        replicas=replicas,
        isr=list(replicas) if tidy else draw(st.none() | some_replicas),
        sizes=[draw(size) for _ in replicas] if tidy or draw(st.booleans()) else None,
        log_dirs=[draw(index) for index in in_dir] if tidy or draw(st.booleans()) else None,
        adding=[] if tidy else draw(some_replicas),
        # Kafka rejects an empty target set, so one replica always stays
        removing=[] if tidy else draw(some_replicas.filter(lambda chosen: len(chosen) < len(replicas))),
        start_offset=draw(st.none() | st.integers(0, 2**62)),
        end_offset=draw(st.none() | st.integers(0, 2**62)),
        remote_bytes=draw(st.none() | st.integers(0, 2**50)),
        in_bytes_per_s=draw(_RATES),
        out_bytes_per_s=draw(_RATES),
        future=[
            FutureRow(broker=b, log_dir=draw(st.integers(0, dirs[b] - 1)), bytes=draw(_BYTES)) for b in to_other_dirs
        ],
    )


def _dir_index(count: int, *, tidy: bool) -> SearchStrategy[int | None]:
    if not count:
        return st.none()
    return st.integers(0, count - 1) if tidy else st.none() | st.integers(0, count - 1)
