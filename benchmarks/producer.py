"""Throughput of our producer against confluent-kafka's as people use it: its own partitioner, its own defaults.

Three ways of sending, each with both: one call per record, one call per record with a delivery callback, and one call
per thousand records. Pairs of runs are interleaved, so that a noisy machine affects both alike; the results are the
medians of the ratios of elapsed time, with their confidence intervals, and of the processor time of the producer's
process. Each producer has a process of its own: otherwise one may reuse the memory of another one, while the next gets
its own from the system.

The brokers are librdkafka's mock cluster, which responds faster than any real broker and so hides nothing, in another
process, since what brokers do with records is no cost of a producer. There, a producer sends five bursts with a pause
after each: the first time its memory comes from the system, later it is that of former records, as in any program that
runs for long; of the later bursts of a run, the median counts. With ``--bytes`` it sends one burst of this length. With
``--sandbox``, brokers are three real ones, and each producer sends one burst to a new topic.

The topic has twelve partitions. It is empty, where slots have to be short to keep brokers even. With ``--held``, it
holds this many bytes before, as topics in production do; real brokers have one topic then, for all runs.

With ``--idempotent``, both are idempotent producers. Those of librdkafka wait for the response of each partition, and
their threads use the whole processor meanwhile.

With ``--in-turn 250000``, confluent-kafka's producer is compared with itself: one sends so many bytes to each partition
in turn, by ``produce_batch``. That is what slots of this length cost in librdkafka, whichever code chooses partitions.

    python -m benchmarks.producer --pairs 9
    python -m benchmarks.producer --pairs 5 --bytes 1000000000
    python -m benchmarks.producer --pairs 9 --sandbox
    python -m benchmarks.producer --pairs 9 --sandbox --held 3000000000
"""

from __future__ import annotations

import argparse
import itertools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from time import perf_counter, process_time, sleep, thread_time
from typing import Any, NamedTuple

from confluent_kafka import Producer as Client
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.fill_topic import fill_topic
from benchmarks.median_interval import median_interval
from kafkabal.clusters import Reading, ReadRequest
from kafkabal.config import ClientSetting
from kafkabal.producer import Producer, drop_in_producer
from kafkabal.sandbox import SandboxSpec, up
from tests.mock_brokers import MockBrokers, reading_of

TARGET = 0.95
"""Target: fraction of the default producer's throughput."""
RECORDS = {100: 400_000, 1_000: 200_000, 10_000: 30_000}
SETTINGS: Mapping[str, ClientSetting] = {"queue.buffering.max.messages": 1_000_000, "log_level": 2}
"""librdkafka's defaults, with room for all records of a short run."""
AT_ONCE = 1000
BURSTS = 5
BROKERS = 3
MOCK_TOPIC = "benchmark"
PARTITIONS = 12


class Cost(NamedTuple):
    """Cost of a run."""

    wall_s: float
    cpu_s: float
    """Of the whole process, including the client's threads."""
    thread_s: float
    """Of the producing thread, until everything is queued."""


@dataclass
class Metadata:
    """A cluster reduced to its metadata."""

    client: Client
    topic: str
    partition_bytes: int = 0

    def read(self, request: ReadRequest) -> Reading:  # noqa: ARG002
        """Leaders of the topic's partitions."""
        found = self.client.list_topics(self.topic, timeout=10)
        leaders = {p: info.leader for p, info in found.topics[self.topic].partitions.items()}
        return reading_of(self.topic, leaders, found.brokers, self.partition_bytes)

    def close(self) -> None:
        """Does nothing."""


def by_call(producer: Client, topic: str, value: bytes, records: int) -> None:
    """One call per record."""
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.05)


def by_call_with_callback(producer: Client, topic: str, value: bytes, records: int) -> None:
    """One call per record, each with a callback."""
    delivered = 0

    def count(error: object, _message: object) -> None:
        nonlocal delivered
        delivered += error is None

    for number in range(records):
        while True:
            try:
                producer.produce(topic, value, on_delivery=count)
                break
            except BufferError:
                producer.poll(0.05)
        if not number & 63:
            producer.poll(0)
    producer.flush()
    assert delivered == records


