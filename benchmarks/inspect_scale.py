"""What reading a large cluster costs this program: the responses of hundreds of brokers, decoded and combined.

The responses are synthetic, byte for byte as brokers send them, and replace the network: this measures the tool's own
processor time and memory. ``--sandbox`` measures how long real brokers take to respond: that grows with the replicas of
a broker, and all brokers work in parallel.

    python -m benchmarks.inspect_scale --brokers 200 --partitions 200000
    python -m benchmarks.inspect_scale --sandbox 20000
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

from kafka.protocol.admin import DescribeLogDirsResponse
from kafka.protocol.metadata import MetadataResponse

from benchmarks.inspect_vs_logdirs import BROKERS, create_replicas
from kafkabal.clusters import Deadline, ReadRequest, SystemClock, connect
from kafkabal.clusters.kafka import Address, KafkaClient, KafkaReader, KnownBroker, KnownBrokers
from kafkabal.config import ConnectionSettings
from kafkabal.sandbox import SandboxSpec, up

REPLICATION_FACTOR = 3
PARTITIONS_A_TOPIC = 10
LOG_DIRS = 4
METADATA_VERSION, LOG_DIRS_VERSION = 12, 4


class CannedResponseClient(KafkaClient):
    """A client whose responses are already there."""

    def __init__(self, brokers: int, partitions: int) -> None:
        super().__init__(ConnectionSettings(bootstrap_servers=()), SystemClock())
        self._nodes = KnownBrokers(
            "canned", 1, {b: KnownBroker(Address(f"b{b}", 9092), f"r{b % 5}") for b in range(1, brokers + 1)}
        )
        with ProcessPoolExecutor(1) as elsewhere:  # in a process whose memory does not count
            self._metadata, self._logs = elsewhere.submit(encoded, brokers, partitions).result()

    @property
    def response_bytes(self) -> int:
        """Size of all responses together."""
        return len(self._metadata) + sum(map(len, self._logs.values()))

    def metadata(self, topics: Any, deadline: Deadline | None = None) -> Any:  # noqa: ARG002
        """Decode the metadata response."""
        return MetadataResponse.decode(self._metadata, version=METADATA_VERSION)

    def call_broker(self, broker: int, *_: Any, **__: Any) -> Any:
        """Decode a broker's response about its log dirs."""
        return DescribeLogDirsResponse.decode(self._logs[broker], version=LOG_DIRS_VERSION)


def encoded(brokers: int, partitions: int) -> tuple[bytes, dict[int, bytes]]:
    """The metadata and each broker's log dirs, as bytes."""
    kind = MetadataResponse.MetadataResponseTopic
    held: dict[int, dict[str, list[int]]] = {broker: {} for broker in range(1, brokers + 1)}
    topics = []
    for topic in range(partitions // PARTITIONS_A_TOPIC):
        name, rows = f"a-topic-of-some-length-{topic:05}", []
        for partition in range(PARTITIONS_A_TOPIC):
            ids = [(7 * topic + partition + 61 * replica) % brokers + 1 for replica in range(REPLICATION_FACTOR)]
            for broker in ids:
                held[broker].setdefault(name, []).append(partition)
            rows.append(
                kind.MetadataResponsePartition(
                    partition_index=partition, leader_id=ids[0], replica_nodes=ids, isr_nodes=ids, offline_replicas=[]
                )
            )
        topics.append(kind(error_code=0, name=name, is_internal=False, partitions=rows))
    metadata = MetadataResponse(brokers=[], cluster_id="canned", controller_id=1, topics=topics)
    logs = {broker: log_dirs(names).encode(version=LOG_DIRS_VERSION) for broker, names in held.items()}
    return metadata.encode(version=METADATA_VERSION), logs


def log_dirs(held: dict[str, list[int]]) -> Any:
    """The response of a broker with these partitions, assigned to its log dirs by topic."""
    kind = DescribeLogDirsResponse.DescribeLogDirsResult
    topic = kind.DescribeLogDirsTopic
    names = sorted(held)
    return DescribeLogDirsResponse(
        error_code=0,
        results=[
            kind(
                error_code=0,
                log_dir=f"/d{number}",
                topics=[
                    topic(
                        name=name,
                        partitions=[
                            topic.DescribeLogDirsPartition(
                                partition_index=p, partition_size=123_456_789, offset_lag=0, is_future_key=False
                            )
                            for p in held[name]
                        ],
                    )
                    for name in names[number::LOG_DIRS]
                ],
                total_bytes=4 * 10**12,
                usable_bytes=10**12,
            )
            for number in range(LOG_DIRS)
        ],
    )


def measure_tool(brokers: int, partitions: int) -> None:
    """Print the tool's own cost for a cluster of this size."""
    client = CannedResponseClient(brokers, partitions)
    costs = []
    for _ in range(4):
        start = process_time()
        reading = KafkaReader(client, ReadRequest(), "canned", dict).read()
        costs.append(process_time() - start)
    cpu_s = median(costs[1:])
    replicas = len(reading.state.replicas)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{brokers} brokers, {partitions} partitions, {replicas} replicas: {cpu_s:.2f} s of processor time, "
        f"{cpu_s / replicas * 1e6:.1f} us a replica, {client.response_bytes / 1e6:.1f} MB of responses, "
        f"{memory:.0f} MB of memory at most"
    )


def measure_brokers(replicas: int, runs: int = 10) -> None:
    """Print how long six real brokers and the tool take together."""
    spec = SandboxSpec(brokers=BROKERS, racks=3, expected_replicas=max(1000, 2 * replicas // BROKERS))
    with tempfile.TemporaryDirectory() as home, up(spec, "scale", home=Path(home)) as sandbox:
        create_replicas(sandbox, replicas)
        settings = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))
        for request in (ReadRequest(), ReadRequest(offsets=True), ReadRequest(configs=True)):
            walls, cpus = [], []
            with connect(settings) as cluster:
                for _ in range(runs):
                    start, cpu = perf_counter(), process_time()
                    cluster.read(request)
                    walls.append(perf_counter() - start)
                    cpus.append(process_time() - cpu)
            asked = ", ".join(k for k in ("offsets", "configs") if getattr(request, k)) or "sizes and placement"
            print(f"{replicas} replicas on {BROKERS} brokers, {asked}: {median(walls):.2f} s, own {median(cpus):.2f} s")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brokers", type=int, default=200)
    parser.add_argument("--partitions", type=int, default=200_000)
    parser.add_argument("--sandbox", type=int, metavar="REPLICAS", action="append", help="repeatable")
    options = parser.parse_args()
    for replicas in options.sandbox or []:
        measure_brokers(replicas)
    if not options.sandbox:
        measure_tool(options.brokers, options.partitions)
    return 0


if __name__ == "__main__":
    sys.exit(main())
