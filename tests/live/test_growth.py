"""When a disk is full: forecast from history, compared with a real broker with short retention."""

from __future__ import annotations

import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from confluent_kafka import Producer

from kafkabal.advice import RecordAges, Relief, ReliefKind, read_record_ages, relief_of
from kafkabal.clusters import (
    Cluster,
    ConfigChange,
    ConfigResource,
    NewTopic,
    ReadRequest,
    ReplicaOn,
    ResourceKind,
    connect,
)
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.history import (
    HistoryFolder,
    PartitionGrowth,
    chosen_times,
    dir_growth,
    measure_growth,
    point_of,
    read_defaults,
    retention_of,
)
from kafkabal.model import F64, ClusterState, with_capacity
from kafkabal.sandbox import Sandbox, SandboxSpec
from tests.live.conftest import MakeSandbox

MB = 10**6
RECORD_BYTES = 10_000
GROWING, STEADY = 10, 4
RECORDED_AT_S = (15, 20, 25, 30, 35)
FORECAST_AT_S = 40
WATCHED_S = 150


class _Writer(threading.Thread):
    """Writes to every topic at its own rate until stopped."""

    def __init__(self, servers: str, rates: dict[str, float]) -> None:
        super().__init__(daemon=True)
        self._producer = Producer({"bootstrap.servers": servers, "linger.ms": 20})
        self._rates = rates
        self.stop = threading.Event()

    def run(self) -> None:
        """Send what the rate requires, ten times a second."""
        began, sent = time.monotonic(), dict.fromkeys(self._rates, 0.0)
        while not self.stop.is_set():
            elapsed = time.monotonic() - began
            for topic, rate in self._rates.items():
                while sent[topic] + RECORD_BYTES <= rate * elapsed:
                    self._producer.produce(topic, np.random.default_rng().bytes(RECORD_BYTES), partition=0)
                    sent[topic] += RECORD_BYTES
            self._producer.poll(0.1)
        self._producer.flush(10)


def _create(cluster: Cluster, sandbox: Sandbox, dirs: list[str]) -> dict[str, float]:
    """In each log dir a topic with short retention and, in growing ones, one without; returns bytes per second."""
    rates, topics, places = {}, [], {}
    for number, path in enumerate(dirs):
        wanted = {f"short-{number}": (0.1 + 0.02 * number, 20_000 + 10_000 * (number % 5))}
        if number < GROWING:
            wanted[f"grow-{number}"] = (0.1 + 0.03 * number, -1)
        for name, (mb_per_s, retention_ms) in wanted.items():
            rates[name] = mb_per_s * MB
            configs = {"retention.ms": str(retention_ms), "segment.bytes": "1048576", "file.delete.delay.ms": "1000"}
            topics.append(NewTopic(name=name, assignment=((1,),), configs=configs))
            places[ReplicaOn(name, 0, 1)] = path
    cluster.move_log_dirs(places)  # kept until the replica is created
    assert cluster.create_topics(topics) == {}
    return rates


def _read(cluster: Cluster) -> ClusterState:
    return cluster.read(ReadRequest(configs=True, offsets=True)).state


def _used(state: ClusterState) -> F64:
    held = state.replicas.log_dir
    known = held >= 0
    return np.bincount(held[known], np.maximum(state.replicas.size_bytes[known], 0), len(state.log_dirs))


def _kept_bytes(state: ClusterState) -> int:
    """Bytes of the topics in their steady state."""
    kept = np.array([name.startswith("kept") for name in state.topics.name])
    replicas = state.replicas
    return int(replicas.size_bytes[kept[state.partitions.topic][replicas.partition]].sum())


