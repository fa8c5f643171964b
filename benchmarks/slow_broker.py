"""Throughput with one slow broker: the default producer, ours by latency, and oracles that know the broker.

A sandbox of four brokers, one of them stopped for seven eighths of every 80 ms (SIGSTOP). The oracles send to the
partitions in turn, those of the slow broker with a fixed weight: 0 leaves it out, 1 treats it as the others; the best
of them is what physics allows to whoever knows. Runs are interleaved; medians of the ratios to the default count.

    python -m benchmarks.slow_broker --rounds 3 --records 40000
"""

from __future__ import annotations

import argparse
import itertools
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from confluent_kafka import Producer as Client

from kafkabal.clusters import NewTopic, connect
from kafkabal.config import ConnectionSettings
from kafkabal.producer import Producer
from kafkabal.sandbox import SandboxSpec, up

BROKERS, SLOW, PARTITIONS = 4, 4, 8
PERIOD_S, STOPPED = 0.08, 7 / 8
VALUE = bytes(1000)
SLOT_RECORDS = 64
WEIGHTS = (0.0, 0.1, 0.25)
CASES = {"RF 1, acks=1": (1, {"acks": "1"}), "RF 3, acks=all": (3, {"acks": "all"})}
BUFFERS_KIB = {"4 MB buffer": 4096, "large buffer": 1_048_576}


@contextmanager
def stopping(pid: int) -> Iterator[None]:
    """Stop a process for most of every period."""
    over = Event()

    def work() -> None:
        while not over.is_set():
            os.kill(pid, signal.SIGSTOP)
            time.sleep(PERIOD_S * STOPPED)
            os.kill(pid, signal.SIGCONT)
            time.sleep(PERIOD_S * (1 - STOPPED))

    thread = Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        os.kill(pid, signal.SIGCONT)


def send(producer: Any, topic: str, records: int, partition_of: Callable[[int], int | None]) -> float:
    """Records a second until all are acknowledged."""
    start_s = time.perf_counter()
    for number in range(records):
        partition = partition_of(number)
        more = {} if partition is None else {"partition": partition}
        while True:
            try:
                producer.produce(topic, VALUE, **more)
                break
            except BufferError:
                producer.poll(0.01)
        if not number % 64:
            producer.poll(0)
    assert producer.flush(60) == 0
    return records / (time.perf_counter() - start_s)


def oracle(leaders: dict[int, int], weight: float) -> Callable[[int], int]:
    """Partitions in turn, those that the slow broker leads as often as it is worth."""
    turns = 20
    ring = [
        partition
        for turn in range(turns)
        for partition, leader in leaders.items()
        if leader != SLOW or turn < weight * turns
    ]
    return lambda number: ring[number // SLOT_RECORDS % len(ring)]


def main() -> None:
    """Print a line for each case and producer."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--records", type=int, default=40_000)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name, up(SandboxSpec(brokers=BROKERS), home=Path(name)) as sandbox:
        servers = sandbox.bootstrap_servers
        (pid,) = (status.pid for status in sandbox.status() if status.node.id == SLOW)
        for case, (copies, acks) in CASES.items():
            topic = f"slow-{copies}"
            assignment = tuple(tuple((p + r) % BROKERS + 1 for r in range(copies)) for p in range(PARTITIONS))
            with connect(ConnectionSettings(bootstrap_servers=tuple(servers.split(",")))) as cluster:
                assert not cluster.create_topics([NewTopic(name=topic, assignment=assignment)])
            leaders = {partition: replicas[0] for partition, replicas in enumerate(assignment)}
            for buffer, kib in BUFFERS_KIB.items():
                settings = {"bootstrap.servers": servers, "queue.buffering.max.kbytes": kib, "log_level": 2, **acks}
                measure(f"{case}, {buffer}", settings, topic, leaders, pid, given)


def measure(
    case: str, settings: dict[str, Any], topic: str, leaders: dict[int, int], pid: int, given: argparse.Namespace
) -> None:
    """Interleaved rounds of every producer."""
    ways: dict[str, Callable[[], float]] = {
        "default": lambda: send(Client(settings), topic, given.records, lambda _: None),
        "score": lambda: _routed({**settings, "kafkabal.scores": "disk"}, topic, given.records),
        "score by latency": lambda: _routed({**settings, "kafkabal.scores": "latency"}, topic, given.records),
        **{
            f"oracle {weight:g}": lambda weight=weight: send(  # type: ignore[misc]
                Client(settings), topic, given.records, oracle(leaders, weight)
            )
            for weight in WEIGHTS
        },
    }
    rates: dict[str, list[float]] = {way: [] for way in ways}
    with stopping(pid):
        for _, (way, run) in itertools.product(range(given.rounds), ways.items()):
            rates[way].append(run())
    for way, found in rates.items():
        ratio = statistics.median(ours / bare for ours, bare in zip(found, rates["default"], strict=True))
        print(f"{case:28} {way:18} {statistics.median(found):9,.0f}/s  {ratio:.2f} x the default", flush=True)


def _routed(settings: dict[str, Any], topic: str, records: int) -> float:
    with Producer(settings) as producer:
        return send(producer, topic, records, lambda _: None)


if __name__ == "__main__":
    main()
