"""The partitioner for Java clients against Kafka's own, with Kafka's own performance tool, in interleaved rounds.

::

    python -m benchmarks.java_partitioner --rounds 5

Four real brokers, six partitions (one per broker and a second one on two; with ``--extra 0`` only four), replication
factor 1: the unbalanced topic of experiment 1. Each round writes the same records three times: with Kafka's
partitioner, with the same while ``kafkabal route --publish`` runs beside it, and with ``kafkabal-routing.jar`` beside
that command. The second one shows what the command costs on a machine that it shares with brokers and client. Bytes are
those of the brokers' log dirs.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from time import monotonic, sleep

from confluent_kafka.admin import AdminClient

from kafkabal.clusters import NewTopic, ReadRequest
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.sandbox import Sandbox, SandboxSpec, up
from tools.java_producer_perf import BY_WEIGHTS, UNLIMITED, Load, build_jar, max_over_mean, published, write

_CLIENTS = ("3.9.2", "4.1.2", "4.4.0")
_BROKERS = 4
_STATED = re.compile(r"([\d.]+) records/sec .*?(\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th")
_GONE_S = 30.0
_LEAST_MS = 0.5
"""The tool prints whole milliseconds."""


class Way(Enum):
    """Ways to write, in the order of a round."""

    KAFKAS = auto()
    """Kafka's partitioner."""
    BESIDE_PUBLISHER = auto()
    """The same, while weights are published."""
    JAR = auto()
    """Our partitioner."""


@dataclass(frozen=True, slots=True)
class Written:
    """Result of a run."""

    per_s: float
    p50_ms: float
    p99_ms: float
    max_over_mean: float


class Bench:
    """One sandbox, the jar, and one topic per run."""

    def __init__(self, sandbox: Sandbox, folder: Path, refresh: str, extra: int) -> None:
        self._sandbox = sandbox
        self._folder = folder
        self._refresh = refresh
        self._extra = extra
        self._jar = folder / "kafkabal-routing.jar"
        build_jar(self._jar)
        servers = tuple(sandbox.bootstrap_servers.split(","))
        self._cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=servers))
        self._admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers, "log_level": 2})
        self._brokers = sorted(self._cluster.broker_ids())
        self._runs = 0

    def run(self, version: str, load: Load, way: Way) -> Written:
        """Write to a new topic."""
        self._runs += 1
        topic = f"perf-{self._runs}"
        leaders = [*self._brokers, *self._brokers[: self._extra]]
        self._cluster.create_topics([NewTopic(name=topic, assignment=tuple((b,) for b in leaders))])
        try:
            with nullcontext() if way is Way.KAFKAS else published(self._sandbox, topic, self._refresh):
                settings = (BY_WEIGHTS,) if way is Way.JAR else ()
                per_s, p50_ms, p99_ms = self._write(version, topic, load, settings)
            return Written(per_s, p50_ms, p99_ms, max_over_mean(self._cluster, topic))
        finally:
            self._admin.delete_topics([topic])[topic].result(30)
            self._await_gone(topic)

    def _write(self, version: str, topic: str, load: Load, settings: Sequence[str]) -> tuple[float, float, float]:
        done = write(self._sandbox, topic, version, load, self._jar, self._folder, settings=settings)
        found = _STATED.findall(done.stdout)
        if done.exit_code or not found:
            sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
        per_s, p50_ms, p99_ms = found[-1]
        return float(per_s), float(p50_ms), float(p99_ms)

    def _await_gone(self, topic: str) -> None:
        """Otherwise the next publisher would make up for what is being deleted."""
        end_s = monotonic() + _GONE_S
        while topic in self._cluster.read(ReadRequest()).state.topics.name and monotonic() < end_s:
            sleep(0.2)


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
        bench = Bench(sandbox, Path(folder), options.refresh, options.extra)
        print(
            "| client | records | max/mean, Kafka's | max/mean, jar | p50 jar / Kafka's | p99 | throughput "
            "| p50 jar / Kafka's beside the publisher | p99 | throughput |"
        )
        print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for version in options.clients:
            for load in loads:
                rounds = [{way: bench.run(version, load, way) for way in Way} for _ in range(options.rounds)]
                print(_row(version, load, rounds), flush=True)
    return 0


def _row(version: str, load: Load, rounds: Sequence[Mapping[Way, Written]]) -> str:
    rate = "as fast as they go" if load.per_s == UNLIMITED else f"{load.per_s:,} a second"
    own, jar = (max(done[way].max_over_mean for done in rounds) for way in (Way.KAFKAS, Way.JAR))
    ratios = " | ".join(
        f"{_ratios(rounds, of, 'p50_ms')}, {_p50(rounds, Way.JAR)} / {_p50(rounds, of)} ms "
        f"| {_ratios(rounds, of, 'p99_ms')} | {_ratios(rounds, of, 'per_s')}"
        for of in (Way.KAFKAS, Way.BESIDE_PUBLISHER)
    )
    return f"| {version} | {load.records:,} of {load.record_bytes} B, {rate} | {own:.3f} | {jar:.3f} | {ratios} |"


def _ratios(rounds: Sequence[Mapping[Way, Written]], of: Way, figure: str) -> str:
    """The jar's figure over that of another way: median, least and most."""
    ratios = [getattr(done[Way.JAR], figure) / max(getattr(done[of], figure), _LEAST_MS) for done in rounds]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _p50(rounds: Sequence[Mapping[Way, Written]], way: Way) -> str:
    return f"{statistics.median(done[way].p50_ms for done in rounds):.0f}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=400_000)
    parser.add_argument("--per-s", type=int, default=10_000, help="rate of the third load")
    parser.add_argument("--refresh", default="5s", help="how often weights are published")
    parser.add_argument("--extra", type=int, default=2, help="brokers that lead a second partition")
    parser.add_argument("--clients", nargs="+", default=list(_CLIENTS))
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