@pytest.mark.sweep
def test_half_the_retention_frees_the_predicted_bytes(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """Each suggested relief is applied, and the disk holds that much less, whether ages or rates are known.

    Half the retention frees something for topics in their steady state, and nothing for a young one."""
    properties = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"}
    sandbox = make_sandbox(SandboxSpec(brokers=1, log_dirs=1, properties=properties))
    with connect(ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))) as cluster:
        rates = {f"kept-{n}": (0.3 + 0.05 * n) * MB for n in range(8)}
        configs = {"retention.ms": "60000", "segment.bytes": "1048576", "file.delete.delay.ms": "1000"}
        young = {**configs, "retention.ms": "600000"}
        cluster.create_topics([NewTopic(name=name, assignment=((1,),), configs=configs) for name in rates])
        cluster.create_topics([NewTopic(name="young", assignment=((1,),), configs=young)])
        rates["young"] = 0.3 * MB
        writer = _Writer(sandbox.bootstrap_servers, rates)
        writer.start()
        time.sleep(75)
        folder = HistoryFolder(tmp_path, cluster.cluster_id())
        folder.record(point_of(_read(cluster), time.time()))
        time.sleep(20)
        state, now_s = _read(cluster), time.time()
        retention = retention_of(state, read_defaults(cluster, (1,)))
        growth = measure_growth(folder.read(folder.times_s()), state, now_s, retention.is_compacted)
        # half of the least retention with advice would be half an hour; a test has a minute
        assert isinstance(cluster, KafkaCluster)
        ages = read_record_ages(cluster.first_records_since, state, retention, now_s)

        def ways_of(growth: PartitionGrowth | None, ages: RecordAges | None) -> list[Relief]:
            found = relief_of(state, state.replicas.log_dir >= 0, growth, retention, ages=ages, least_kept_s=30.0)
            return [way for way in found if way.kind is ReliefKind.RETENTION]

        by_rate, by_age = ways_of(growth, None), ways_of(None, ages)
        for ways in (by_rate, by_age):
            assert {way.topic for way in ways} == {*rates} - {"young"}
        changes = [
            ConfigChange(ConfigResource(ResourceKind.TOPIC, way.topic), str(way.config), str(way.after))
            for way in by_age
        ]
        before = _kept_bytes(state)
        assert cluster.alter_configs(changes) == {}
        time.sleep(8)
        # the mean of some seconds, since each log varies by a segment
        after = np.mean([_kept_bytes(_read(cluster)) for _ in range(8) if time.sleep(1) is None])
        writer.stop.set()
        writer.join()
    freed = float(before - after)
    for name, ways in (("rates", by_rate), ("ages", by_age)):
        advised = sum(way.freed_bytes for way in ways)
        sys.stdout.write(f"freed {freed / MB:.1f} MB, by {name} {advised / MB:.1f} MB ({advised / freed - 1:+.1%})\n")
        assert abs(advised - freed) <= 0.05 * freed


@pytest.mark.sweep
def test_dates_of_the_forecast_and_when_there_is_none(make_sandbox: MakeSandbox, tmp_path: Path) -> None:
    """Nine of ten dates are within 10%, and no topic in its steady state is reported as full, as linear growth
    would."""
    properties = {"log.retention.check.interval.ms": "1000", "log.initial.task.delay.ms": "1000"}
    spec = SandboxSpec(brokers=1, log_dirs=GROWING + STEADY, properties=properties)
    sandbox = make_sandbox(spec)
    settings = ConnectionSettings(bootstrap_servers=(sandbox.bootstrap_servers,))
    with connect(settings) as cluster:
        dirs = list(_read(cluster).log_dirs.path)
        writer = _Writer(sandbox.bootstrap_servers, _create(cluster, sandbox, dirs))
        writer.start()
        began = time.monotonic()
        folder = HistoryFolder(tmp_path, cluster.cluster_id())
        for at_s in RECORDED_AT_S:
            time.sleep(max(0.0, began + at_s - time.monotonic()))
            folder.record(point_of(_read(cluster), time.time()))
        time.sleep(max(0.0, began + FORECAST_AT_S - time.monotonic()))
        state, now_s, forecast_at = _read(cluster), time.time(), time.monotonic()
        retention = retention_of(state, read_defaults(cluster, (1,)))
        points = folder.read(chosen_times(folder.times_s(), now_s, 3600))
        growth = measure_growth(points, state, now_s, retention.is_compacted)
        # disks that will be full after a while, but slightly larger for topics in their steady state
        used = _used(state)
        steady = dir_growth(state, growth, retention, points[0], now_s).steady_bytes
        sizes = [
            int(used[d] * (1.6 + 0.12 * d)) if d < GROWING else int(max(steady[d], used[d]) * 1.2 + 2 * MB)
            for d in range(len(dirs))
        ]
        state = with_capacity(state, {1: dict(zip(dirs, sizes, strict=True))})
        found = dir_growth(state, growth, retention, points[0], now_s)
        full_at: dict[int, float] = {}
        while time.monotonic() < forecast_at + WATCHED_S and not {*range(GROWING)} <= full_at.keys():
            time.sleep(0.5)
            now_used, at = _used(_read(cluster)), time.monotonic() - forecast_at
            for d in range(len(dirs)):
                if now_used[d] >= sizes[d]:
                    full_at.setdefault(d, at)
        writer.stop.set()
        writer.join()
    errors = []
    for d in range(len(dirs)):
        actual, forecast_s, line = full_at.get(d), float(found.full_s[d]), float(found.straight_full_s[d])
        error = abs(forecast_s - actual) / actual if actual else float("nan")
        errors.append(error)
        sys.stdout.write(
            f"{d}: full after {actual} s, forecast {forecast_s:.1f} ({error:.1%}), straight line {line:.1f}\n"
        )
    growing = [error for error in errors[:GROWING] if not np.isnan(error)]
    assert len(growing) >= 9
    assert sum(error <= 0.10 for error in growing) >= 0.9 * len(growing)
    assert all(np.isinf(found.full_s[GROWING:]))
    assert not {*range(GROWING, GROWING + STEADY)} & full_at.keys()
    assert np.isfinite(found.straight_full_s[GROWING:]).any()
