"""What reading costs without the brokers: our reader and a bare librdkafka consumer that never pauses, with brokers
that only send.

Runs are interleaved, each in a process of its own; the results are medians of ratios, for rates and for the client's
processor time.

    python -m benchmarks.reader_client_cost
"""

from __future__ import annotations

import argparse
import multiprocessing as mp
import resource
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from time import perf_counter

from benchmarks.fake_fetch_brokers import PARTITIONS, serve, topic_id_of, topic_of
from benchmarks.reader import NEVER_PAUSING

RECORD_BYTES = (100_000, 10_000)
_READING_S = 600.0


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of reading a topic once."""

    elapsed_s: float
    processor_s: float
    fetched_bytes: int = 0


def _measured(read: Callable[[], int]) -> Cost:
    began, before = perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    fetched = read()
    after = resource.getrusage(resource.RUSAGE_SELF)
    used_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(perf_counter() - began, used_s, fetched)


def bare(servers: str, record_bytes: int, records: int, result: Connection) -> None:
    """Each partition from beginning to end."""
    from confluent_kafka import Consumer, TopicPartition

    settings = {"bootstrap.servers": servers, "group.id": "bench", "enable.auto.commit": False}
    consumer = Consumer({**settings, **NEVER_PAUSING})
    topic = topic_of(record_bytes)
    consumer.list_topics(topic, timeout=30)

    def read() -> int:
        consumer.assign([TopicPartition(topic, p, 0) for p in range(PARTITIONS)])
        left = records * PARTITIONS
        while left:
            left -= sum(len(message.value() or b"") == record_bytes for message in consumer.consume(500, 1.0))
        return 0

    result.send(_measured(read))
    consumer.close()


def ours(servers: str, record_bytes: int, records: int, result: Connection) -> None:
    """One epoch, shuffled."""
    from kafkabal.config import ConnectionSettings
    from kafkabal.reader import Manifest, TopicReader
    from kafkabal.reader.manifest import LANES, PartitionRange, block_count

    size, blocks = record_bytes * records, block_count(records, record_bytes * records, LANES)
    ranges = (
        PartitionRange(partition=p, begin=0, end=records, size_bytes=size, blocks=blocks) for p in range(PARTITIONS)
    )
    topic_id = _as_kafka_writes_it(record_bytes)
    manifest = Manifest(cluster_id="", topic=topic_of(record_bytes), topic_id=topic_id, partitions=tuple(ranges))
    connection = ConnectionSettings(bootstrap_servers=(servers,))
    data = TopicReader(manifest.topic, connection=connection, shuffle_seed=1, manifest=manifest)

    def read() -> int:
        assert sum(len(sample.value) == record_bytes for sample in data) == records * PARTITIONS
        return sum(data.metrics.network_bytes.values())

    result.send(_measured(read))


def _as_kafka_writes_it(record_bytes: int) -> str:
    from base64 import urlsafe_b64encode

    return urlsafe_b64encode(topic_id_of(record_bytes).bytes).decode().rstrip("=")


def main() -> None:
    """Run, and print one line per record size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--bytes", type=int, default=600_000_000)
    given = parser.parse_args()
    context = mp.get_context("spawn")
    for record_bytes in RECORD_BYTES:
        records = given.bytes // record_bytes // PARTITIONS
        here, there = context.Pipe()
        brokers = context.Process(target=serve, args=({record_bytes: records}, there), daemon=True)
        brokers.start()
        try:
            servers = here.recv()
            pairs = []
            for _ in range(given.pairs):
                both = []
                for client in (bare, ours):
                    got, result = context.Pipe()
                    process = context.Process(target=client, args=(servers, record_bytes, records, result), daemon=True)
                    process.start()
                    assert got.poll(_READING_S), f"{client.__name__} did not end"
                    both.append(got.recv())
                    process.join()
                pairs.append(both)
        finally:
            brokers.kill()
        _show(record_bytes, given.bytes, pairs)


def _show(record_bytes: int, size_bytes: int, pairs: list[list[Cost]]) -> None:
    rate = sorted(theirs.elapsed_s / own.elapsed_s for theirs, own in pairs)
    used = sorted(theirs.processor_s / own.processor_s for theirs, own in pairs)
    each = [
        statistics.median(cost.processor_s for cost in costs) * 1e9 / size_bytes for costs in zip(*pairs, strict=True)
    ]
    print(
        f"{record_bytes // 1000} kB: rate of the reader / of librdkafka {statistics.median(rate):.2f} "
        f"({rate[0]:.2f} to {rate[-1]:.2f}), processor time of librdkafka / of the reader "
        f"{statistics.median(used):.2f} ({used[0]:.2f} to {used[-1]:.2f}); s per GB {each[0]:.2f} and {each[1]:.2f}; "
        f"fetched / yielded {statistics.median(own.fetched_bytes for _, own in pairs) / size_bytes:.2f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