def by_batch(producer: Client, topic: str, value: bytes, records: int) -> None:
    """One call per thousand records."""
    for _ in range(records // AT_ONCE):
        messages: list[dict[str, Any]] = [{"value": value} for _ in range(AT_ONCE)]
        while producer.produce_batch(topic, messages) < len(messages):
            messages = [{"value": message["value"]} for message in messages if "_error" in message]
            producer.poll(0.05)


class InTurn(Client):
    """Sends so many bytes to each partition in turn."""

    def __init__(self, settings: Mapping[str, ClientSetting], run_bytes: int) -> None:
        super().__init__(dict(settings))
        self.run_bytes = run_bytes
        self.partition = 0

    def produce_batch(self, topic: str, messages: list[dict[str, Any]], *_: object) -> int:
        """A part of the records to each partition; all values have one length."""
        at_once = max(1, self.run_bytes // len(messages[0]["value"]))
        queued = 0
        for first in range(0, len(messages), at_once):
            self.partition = (self.partition + 1) % BROKERS
            queued += super().produce_batch(topic, messages[first : first + at_once], self.partition)
        return queued


WAYS: Mapping[str, Callable[[Client, str, bytes, int], None]] = {
    "produce": by_call,
    "with callback": by_call_with_callback,
    "produce_batch": by_batch,
}


def cost(producer: Client, topic: str, way: str, value: bytes, records: int) -> Cost:
    """Cost of sending this many records, without connecting and the first view."""
    producer.produce(topic, value)
    producer.flush()
    wall_s, cpu_s, thread_s = perf_counter(), process_time(), thread_time()
    WAYS[way](producer, topic, value, records)
    own_s = thread_time() - thread_s
    producer.flush()
    return Cost(perf_counter() - wall_s, process_time() - cpu_s, own_s)


@contextmanager
def mock_brokers(held_bytes: int) -> Iterator[str]:
    """Addresses of mock brokers in another process, with one topic; of these, producers read only the metadata."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve_mock_topic, args=(theirs,), daemon=True)
    process.start()
    servers = ours.recv()
    client = Client({"bootstrap.servers": servers, "log_level": 2})
    metadata = Metadata(client, MOCK_TOPIC, held_bytes // PARTITIONS)
    drop_in_producer.open_cluster = lambda *_: metadata
    yield servers
    ours.send(None)
    process.join()


def serve_mock_topic(connection: Connection) -> None:
    """Serve mock brokers and tell their addresses, until something is received."""
    brokers = MockBrokers(MOCK_TOPIC, partitions=PARTITIONS, brokers=BROKERS)
    connection.send(brokers.bootstrap_servers)
    connection.recv()


@contextmanager
def in_a_sandbox(held_bytes: int) -> Iterator[Brokers]:
    """Three real brokers; the topic is a new one each time, or one that holds so many bytes."""
    with up(SandboxSpec(brokers=BROKERS), "bench-producer") as sandbox:
        admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers, "log_level": 2})
        numbers = itertools.count()

        def new_topic() -> str:
            name = f"benchmark-{next(numbers)}"
            admin.create_topics([NewTopic(name, PARTITIONS, 1)])[name].result()
            while not (found := admin.list_topics(timeout=10).topics.get(name)) or len(found.partitions) < PARTITIONS:
                sleep(0.1)
            return name

        if not held_bytes:
            yield Brokers(sandbox.bootstrap_servers, new_topic)
            return
        filled = new_topic()
        client = Client({"bootstrap.servers": sandbox.bootstrap_servers, **SETTINGS})
        value = bytes(100_000)
        fill_topic(client, filled, ((value, n % PARTITIONS) for n in range(held_bytes // len(value))))
        yield Brokers(sandbox.bootstrap_servers, lambda: filled)


@dataclass(frozen=True)
class Brokers:
    """Real brokers to produce to."""

    servers: str
    new_topic: Callable[[], str]


@dataclass(frozen=True, kw_only=True)
class Run:
    """What one process does."""

    way: str
    size: int
    records: int
    bursts: int
    settings: Mapping[str, ClientSetting]
    policy: str | None = None
    """None for confluent-kafka's producer."""
    in_turn_bytes: int | None = None
    """For confluent-kafka's producer: bytes to each partition in turn."""
    servers: str | None = None
    """None for mock brokers."""
    held_bytes: int = 0
    """What the topic of mock brokers holds before."""
    topic: str = MOCK_TOPIC

    def costs(self) -> list[Cost]:
        """Costs of the bursts."""
        with mock_brokers(self.held_bytes) if self.servers is None else nullcontext(self.servers) as servers:
            producer = self._producer({"bootstrap.servers": servers, **self.settings})
            return [cost(producer, self.topic, self.way, bytes(self.size), self.records) for _ in range(self.bursts)]

    def _producer(self, settings: dict[str, ClientSetting]) -> Client:
        if self.in_turn_bytes is not None:
            return InTurn(settings, self.in_turn_bytes)
        return Producer({**settings, "kafkabal.policy": self.policy}) if self.policy else Client(settings)


Cell = tuple[Run, Run]
"""The same records sent by confluent-kafka's producer, and by ours."""


def costs_in_a_process(run: Run) -> list[Cost]:
    """Costs of a run in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        return process.submit(run.costs).result()


def measure(cells: Sequence[Cell], pairs: int, topic: Callable[[], str]) -> None:
    """Print a line for the first bursts of each cell, and one for later ones if there are some.

    One pair of each cell after the other: for minutes a machine may favour one of the two, by a tenth and more.
    """
    costs: list[tuple[list[list[Cost]], list[list[Cost]]]] = [([], []) for _ in cells]
    for number in range(pairs):
        for cell, columns in zip(cells, costs, strict=True):
            # each is first in every second pair: what the first one sent is written to disk during the second run
            for which in ((0, 1), (1, 0))[number % 2]:
                columns[which].append(costs_in_a_process(replace(cell[which], topic=topic())))
    for (bare, _), columns in zip(cells, costs, strict=True):
        both = list(zip(*columns, strict=True))
        what = f"{bare.size:6} B  {bare.way:14}"
        show([(first[0], second[0]) for first, second in both], f"{what} first", bare.records)
        if bare.bursts > 1:
            show([(middle(first[1:]), middle(second[1:])) for first, second in both], f"{what} later", bare.records)


def main() -> None:
    """Print the results of each size and way."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--pairs", type=int, default=9)
    options.add_argument("--policy", default="score")
    options.add_argument("--sandbox", action="store_true", help="real brokers")
    options.add_argument("--bytes", type=int, help="values of the only burst; by default 40, 200 and 300 MB in each")
    options.add_argument("--held", type=int, metavar="BYTES", default=0, help="bytes that the topic holds before")
    options.add_argument("--in-turn", type=int, metavar="BYTES", help="confluent-kafka's producer in place of ours")
    options.add_argument("--idempotent", action="store_true", help="set enable.idempotence for both")
    given = options.parse_args()
    with in_a_sandbox(given.held) if given.sandbox else nullcontext() as brokers:
        bare = [
            Run(
                way=way,
                size=size,
                records=given.bytes // size if given.bytes else usual,
                bursts=1 if given.bytes or brokers else BURSTS,
                settings={**SETTINGS, "enable.idempotence": given.idempotent},
                servers=brokers.servers if brokers else None,
                held_bytes=given.held,
            )
            for (size, usual), way in itertools.product(RECORDS.items(), ["produce_batch"] if given.in_turn else WAYS)
        ]
        cells = [(run, replace(run, policy=given.policy, in_turn_bytes=given.in_turn)) for run in bare]
        measure(cells, given.pairs, brokers.new_topic if brokers else lambda: MOCK_TOPIC)


def middle(bursts: Sequence[Cost]) -> Cost:
    """The medians of a run's bursts, which are not independent of each other."""
    return Cost(*(statistics.median(column) for column in zip(*bursts, strict=True)))


def show(pairs: Sequence[tuple[Cost, Cost]], what: str, records: int) -> None:
    """Print one line."""
    wall, low, high = median_interval([bare.wall_s / ours.wall_s for bare, ours in pairs])
    cpu, least, most = median_interval([bare.cpu_s / ours.cpu_s for bare, ours in pairs])
    own = [min(each.thread_s for each in column) / records * 1e6 for column in zip(*pairs, strict=True)]
    print(
        f"{what} ratio {wall:.2f} ({low:.2f} .. {high:.2f})  by CPU {cpu:.2f} ({least:.2f} .. {most:.2f})  "
        f"producing thread {own[0]:.2f} and {own[1]:.2f} us  target {TARGET}",
        flush=True,
    )


if __name__ == "__main__":
    main()
