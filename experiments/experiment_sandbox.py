"""A sandbox for experiments: topics with given assignments, records sent with any policy, bytes read from the log
dirs."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from confluent_kafka import Producer as Client
from confluent_kafka.admin import AdminClient, NewPartitions

from kafkabal.clusters import NewTopic, ReadRequest
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.config import ConnectionSettings
from kafkabal.model import F64, I32, I64, replica_bytes
from kafkabal.producer import Producer
from kafkabal.routing import RoutingView, view_of
from kafkabal.sandbox import Sandbox, SandboxSpec, default_cache, ensure_jars, java_command, run_java, up
from kafkabal.scoring import Need, load_scores

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

LIBRDKAFKA = "librdkafka default"
JAVA = "Java default"
POLICIES = (
    LIBRDKAFKA,
    JAVA,
    "random",
    "round-robin",
    "round-robin:over=brokers",
    "uniform-sticky",
    "adaptive",
    "smooth-weighted",
    "astraea",
    "least-loaded",
    "power-of-d",
    "join-idle-queue",
    "c3",
    "prequal",
    "score",
)
REFRESH_S = 0.5

_TOPIC_WAIT_S = 30.0
_JAVA_S = 300.0
_JAVA_HEAP_BYTES = 256 * 2**20
_JAVA_PAYLOADS = 100
"""With 163 kB each they take 16 MB, of which the tool keeps several copies in memory."""
# the summary line of Kafka's performance tool
_JAVA_LATENCIES = re.compile(r"(\d+) ms 50th, \d+ ms 95th, (\d+) ms 99th")
_SETTINGS = {"linger.ms": 5, "enable.idempotence": True, "queue.buffering.max.kbytes": 64 * 1024, "log_level": 2}


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of an experiment to run."""

    part: float = 1.0
    """Fraction of its records."""
    most_runs: int | None = None
    only: frozenset[str] | None = None
    """Policies to run; None for all."""

    def records(self, count: int) -> int:
        """The scaled number of records."""
        return int(self.part * count)

    def runs(self, count: int) -> int:
        """The scaled number of repetitions."""
        return count if self.most_runs is None else min(count, self.most_runs)

    def policies(self, names: Sequence[str]) -> tuple[str, ...]:
        """The policies to run."""
        return tuple(name for name in names if self.only is None or name in self.only)


FULL = Extent()
SHORT = Extent(part=0.2, most_runs=1, only=frozenset({LIBRDKAFKA, JAVA, "round-robin", "score"}))
"""Enough to see that an experiment works, too little to quote its figures."""


@dataclass(frozen=True, slots=True)
class Sent:
    """Measurements of a send."""

    seconds: float
    latency_s: F64
    """float64, shape (n_records,): from the scheduled time of a record to its acknowledgement; empty if not
    measured."""
    partition: I32
    """int32, shape (n_records,): the partition that the policy picked, -1 if unknown; empty if not measured."""
    at_s: F64
    """float64, shape (n_records,): when each was accepted, relative to the first; empty if not measured."""
    begun_s: float = math.nan
    """When the first was accepted, by the monotonic clock."""
    stated_s: tuple[float, float] = (math.nan, math.nan)
    """p50 and p99 as reported by another program, if latencies were not measured here."""

    def p50_and_p99_s(self, *, from_s: float = 0.0, until_s: float = math.inf) -> tuple[float, float]:
        """p50 and p99 latency, in seconds, of the records accepted between these times."""
        if not self.latency_s.size:
            return self.stated_s
        p50, p99 = np.percentile(self.latency_s[(self.at_s >= from_s) & (self.at_s < until_s)], [50, 99])
        return float(p50), float(p99)


