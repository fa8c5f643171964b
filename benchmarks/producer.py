"""Throughput of the routing producer against a bare one that passes a partition and a delivery callback.

Pairs of runs are interleaved, so that a noisy machine harms both alike; the median of the ratios is what counts. What
noise harms least is the least processor time that the producing thread took for a record, bare and routed. The brokers
are those inside librdkafka, which answer faster than any real one and so hide nothing; ``--bootstrap-server``
takes real ones, with ``--topic`` a topic that exists there.

    python benchmarks/producer.py --policy round-robin --policy score
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter, process_time, thread_time
from typing import NamedTuple

from confluent_kafka import Producer

from kafkabal.clusters import Reading, ReadRequest
from kafkabal.config import ClientSetting
from kafkabal.model import BrokerRow, HeaderRow, LogDirRow, PartitionRow, TopicRow, build_cluster
from kafkabal.producer import RoutingProducer, StateReader
from kafkabal.routing import Context, load_policy
from kafkabal.scoring import load_scores

SIZES = {10_000: 0.95, 1_000: 0.85, 100: 0.70}
"""Bytes of a record, and the share of the bare producer's throughput that is to be reached."""
RECORDS = {10_000: 40_000, 1_000: 200_000, 100: 400_000}
SETTINGS = {"linger.ms": 5, "enable.idempotence": True, "queue.buffering.max.messages": 1_000_000, "log_level": 2}


class Cost(NamedTuple):
    """What a run took."""

    wall_s: float
    cpu_s: float
    """Of the whole process: both clients' threads, and the brokers inside librdkafka where they are used."""
    thread_s: float
    """Of the thread that produces."""


class Stopwatch:
    """Starts when it is made."""

    def __init__(self) -> None:
        self._start = perf_counter(), process_time(), thread_time()

    def read(self) -> Cost:
        """Cost until now."""
        wall_s, cpu_s, thread_s = self._start
        return Cost(perf_counter() - wall_s, process_time() - cpu_s, thread_time() - thread_s)


@dataclass
class Metadata:
    """A cluster of which only the metadata counts."""

    client: Producer
    topic: str

    def read(self, request: ReadRequest) -> Reading:  # noqa: ARG002
        """Leaders of the topic's partitions."""
        found = self.client.list_topics(self.topic, timeout=10)
        dirs = [LogDirRow(path="/d", total_bytes=10**12, usable_bytes=10**12)]
        rows = [
            PartitionRow(partition=p, leader=info.leader, replicas=[info.leader], sizes=[0], log_dirs=[0])
            for p, info in sorted(found.topics[self.topic].partitions.items())
        ]
        return Reading(
            build_cluster(
                HeaderRow(kafkabal_snapshot=1, cluster_id="c", taken_at=""),
                [BrokerRow(broker=b, log_dirs=dirs) for b in found.brokers],
                [TopicRow(topic=self.topic, partitions=rows)],
            )
        )


def bare_cost(settings: Mapping[str, ClientSetting], topic: str, value: bytes, records: int) -> Cost:
    """Send so many records with confluent-kafka alone, the partitions in turn."""
    producer = Producer(dict(settings))
    partitions = itertools.cycle(sorted(producer.list_topics(topic, timeout=10).topics[topic].partitions))
    delivered = 0

    def count(error: object, _message: object) -> None:
        nonlocal delivered
        delivered += error is None

    producer.produce(topic, value, partition=next(partitions), on_delivery=count)
    producer.flush()
    watch = Stopwatch()
    for sent in range(records):
        while True:
            try:
                producer.produce(topic, value, partition=next(partitions), on_delivery=count)
                break
            except BufferError:
                producer.poll(0.05)
        if not sent & 63:
            producer.poll(0)
    producer.flush()
    cost = watch.read()
    assert delivered == records + 1
    return cost


def routed_cost(
    settings: Mapping[str, ClientSetting], cluster: StateReader, topic: str, policy: str, value: bytes, records: int
) -> Cost:
    """Send so many records through the routing producer, its refresh running as in earnest."""
    chosen = load_policy(policy).create(Context())
    scores = load_scores(["disk"])
    with RoutingProducer(cluster, topic, chosen, settings, scores=scores) as producer:
        producer.produce(value)
        producer.flush()
        watch = Stopwatch()
        for _ in range(records):
            producer.produce(value)
        assert producer.flush().delivered == records + 1
        return watch.read()


def main() -> None:
    """Print a line for each policy and size."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--policy", action="append", default=[])
    options.add_argument("--pairs", type=int, default=10)
    options.add_argument("--bootstrap-server")
    options.add_argument("--topic", default="benchmark")
    options.add_argument("--share", type=float, default=1.0, help="share of the usual number of records")
    given = options.parse_args()
    owner = Producer({"test.mock.num.brokers": 3, "log_level": 2})
    while not (found := owner.list_topics(given.topic, timeout=10)).topics[given.topic].partitions:
        owner.poll(0.1)
    servers = given.bootstrap_server or ",".join(f"{b.host}:{b.port}" for b in found.brokers.values())
    settings: Mapping[str, ClientSetting] = {"bootstrap.servers": servers, **SETTINGS}
    cluster = Metadata(Producer(dict(settings)), given.topic)
    for policy, (size, target) in itertools.product(given.policy or ["round-robin"], SIZES.items()):
        value, records = bytes(size), round(RECORDS[size] * given.share)
        pairs = [
            (
                bare_cost(settings, given.topic, value, records),
                routed_cost(settings, cluster, given.topic, policy, value, records),
            )
            for _ in range(given.pairs)
        ]
        wall = sorted(bare.wall_s / routed.wall_s for bare, routed in pairs)
        cpu = sorted(bare.cpu_s / routed.cpu_s for bare, routed in pairs)
        own = [min(cost.thread_s for cost in column) / records * 1e6 for column in zip(*pairs, strict=True)]
        per_s = [records / statistics.median(cost.wall_s for cost in column) for column in zip(*pairs, strict=True)]
        print(
            f"{policy:24} {size:6} B  bare {per_s[0]:9,.0f}/s  routed {per_s[1]:9,.0f}/s  "
            f"ratio {statistics.median(wall):.3f} ({wall[0]:.3f} .. {wall[-1]:.3f})  "
            f"by CPU {statistics.median(cpu):.3f} ({cpu[0]:.3f} .. {cpu[-1]:.3f})  "
            f"producing thread {own[0]:.2f} and {own[1]:.2f} us  target {target:.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
