"""Several readers at a time, beside as many bare librdkafka consumers.

With brokers that are slower than the processors: a quota limits what each of them sends to all processes of a run, and
a process computes after each batch, so that it alone takes 40% of that. And without a quota and computing. Rates are
those of twelve seconds, which begin ten seconds after the first batch of the last process: no burst of the quota, and
no block loaded in it, is left by then. Runs are interleaved; the results are medians.

    python -m benchmarks.reader_scaling
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import statistics
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Barrier
from time import monotonic, sleep
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from benchmarks.reader import AIMS, BATCH, NEVER_PAUSING, PARTITIONS, TOTAL_BYTES, Bench
from experiments.experiment_sandbox import sandbox_spec
from experiments.training_time import CLIENT_ID, limit_readers
from kafkabal.config import ConnectionSettings
from kafkabal.reader import Manifest, TopicReader
from kafkabal.sandbox import up

BROKERS = 2
QUOTA_BYTES_PER_S = 50_000_000
"""Of each broker."""
LIMIT_BYTES_PER_S = BROKERS * QUOTA_BYTES_PER_S
COMPUTED_BYTES_PER_S = 0.4 * LIMIT_BYTES_PER_S
"""The rate of a process that never waits."""
PROCESSES = [1, 2, 4]
WARM_UP_S, MEASURED_S = 10.0, 12.0
STARTING_S = 60.0
EPOCHS = 10**6
"""More than any run lasts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What several processes read, and how."""

    read: Callable[[Run, int], Iterator[int]]
    """Yields the bytes of each batch of one process."""
    servers: str
    manifest: Manifest
    processes: int
    is_limited: bool

    @property
    def client_id(self) -> str:
        """The one with the quota, or another."""
        return CLIENT_ID if self.is_limited else "unlimited"


def ours(run: Run, rank: int) -> Iterator[int]:
    """Epochs in a row, shuffled."""
    warnings.simplefilter("ignore")  # a reader without end exceeds retention
    data = TopicReader(
        run.manifest.topic,
        connection=ConnectionSettings(bootstrap_servers=tuple(run.servers.split(",")), client_id=run.client_id),
        manifest=run.manifest,
        shuffle_seed=1,
        epochs=EPOCHS,
        rank=rank,
        world_size=run.processes,
    )
    for batch in data.batches(BATCH):
        yield sum(len(sample.value) for sample in batch)


def bare(run: Run, rank: int) -> Iterator[int]:
    """An equal number of partitions for each consumer, again and again."""
    settings = {"bootstrap.servers": run.servers, "client.id": run.client_id, "enable.partition.eof": True}
    consumer = Consumer({**settings, "group.id": "bench", "enable.auto.commit": False, **NEVER_PAUSING})
    topic = run.manifest.topic
    consumer.assign([TopicPartition(topic, p, 0) for p in range(rank, PARTITIONS, run.processes)])
    while True:
        size_bytes = 0
        for message in consumer.consume(BATCH, 1.0):
            partition, value = message.partition(), message.value()
            if message.error() is None and value is not None:
                size_bytes += len(value)
            elif partition is not None:  # its end
                consumer.seek(TopicPartition(topic, partition, 0))
        yield size_bytes


def bytes_per_s(run: Run) -> float:
    """The rate of all processes together."""
    context = mp.get_context("spawn")
    start, rates = context.Barrier(run.processes), context.Queue()
    processes = [context.Process(target=_measure, args=(run, rank, start, rates)) for rank in range(run.processes)]
    try:
        for process in processes:
            process.start()
        return float(sum(rates.get(timeout=2 * STARTING_S) for _ in processes))
    finally:
        for process in processes:
            process.kill()


def _measure(run: Run, rank: int, start: Barrier, rates: Any) -> None:
    batches = run.read(run, rank)
    while not next(batches):
        pass
    start.wait(STARTING_S)
    began_s, size_bytes = monotonic(), 0
    for batch_bytes in batches:
        if run.is_limited:
            sleep(batch_bytes / COMPUTED_BYTES_PER_S)
        elapsed_s = monotonic() - began_s
        if elapsed_s > WARM_UP_S + MEASURED_S:
            break
        if elapsed_s > WARM_UP_S:
            size_bytes += batch_bytes
    rates.put(size_bytes / MEASURED_S)
    for _ in batches:  # until the others have measured, too
        pass


def main() -> None:
    """Run, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--bytes", type=int, default=TOTAL_BYTES)
    parser.add_argument("--record-bytes", type=int, choices=list(AIMS), nargs="+", default=list(AIMS))
    parser.add_argument("--processes", type=int, nargs="+", default=PROCESSES)
    given = parser.parse_args()
    with up(sandbox_spec(BROKERS), "bench-reader-scaling") as sandbox:
        limit_readers(sandbox, QUOTA_BYTES_PER_S)
        for record_bytes in given.record_bytes:
            bench = Bench(sandbox.bootstrap_servers, record_bytes, given.bytes)
            bench.fill()
            _compare(bench, given.pairs, given.processes)
            bench.remove()


def _compare(bench: Bench, pairs: int, counts: list[int]) -> None:
    manifest = bench.reader().manifest
    found: dict[tuple[str, int, bool], list[float]] = defaultdict(list)
    for _ in range(pairs):
        for processes, is_limited in [*((count, True) for count in counts), (counts[-1], False)]:
            for read in (bare, ours):
                run = Run(
                    read=read,
                    servers=bench.servers,
                    manifest=manifest,
                    processes=processes,
                    is_limited=is_limited,
                )
                found[read.__name__, processes, is_limited].append(bytes_per_s(run))
    name = f"{bench.record_bytes // 1000} kB"
    for (who, processes, is_limited), rates in found.items():
        if is_limited:
            _show(f"{name}: {processes} x {who} / the brokers' limit", [rate / LIMIT_BYTES_PER_S for rate in rates])
    free = zip(found["ours", counts[-1], False], found["bare", counts[-1], False], strict=True)
    _show(f"{name}: {counts[-1]} readers / bare consumers without a limit", [a / b for a, b in free])


def _show(what: str, ratios: list[float]) -> None:
    print(f"{what} {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})", flush=True)


if __name__ == "__main__":
    main()
