"""The reader against a bare librdkafka consumer, which never pauses; its cache against plain files; and how long a
trainer waits.

Runs are interleaved, so that a noisy machine affects all alike. Each run is a process of its own, as in training, so
that none profits from memory that an earlier run has warmed up. The results are medians of ratios. The brokers are a
sandbox of two on this machine, or those of ``--bootstrap-server``; topics are created, filled and deleted.

    python -m benchmarks.reader
"""

from __future__ import annotations

import argparse
import multiprocessing
import random
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter, sleep

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.fill_topic import fill_topic
from kafkabal.reader import TopicReader
from kafkabal.sandbox import SandboxSpec, up

AIMS: Mapping[int, float] = {100_000: 0.90, 10_000: 0.70}
"""By record size in bytes, the target fraction of the bare consumer's rate."""
TOTAL_BYTES = 600_000_000
PARTITIONS = 4
NEVER_PAUSING: Mapping[str, int] = {"fetch.queue.backoff.ms": 1, "queued.min.messages": 10_000_000}
"""By default librdkafka stops fetching for up to a second when its queue is full: a fast consumer then waits."""
BATCH = 32
LOAD = 0.8
"""Fraction of the reader's own rate at which the trainer consumes when its waiting is measured."""


class Bench:
    """A topic of equal records, filled once."""

    def __init__(self, servers: str, record_bytes: int, total_bytes: int) -> None:
        self.servers = servers
        self.topic = f"bench-reader-{record_bytes}"
        self.records = total_bytes // record_bytes
        self.record_bytes = record_bytes

    def fill(self) -> None:
        """Create the topic and fill it."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        next(iter(admin.create_topics([NewTopic(self.topic, PARTITIONS, 1)]).values())).result()
        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 50, "queue.buffering.max.kbytes": 400_000})
        randomness = random.Random(1)
        values = [randomness.randbytes(self.record_bytes) for _ in range(8)]
        fill_topic(producer, self.topic, ((values[n % 8], n % PARTITIONS) for n in range(self.records)))

    def remove(self) -> None:
        """Delete the topic."""
        admin = AdminClient({"bootstrap.servers": self.servers})
        next(iter(admin.delete_topics([self.topic]).values())).result()

    def reader(self, cache: Path | None = None, epochs: int = 1) -> TopicReader:
        """Our reader, on a pinned manifest."""
        return TopicReader(self.topic, bootstrap_servers=self.servers, shuffle_seed=1, cache=cache, epochs=epochs)

    def bare(self) -> float:
        """Seconds that a librdkafka consumer which never pauses takes to read each partition from beginning to end."""
        settings = {"bootstrap.servers": self.servers, "group.id": "bench", "enable.auto.commit": False}
        consumer = Consumer({**settings, **NEVER_PAUSING})
        try:
            consumer.list_topics(self.topic, timeout=10)
            began = perf_counter()
            consumer.assign([TopicPartition(self.topic, p, 0) for p in range(PARTITIONS)])
            left = self.records
            while left:
                left -= sum(len(message.value() or b"") == self.record_bytes for message in consumer.consume(500, 1.0))
            return perf_counter() - began
        finally:
            consumer.close()

    def ours(self, cache: Path | None = None) -> float:
        """Seconds of an epoch, shuffled."""
        data = self.reader(cache)
        began = perf_counter()
        count = sum(len(sample.value) == self.record_bytes for sample in data)
        assert count == self.records
        return perf_counter() - began

    def waiting(self, bytes_per_s: float) -> float:
        """Fraction of the time that a trainer waits if it consumes batches at this rate."""
        data = self.reader(epochs=2)
        first = (0.0, 0.0)
        began, planned_s = perf_counter(), 0.0
        for batch in data.batches(BATCH):
            planned_s += sum(len(sample.value) for sample in batch) / bytes_per_s
            sleep(max(0.0, began + planned_s - perf_counter()))
            if data.metrics.samples <= self.records:  # the first epoch starts with nothing loaded
                first = data.metrics.waited_s, data.metrics.elapsed_s
        return (data.metrics.waited_s - first[0]) / (data.metrics.elapsed_s - first[1])

    def write_files(self, folder: Path) -> None:
        """Write the records, one file each."""
        for number, sample in enumerate(self.reader()):
            (folder / str(number)).write_bytes(sample.value)

    def plain_files(self, folder: Path) -> float:
        """Seconds to read the files, in another order."""
        names = list(folder.iterdir())
        random.Random(2).shuffle(names)
        began = perf_counter()
        assert sum(len(name.read_bytes()) for name in names) == self.records * self.record_bytes
        return perf_counter() - began


def run_in_own_process(measured: Callable[..., float], *given: object) -> float:
    """The result of a run, executed in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(measured, *given).result()


def main() -> None:
    """Run, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-server")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=TOTAL_BYTES)
    given = parser.parse_args()
    with _brokers(given.bootstrap_server) as servers:
        for record_bytes, aim in AIMS.items():
            bench = Bench(servers, record_bytes, given.bytes)
            bench.fill()
            try:
                _compare(bench, aim, given.pairs)
            finally:
                bench.remove()


@contextmanager
def _brokers(servers: str | None) -> Iterator[str]:
    if servers is not None:
        yield servers
        return
    with up(SandboxSpec(brokers=2), "bench-reader") as sandbox:
        yield sandbox.bootstrap_servers


def _compare(bench: Bench, aim: float, pairs: int) -> None:
    size = bench.records * bench.record_bytes
    bare, ours = [], []
    for _ in range(pairs):
        bare.append(run_in_own_process(bench.bare))
        ours.append(run_in_own_process(bench.ours))
    name = f"{bench.record_bytes // 1000} kB"
    _show(f"{name}: an epoch against a bare consumer", bare, ours, aim)
    rates = {"bare": size / statistics.median(bare), "reader": size / statistics.median(ours)}
    print("  " + ", ".join(f"{who} {rate / 1e6:.0f} MB/s" for who, rate in rates.items()))
    with tempfile.TemporaryDirectory() as folder:
        cache, files = Path(folder) / "cache", Path(folder) / "files"
        files.mkdir()
        bench.write_files(files)
        bench.ours(cache)
        plain, cached = [], []
        for _ in range(pairs):
            plain.append(run_in_own_process(bench.plain_files, files))
            cached.append(run_in_own_process(bench.ours, cache))
        shutil.rmtree(files)
    _show(f"{name}: a cached epoch against plain files", plain, cached, 0.9)
    rate = LOAD * size / statistics.median(ours)
    shares = [run_in_own_process(bench.waiting, rate) for _ in range(pairs)]
    print(f"{name}: waiting at {LOAD:.0%} of the rate {statistics.median(shares):.1%} (aim: less than 5%)", flush=True)


def _show(what: str, other_s: list[float], ours_s: list[float], aim: float) -> None:
    ratios = sorted(a / b for a, b in zip(other_s, ours_s, strict=True))
    print(f"{what} {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}; aim {aim:.2f})", flush=True)


if __name__ == "__main__":
    main()
