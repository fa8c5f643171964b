"""``read_topic`` against ``ray.data.read_kafka``, with equal partitions and with one that holds 70% of the bytes.

Runs are interleaved on one local Ray of two processes; the results are medians of ratios. The brokers are a sandbox of
two.

    python -m benchmarks.ray_reader
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.fill_topic import fill_topic
from kafkabal.reader.ray import read_topic
from kafkabal.sandbox import SandboxSpec, up

RECORD_BYTES = 100_000
PARTITIONS = 4
AIMS: Mapping[str, float] = {"even": 1.5, "one holds 70%": 3.0}


def partition_of(number: int, shape: str) -> int:
    """The partition of a record."""
    return number % PARTITIONS if shape == "even" or number % 10 >= 7 else 0


def fill(servers: str, topic: str, shape: str, records: int) -> None:
    """Create a topic and fill it."""
    admin = AdminClient({"bootstrap.servers": servers})
    next(iter(admin.create_topics([NewTopic(topic, PARTITIONS, 1)]).values())).result()
    producer = Producer({"bootstrap.servers": servers, "queue.buffering.max.kbytes": 400_000})
    value = random.Random(1).randbytes(RECORD_BYTES)
    fill_topic(producer, topic, ((value, partition_of(n, shape)) for n in range(records)))


def time_reading(dataset: Any, records: int) -> float:
    """How long it takes until Ray has returned every row."""
    began = perf_counter()
    rows = sum(batch.num_rows for batch in dataset.iter_batches(batch_format="pyarrow", batch_size=None))
    assert rows == records, rows
    return perf_counter() - began


def main() -> None:
    """Run, and print one line per shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=600_000_000)
    given = parser.parse_args()
    try:
        import ray.data
    except ImportError:
        parser.error("needs Ray: pip install '.[ray]'")
    records = given.bytes // RECORD_BYTES
    # by default Ray's workers yield to every other program on the machine (niceness 15), but brokers do not
    os.environ.setdefault("RAY_worker_niceness", "0")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    with up(SandboxSpec(brokers=2), "bench-ray") as sandbox:
        servers = sandbox.bootstrap_servers
        for number, (shape, aim) in enumerate(AIMS.items()):
            topic = f"bench-ray-{number}"
            fill(servers, topic, shape, records)
            theirs, ours = [], []
            for _ in range(given.pairs):
                theirs.append(time_reading(ray.data.read_kafka(topic, bootstrap_servers=servers.split(",")), records))
                ours.append(time_reading(read_topic(topic, bootstrap_servers=servers), records))
            ratios = sorted(a / b for a, b in zip(theirs, ours, strict=True))
            rates = [given.bytes / statistics.median(each) / 1e6 for each in (theirs, ours)]
            print(
                f"{shape}: {statistics.median(ratios):.2f} x ({ratios[0]:.2f} to {ratios[-1]:.2f}; aim {aim}), "
                f"read_kafka {rates[0]:.0f} MB/s, read_topic {rates[1]:.0f} MB/s",
                flush=True,
            )
    ray.shutdown()


if __name__ == "__main__":
    main()