class ExperimentSandbox:
    """A sandbox that several experiments use in turn."""

    def __init__(self, sandbox: Sandbox, listener: str | None = None, extent: Extent = FULL) -> None:
        self.sandbox = sandbox
        self.extent = extent
        servers = sandbox.bootstrap_servers if listener is None else sandbox.bootstrap_servers_of(listener)
        inner = tuple(sandbox.bootstrap_servers.split(","))
        self.settings: dict[str, Any] = {"bootstrap.servers": servers, **_SETTINGS}
        self.cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=inner))
        self.brokers = sorted(self.cluster.broker_ids())
        self._admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})

    def create(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Create a topic with this assignment, and wait until all of its log dirs exist."""
        faults = self.cluster.create_topics([NewTopic(name=topic, assignment=tuple(map(tuple, assignment)))])
        assert not faults, faults
        self._await_logs(topic, sum(map(len, assignment)))

    def _await_logs(self, topic: str, replicas: int) -> None:
        end = monotonic() + _TOPIC_WAIT_S
        while self._replicas_with_logs(topic) < replicas and monotonic() < end:
            sleep(0.05)

    def _replicas_with_logs(self, topic: str) -> int:
        logs, _ = self.cluster.replica_logs(self.brokers, self.cluster.partition_status([topic]))
        return len(logs)

    def add_partitions(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Add partitions with this assignment to a topic, and wait until all log dirs exist."""
        held = self._replicas_with_logs(topic)
        n_partitions = len(self.cluster.partition_status([topic])) + len(assignment)
        new = NewPartitions(topic, n_partitions, [list(replicas) for replicas in assignment])
        self._admin.create_partitions([new])[topic].result()
        self._await_logs(topic, held + sum(map(len, assignment)))

    def delete(self, topic: str) -> None:
        """Delete a topic, and wait until no log dir holds any of it."""
        self._admin.delete_topics([topic])[topic].result()
        end = monotonic() + _TOPIC_WAIT_S
        while topic in self.cluster.read(ReadRequest()).state.topics.name and monotonic() < end:
            sleep(0.1)

    def bytes_by_broker(self, topic: str) -> I64:
        """int64, shape (n_brokers,): bytes of the topic on each broker, from its log dirs."""
        state = self.cluster.read(ReadRequest()).state
        of_topic = state.partitions.topic[state.replicas.partition] == state.topics.name.index(topic)
        sizes = replica_bytes(state)[of_topic]
        return np.bincount(state.replicas.broker[of_topic], sizes, len(state.brokers)).astype(np.int64)

    def view(self, topic: str, scores: Sequence[str]) -> RoutingView:
        """The topic as policies see it now, with scores that need no measurements, or only ones that arrive later."""
        return view_of(self.cluster.read(ReadRequest()).state, topic, load_scores(scores), supplied=[Need.TELEMETRY])

    def send(
        self,
        topic: str,
        policy: str,
        sizes: I64,
        *,
        seed: int = 0,
        per_s: float | None = None,
        scores: Sequence[str] = ("disk",),
        profile: Path | None = None,
        until: Event | None = None,
        refresh_s: float = REFRESH_S,
        **settings: Any,
    ) -> Sent:
        """Send records of these sizes without keys.

        Parameters
        ----------
        per_s
            Records per second; None for as fast as possible.
        scores
            What the policy ``score`` balances.
        profile
            States the brokers' capacities; without it, they are what brokers report about this machine's disk.
        until
            Ends the run early once it is set; not supported for the Java client.
        refresh_s
            Seconds between two readings of the cluster; the default is a tenth of a producer's, since runs are short.
        settings
            Of librdkafka, overriding the usual ones, with ``_`` for ``.``.
        """
        own = {**self.settings, **{name.replace("_", "."): value for name, value in settings.items()}}
        if policy == JAVA:
            return self._send_from_java(topic, sizes, per_s)
        if policy == LIBRDKAFKA:
            return send_to(_OneTopic(Client(own), topic), sizes, per_s, until)
        routing = {
            "kafkabal.policy": policy,
            "kafkabal.scores": list(scores),
            "kafkabal.seed": seed,
            "kafkabal.refresh.ms": round(refresh_s * 1000),
            **({} if profile is None else {"kafkabal.profile": str(profile)}),
        }
        with Producer({"enable.idempotence": True, "linger.ms": 5, **own, **routing}) as producer:
            return send_to(_OneTopic(producer, topic), sizes, per_s, until)

    @contextmanager
    def profile(self, capacity_bytes: F64) -> Iterator[Path]:
        """A profile that states the brokers' capacities, in their order."""
        content = yaml.safe_load(self.sandbox.profile_path.read_text())
        for broker, size in zip(self.brokers, capacity_bytes.tolist(), strict=True):
            paths = content["capacity"][broker]
            content["capacity"][broker] = {path: round(size / len(paths)) for path in paths}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "profile.yaml"
            path.write_text(yaml.safe_dump(content))
            yield path

    def send_by_hand(self, topic: str, counts: Sequence[int], record_bytes: int, **settings: Any) -> None:
        """Send the given number of records to each partition, in turn, with additional settings of the producer."""
        producer = _OneTopic(Client({**self.settings, **settings}), topic)
        value = np.random.default_rng(1).bytes(record_bytes)
        for turn in range(max(counts)):
            for partition, count in enumerate(counts):
                if turn < count:
                    producer.produce(value, partition=partition)
        producer.flush()

    def kafkabal(self, *words: str) -> str:
        """Run a command on this sandbox in a process of its own, as a user would; returns its output."""
        with tempfile.TemporaryDirectory() as state:
            done = subprocess.run(
                [sys.executable, "-m", "kafkabal", *words, "--profile", str(self.sandbox.profile_path)],
                env={**os.environ, "XDG_STATE_HOME": state},
                capture_output=True,
                text=True,
                check=False,
            )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def close(self) -> None:
        """Close connections."""
        self.cluster.close()

    def _send_from_java(self, topic: str, sizes: I64, per_s: float | None) -> Sent:
        with tempfile.TemporaryDirectory() as scratch:
            arguments = ["--topic", topic, "--num-records", str(len(sizes)), *_java_payload(sizes, Path(scratch))]
            arguments += ["--throughput", str(-1 if per_s is None else round(per_s)), "--producer-props"]
            arguments += [f"bootstrap.servers={self.settings['bootstrap.servers']}"]
            jars = ensure_jars(self.sandbox.record.spec.version, default_cache())
            main = "org.apache.kafka.tools.ProducerPerformance"
            command = java_command(main, arguments, jars, heap_bytes=_JAVA_HEAP_BYTES, scratch=Path(scratch))
            start = monotonic()
            done = run_java(command, timeout_s=_JAVA_S)
            assert done.exit_code == 0, done.stderr
        seconds = monotonic() - start
        stated = _JAVA_LATENCIES.findall(done.stdout)[-1]
        p50_s, p99_s = (int(milliseconds) / 1000 for milliseconds in stated)
        return Sent(seconds, np.empty(0), np.empty(0, np.int32), np.empty(0), stated_s=(p50_s, p99_s))


def sandbox_spec(brokers: int, *, properties: Mapping[str, str] | None = None, **more: Any) -> SandboxSpec:
    """Brokers with one log dir each, and additional properties and fields of the spec.

    Without racks, because they would change the fair shares: with three replicas, the only broker of a rack must hold
    one of each.
    """
    own = {
        "log.segment.bytes": str(256 * 2**20),
        # the data of a deleted topic would stay for a minute
        "log.segment.delete.delay.ms": "1000",
        # quotas must hold within two seconds, not on average over eleven
        "quota.window.num": "2",
    }
    return SandboxSpec(brokers=brokers, racks=0, log_dirs=1, properties={**own, **(properties or {})}, **more)


@contextmanager
def another_sandbox(brokers: int, extent: Extent, **more: Any) -> Iterator[ExperimentSandbox]:
    """A sandbox of this many brokers beside the shared one, with additional fields of the spec."""
    with (
        tempfile.TemporaryDirectory() as home,
        up(sandbox_spec(brokers, **more), "experiments-beside", home=Path(home)) as sandbox,
        closing(ExperimentSandbox(sandbox, extent=extent)) as bench,
    ):
        yield bench


def machine_load() -> str:
    """A sentence to accompany times, which are unreliable on a machine that did other work."""
    return f"The load of the machine, of {os.cpu_count()} cores, was {os.getloadavg()[1]:.0f} in the last five minutes."


def _java_payload(sizes: I64, folder: Path) -> list[str]:
    """Options of Kafka's performance tool, which draws records from the lines of a file if sizes differ."""
    if (sizes == sizes[0]).all():
        return ["--record-size", str(sizes[0])]
    path = folder / "payloads"
    path.write_bytes(b"\n".join(b"x" * size for size in sizes[:_JAVA_PAYLOADS].tolist()))
    return ["--payload-file", str(path)]


class _OneTopic:
    """A producer, confluent-kafka's or ours, for one topic; it waits while the queue is full."""

    def __init__(self, producer: Client, topic: str) -> None:
        self._producer = producer
        self._topic = topic

    def produce(self, value: bytes, on_delivery: Any = None, partition: int = -1) -> None:
        while True:
            try:
                self._producer.produce(self._topic, value, partition=partition, on_delivery=on_delivery)
                break
            except BufferError:
                self._producer.poll(0.05)
        self._producer.poll(0)

    def poll(self, timeout_s: float = 0.0) -> None:
        self._producer.poll(timeout_s)

    def flush(self) -> None:
        self._producer.flush()


def send_to(producer: Any, sizes: I64, per_s: float | None, until: Event | None = None) -> Sent:
    """Send records of these sizes through anything that accepts values for one topic, and measure."""
    content = np.random.default_rng(0).bytes(int(sizes.max()))
    latency_s, at_s = np.full(len(sizes), np.nan), np.empty(len(sizes))
    partition = np.empty(len(sizes), np.int32)
    start = monotonic()

    def reporter(number: int) -> Any:
        # a record that is late because earlier ones had to wait has waited too
        sent_s = monotonic() if per_s is None else start + number / per_s

        def report(error: KafkaError | None, message: Message) -> None:
            if error is None:
                latency_s[number] = monotonic() - sent_s
                partition[number] = -1 if (chosen := message.partition()) is None else chosen

        return report

    taken = 0
    for number, size in enumerate(sizes.tolist()):
        if until is not None and until.is_set():
            break
        while per_s is not None and (ahead_s := start + number / per_s - monotonic()) > 0:
            producer.poll(ahead_s)
        producer.produce(content[:size], on_delivery=reporter(number))
        at_s[number] = monotonic() - start
        taken = number + 1
    producer.flush()
    seconds = monotonic() - start
    assert not np.isnan(latency_s[:taken]).any(), "records were lost"
    return Sent(seconds, latency_s[:taken], partition[:taken], at_s[:taken], begun_s=start)
