"""Throughput of ``produce`` with one slow broker, against a bare loop that reads, hashes and produces.

The brokers and their slowness are those of :mod:`benchmarks.slow_broker`, the records rows of 1 kB. The bare loop has
confluent-kafka's defaults but for the size of the buffer, which is the same for all. Runs are interleaved, in a random
order in each round; the results are medians of the ratios. Connecting and the first view are not counted.
``bare, idempotent`` shows what the setting costs that ``produce`` never goes without: while a partition has a request
in flight and more records wait for it, librdkafka spins.

::

    python -m benchmarks.produce_beside_slow_broker --rounds 5
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from time import monotonic, perf_counter, process_time
from typing import Any, Final, NamedTuple

from confluent_kafka import KafkaError, Message, Producer

from benchmarks.slow_broker import (
    BROKERS,
    BUFFER_KIB,
    KINDS,
    PARTITIONS,
    VALUE,
    brokers_and_links,
    in_random_order,
)
from experiments.__main__ import SHAPED
from kafkabal.clusters import NewTopic, connect
from kafkabal.config import ConnectionSettings
from kafkabal.producer import ManifestHeader, SendManifest, SendRun
from kafkabal.producer.record_sender import RecordSender
from kafkabal.routing import Context, load_policy
from kafkabal.sandbox import Sandbox
from kafkabal.scoring import load_scores
from kafkabal.sources import RowSource

SCORES: Final = ("latency", "disk")


class Run(NamedTuple):
    """The speed of one run, and what it cost."""

    rows_per_s: float
    processor_s: float


def bare(settings: dict[str, Any], topic: str, rows: Path) -> Run:
    """Read, hash and send every line, and count what arrived."""
    producer = Producer(settings)
    producer.produce(topic, VALUE)
    assert producer.flush(60) == 0
    start_s, start_processor_s = perf_counter(), process_time()
    digest, sent, arrived = sha256(), 0, 0

    def count(error: KafkaError | None, _message: Message) -> None:
        nonlocal arrived
        arrived += error is None

    with rows.open("rb") as lines:
        for line in lines:
            digest.update(line)
            while True:
                try:
                    producer.produce(topic, line.rstrip(b"\n"), on_delivery=count)
                    break
                except BufferError:
                    producer.poll(0.01)
            sent += 1
            if not sent % 64:
                producer.poll(0)
    assert producer.flush(120) == 0
    assert arrived == sent
    return Run(sent / (perf_counter() - start_s), process_time() - start_processor_s)


def routed(settings: dict[str, Any], topic: str, rows: Path, scores: str) -> Run:
    """Send every line as the command does, with a manifest of its own."""
    source = RowSource(rows)
    header = ManifestHeader(id="0" * 16, cluster_id="c", topic=topic, topic_id="T", source=source.name, offsets={})
    servers = ConnectionSettings(bootstrap_servers=tuple(settings["bootstrap.servers"].split(",")))
    policy = load_policy("score").create(Context(clock=monotonic))
    with (
        tempfile.TemporaryDirectory() as state,
        connect(servers) as cluster,
        SendManifest.open(Path(state) / "manifest.jsonl", header) as manifest,
        RecordSender(cluster, topic, policy, settings, scores=load_scores([scores])) as sender,
    ):
        sender.produce_many([VALUE], [len(VALUE)])
        sender.flush()
        start_s, start_processor_s = perf_counter(), process_time()
        outcome = SendRun(sender, source, manifest, clock=monotonic).send(source.listing())
        assert outcome.is_complete
        return Run(outcome.sent / (perf_counter() - start_s), process_time() - start_processor_s)


def ways(settings: dict[str, Any], topic: str, rows: Path) -> Mapping[str, Callable[[], Run]]:
    """The loops and commands to compare, by name; the first is what the others are divided by."""
    return {
        "bare": lambda: bare(settings, topic, rows),
        "bare, idempotent": lambda: bare({**settings, "enable.idempotence": True}, topic, rows),
        **{
            f"produce by {scores}": lambda scores=scores: routed(settings, topic, rows, scores)  # type: ignore[misc]
            for scores in SCORES
        },
    }


def measure(sandbox: Sandbox, topic: str, servers: str, rows: Path, rounds: int) -> None:
    """Print the ratios of interleaved runs into a new topic."""
    assignment = tuple((partition % BROKERS + 1,) for partition in range(PARTITIONS))
    direct = tuple(sandbox.bootstrap_servers.split(","))
    with connect(ConnectionSettings(bootstrap_servers=direct)) as cluster:
        assert not cluster.create_topics([NewTopic(name=topic, assignment=assignment)])
    settings = {"bootstrap.servers": servers, "queue.buffering.max.kbytes": BUFFER_KIB, "log_level": 2}
    by_name = ways(settings, topic, rows)
    runs: dict[str, list[Run]] = {name: [] for name in by_name}
    for name in in_random_order(by_name, rounds):
        runs[name].append(by_name[name]())
    for name, found in runs.items():
        ratios = [run.rows_per_s / other.rows_per_s for run, other in zip(found, runs["bare"], strict=True)]
        processor = [run.processor_s / other.processor_s for run, other in zip(found, runs["bare"], strict=True)]
        print(
            f"{topic:12} {name:20} {statistics.median(run.rows_per_s for run in found):9,.0f}/s  "
            f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})  "
            f"processor time {statistics.median(processor):.1f}",
            flush=True,
        )


def main() -> None:
    """Print one line for each kind of slowness and way to send."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--only", nargs="*", default=[kind.name for kind in KINDS], help="kinds of slowness")
    options.add_argument("--rows", type=int, help="of each run, instead of what its kind of slowness says")
    given = options.parse_args()
    with brokers_and_links() as sandbox, tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.jsonl"
        for kind in KINDS:
            if kind.name not in given.only:
                continue
            with rows.open("wb") as file:
                for number in range(given.rows or kind.records):
                    file.write((b'{"n":%d,"text":"' % number).ljust(len(VALUE) - 3, b"x") + b'"}\n')
            servers = sandbox.bootstrap_servers_of(SHAPED) if kind.is_link else sandbox.bootstrap_servers
            with kind.of(sandbox):
                measure(sandbox, kind.name.replace(" ", "-").replace("/", "-"), servers, rows, given.rounds)


if __name__ == "__main__":
    main()
