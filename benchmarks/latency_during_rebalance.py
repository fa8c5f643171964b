"""How a rebalance affects producers: latency of acks=all before, during and after one, at several throttles.

On a sandbox of six brokers, a topic with all partitions on three of them is written to at a fixed rate, open loop: a
record is sent at its time whether or not earlier ones were acknowledged. Meanwhile ``kafkabal rebalance apply`` moves
all of its partitions to the other three brokers, or back. Latency is what the client library measures, from the call to
the acknowledgement.

    python -m benchmarks.latency_during_rebalance --throttle 4MB --throttle 8MB --throttle 16MB
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from confluent_kafka import Producer

from benchmarks.fill_topic import fill_topic
from kafkabal.clusters import Cluster, NewTopic, connect
from kafkabal.config import ConnectionSettings
from kafkabal.model import TopicPartition
from kafkabal.plan import ANY_DIR, PartitionChange, Placement, Plan, write_plan
from kafkabal.sandbox import SandboxSpec, up
from kafkabal.units import parse_rate

TOPIC = "written-to"
PARTITIONS = 24
HERE, THERE = (1, 2, 3), (4, 5, 6)
FILL_RECORD_BYTES = 10_000
RECORD_BYTES = 1_000
SETTLE_S = 5.0


@dataclass
class Writer:
    """Writes at a fixed rate; keeps the latency and the scheduled time of every record."""

    servers: str
    records_per_s: float
    seen: list[tuple[float, float]] = field(default_factory=list)
    """Scheduled time in seconds since the epoch, and latency in seconds."""
    failed: int = 0

    def __post_init__(self) -> None:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop, and wait for the last acknowledgements."""
        self._stop.set()
        self._thread.join()

    def between(self, begin_s: float, end_s: float) -> Any:
        """Latencies, in milliseconds, of the records scheduled in that time."""
        return np.array([latency * 1000 for at, latency in list(self.seen) if begin_s <= at < end_s])

    def _write(self) -> None:
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "linger.ms": 0})
        value, due_s = random.randbytes(RECORD_BYTES), time.time()
        for number in range(sys.maxsize):
            if self._stop.is_set():
                break
            while (wait_s := due_s - time.time()) > 0:
                producer.poll(wait_s)
            producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=self._note(due_s))
            due_s += 1 / self.records_per_s
        producer.flush()

    def _note(self, due_s: float) -> Any:
        def note(error: Any, message: Any) -> None:
            if error is None:
                self.seen.append((due_s, message.latency()))
            else:
                self.failed += 1

        return note


def fill(servers: str, partition_bytes: int) -> None:
    """Fill every partition with its data."""
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "linger.ms": 50})
    value = random.randbytes(FILL_RECORD_BYTES)
    records = PARTITIONS * partition_bytes // FILL_RECORD_BYTES
    fill_topic(producer, TOPIC, ((value, n % PARTITIONS) for n in range(records)))


def replicas(brokers: tuple[int, ...], partition: int) -> tuple[int, ...]:
    """Three brokers in turn, so that all lead equally many."""
    at = partition % len(brokers)
    return brokers[at:] + brokers[:at]


def make_plan(cluster: Cluster, target: tuple[int, ...]) -> Plan:
    """Move every partition to other brokers."""
    status = cluster.partition_status([TOPIC])
    changes = []
    for number in range(PARTITIONS):
        now = status[TopicPartition(TOPIC, number)]
        previous = Placement(replicas=now.replicas, leader=now.leader, log_dirs=(ANY_DIR,) * len(now.replicas))
        wanted = replicas(target, number)
        changes.append(
            PartitionChange(
                topic=TOPIC,
                partition=number,
                replicas=wanted,
                log_dirs=(ANY_DIR,) * len(wanted),
                previous=previous,
            )
        )
    return Plan(partitions=tuple(changes), cluster_id=cluster.cluster_id())


def rebalance(servers: str, plan: Plan, throttle: str, folder: Path) -> tuple[float, float]:
    """Apply a plan as a user would; returns when the first move started and the run ended, in seconds since the
    epoch."""
    path = folder / "plan.json"
    write_plan(plan, path)
    words = ("rebalance", "apply", str(path), "--yes", "--throttle", throttle, "-b", servers, "-q", "-o", "jsonl")
    environment = {**os.environ, "XDG_STATE_HOME": str(folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-m", "kafkabal", *words], check=True, env=environment, stdout=subprocess.PIPE
    )
    events = [json.loads(line) for line in done.stdout.splitlines()][1:]
    moving = next(e for e in events if e["event"] == "phase" and e["phase"] == "moving")
    return _seconds(moving), _seconds(events[-1])


def _seconds(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--throttle", action="append", help="for each broker; may be repeated")
    parser.add_argument("--records-per-s", type=float, default=50.0)
    parser.add_argument("--partition-mb", type=int, default=8)
    parser.add_argument("--quiet-s", type=float, default=15.0, help="how long before and after each rebalance")
    options = parser.parse_args()
    throttles = options.throttle or ["4MB", "8MB", "16MB"]
    with tempfile.TemporaryDirectory() as name, up(SandboxSpec(brokers=6, racks=3), home=Path(name)) as sandbox:
        servers = sandbox.bootstrap_servers
        with connect(ConnectionSettings(bootstrap_servers=tuple(servers.split(",")))) as cluster:
            assignment = tuple(replicas(HERE, number) for number in range(PARTITIONS))
            assert not cluster.create_topics([NewTopic(name=TOPIC, assignment=assignment)])
            time.sleep(1.0)
            fill(servers, options.partition_mb * 1_000_000)
            print("| throttle | move | when | records | p50 ms | p99 ms | max ms |\n|---|--:|---|--:|--:|--:|--:|")
            for turn, throttle in enumerate(throttles):
                plan = make_plan(cluster, HERE if turn % 2 else THERE)
                measure(servers, plan, throttle, options, Path(name))


def measure(servers: str, plan: Plan, throttle: str, options: argparse.Namespace, folder: Path) -> None:
    """One rebalance with idle time before and after it."""
    writer = Writer(servers, options.records_per_s)
    time.sleep(SETTLE_S)
    quiet_s = time.time()
    time.sleep(options.quiet_s)
    begin_s, end_s = rebalance(servers, plan, throttle, folder)
    time.sleep(options.quiet_s)
    after_s = time.time()
    writer.close()
    rate = f"{parse_rate(throttle) / 1e6:g} MB/s"
    for when, start_s, stop_s in (
        ("before", quiet_s, begin_s),
        ("during", begin_s, end_s),
        ("after", end_s, after_s),
    ):
        found = writer.between(start_s, stop_s)
        p50, p99 = np.percentile(found, [50, 99])
        took = f"{end_s - begin_s:.0f} s"
        print(f"| {rate} | {took} | {when} | {len(found)} | {p50:.1f} | {p99:.1f} | {found.max():.0f} |", flush=True)
    if writer.failed:
        print(f"{writer.failed} records were not acknowledged", file=sys.stderr)


if __name__ == "__main__":
    main()
