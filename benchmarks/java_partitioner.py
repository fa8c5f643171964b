"""The partitioner for Java clients against Kafka's own, by Kafka's own performance tool, in interleaved pairs.

::

    python -m benchmarks.java_partitioner --pairs 5

Four real brokers, six partitions (one a broker and a second one on two), replication factor 1: the uneven topic of
experiment 1. Each pair writes the same records with Kafka's partitioner and with ``kafkabal-routing.jar``, while
``kafkabal route --publish`` runs as its users run it. Bytes are those of the brokers' log dirs.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep

import numpy as np
from confluent_kafka.admin import AdminClient

from kafkabal.clusters import NewTopic, ReadRequest
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.model import replica_bytes
from kafkabal.routing import PARTITIONER_CLASS, build_partitioner
from kafkabal.sandbox import (
    Sandbox,
    SandboxSpec,
    default_cache,
    ensure_client_jars,
    ensure_jars,
    ensure_java_compiler,
    java_binary,
    java_command,
    run_java,
    up,
)

_CLIENTS = ("3.9.2", "4.1.2", "4.3.1")
_BROKERS, _EXTRA = 4, 2
_TOOL = "org.apache.kafka.tools.ProducerPerformance"
_STATED = re.compile(r"([\d.]+) records/sec .*?(\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th")
_HEAP_BYTES = 512 * 2**20
_TOOL_S = 300.0
_GONE_S = 30.0
_UNLIMITED = -1


@dataclass(frozen=True, slots=True)
class Load:
    """What the tool is to write."""

    records: int
    record_bytes: int
    per_s: int = _UNLIMITED


@dataclass(frozen=True, slots=True)
class Written:
    """What became of it."""

    per_s: float
    p50_ms: float
    p99_ms: float
    max_over_mean: float


class Bench:
    """One sandbox, the jar, and a topic a run."""

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._jar = folder / "kafkabal-routing.jar"
        build_partitioner(
            self._jar,
            ensure_client_jars(default_cache()),
            java=java_binary(),
            compiler=ensure_java_compiler(default_cache()),
        )
        servers = tuple(sandbox.bootstrap_servers.split(","))
        self._cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=servers))
        self._admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers, "log_level": 2})
        self._brokers = sorted(self._cluster.broker_ids())
        self._runs = 0

    def run(self, version: str, load: Load, *, with_jar: bool) -> Written:
        """Write to a topic of its own."""
        self._runs += 1
        topic = f"perf-{self._runs}"
        leaders = [*self._brokers, *self._brokers[:_EXTRA]]
        self._cluster.create_topics([NewTopic(name=topic, assignment=tuple((b,) for b in leaders))])
        try:
            if not with_jar:
                per_s, p50_ms, p99_ms = self._write(version, topic, load, ())
            else:
                with self._published(topic):
                    per_s, p50_ms, p99_ms = self._write(
                        version, topic, load, (f"partitioner.class={PARTITIONER_CLASS}",)
                    )
            return Written(per_s, p50_ms, p99_ms, self._max_over_mean(topic))
        finally:
            self._admin.delete_topics([topic])[topic].result(30)
            self._await_gone(topic)

    @contextmanager
    def _published(self, topic: str) -> Iterator[None]:
        words = [
            "route",
            topic,
            "--publish",
            "--refresh",
            "1s",
            "-o",
            "jsonl",
            "--profile",
            str(self._sandbox.profile_path),
        ]
        with subprocess.Popen(
            [sys.executable, "-m", "kafkabal.cli.main", *words], stdout=subprocess.PIPE, text=True
        ) as publisher:
            try:
                assert publisher.stdout is not None
                json.loads(publisher.stdout.readline())
                yield
            finally:
                publisher.send_signal(signal.SIGINT)
                publisher.communicate(timeout=30)

    def _write(self, version: str, topic: str, load: Load, more: Sequence[str]) -> tuple[float, float, float]:
        sizes = ("--num-records", str(load.records), "--record-size", str(load.record_bytes))
        props = (f"bootstrap.servers={self._sandbox.bootstrap_servers}", "acks=1", *more)
        arguments = ("--topic", topic, *sizes, "--throughput", str(load.per_s), "--producer-props", *props)
        class_path = (*ensure_jars(version, default_cache()), self._jar)
        command = java_command(_TOOL, arguments, class_path, heap_bytes=_HEAP_BYTES, scratch=self._folder)
        done = run_java(command, timeout_s=_TOOL_S)
        found = _STATED.findall(done.stdout)
        if done.exit_code or not found:
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
        per_s, p50_ms, p99_ms = found[-1]
        return float(per_s), float(p50_ms), float(p99_ms)

    def _await_gone(self, topic: str) -> None:
        """Or the next publisher would make up for what is being deleted."""
        end_s = monotonic() + _GONE_S
        while topic in self._cluster.read(ReadRequest()).state.topics.name and monotonic() < end_s:
            sleep(0.2)

    def _max_over_mean(self, topic: str) -> float:
        state = self._cluster.read(ReadRequest()).state
        row = state.topics.name.index(topic)
        mine = state.partitions.topic[state.replicas.partition] == row
        of_broker = np.bincount(state.replicas.broker[mine], replica_bytes(state)[mine], len(state.brokers))
        return float(of_broker.max() / of_broker.mean())


def main() -> int:
    """Measure, and print a table."""
    options = _options()
    loads = [
        Load(options.records, 1000),
        Load(10 * options.records, 100),
        Load(options.records // 4, 1000, options.per_s),
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        up(SandboxSpec(brokers=_BROKERS, racks=0), "java-partitioner") as sandbox,
    ):
        bench = Bench(sandbox, Path(folder))
        print("| client | records | max/mean, Kafka's | max/mean, jar | p50 jar / Kafka's | p99 | throughput |")
        print("|---|---|--:|--:|--:|--:|--:|")
        for version in options.clients:
            for load in loads:
                pairs = [
                    (bench.run(version, load, with_jar=False), bench.run(version, load, with_jar=True))
                    for _ in range(options.pairs)
                ]
                print(_row(version, load, pairs), flush=True)
    return 0


def _row(version: str, load: Load, pairs: Sequence[tuple[Written, Written]]) -> str:
    def ratio(of: str) -> str:
        ratios = [getattr(jar, of) / max(getattr(own, of), 0.5) for own, jar in pairs]
        return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"

    rate = "as fast as they go" if load.per_s == _UNLIMITED else f"{load.per_s:,} a second"
    own, jar = (max(pair[side].max_over_mean for pair in pairs) for side in (0, 1))
    p50 = " / ".join(f"{statistics.median(pair[side].p50_ms for pair in pairs):.0f}" for side in (1, 0))
    return (
        f"| {version} | {load.records:,} of {load.record_bytes} B, {rate} | {own:.3f} | {jar:.3f} "
        f"| {ratio('p50_ms')}, {p50} ms | {ratio('p99_ms')} | {ratio('per_s')} |"
    )


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--per-s", type=int, default=10_000, help="rate of the third load")
    parser.add_argument("--clients", nargs="+", default=list(_CLIENTS))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
