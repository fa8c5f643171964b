"""``kafkabal watch`` on real brokers: what it notices, when, and what it heals, also after being killed.

The long forms are a sweep of 90 minutes: ``pytest -n0 -m sweep tests/live/test_watch.py``; see
docs/benchmarks/watch.md."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.clusters.cluster_protocol import Cluster
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.sandbox import Sandbox, SandboxSpec, WaitLimit
from tests.live.conftest import MakeSandbox

PARTITIONS = 24
VICTIM = 3
NOTICED_S = 35.0
LEADS_AGAIN_AFTER_S = 600.0


class Watch:
    """A watch in a separate process, and the events it has reported."""

    def __init__(self, sandbox: Sandbox, home: Path, *words: str) -> None:
        self.words = ["watch", "-o", "jsonl", "-b", sandbox.bootstrap_servers, *words]
        self.home, self.events = home, list[tuple[float, dict[str, Any]]]()
        self.process = self._start(*self.words, stdout=subprocess.PIPE)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _start(self, *words: str, stdout: int) -> subprocess.Popen[str]:
        environment = {**os.environ, "XDG_STATE_HOME": str(self.home), "XDG_CACHE_HOME": str(self.home)}
        return subprocess.Popen(
            [sys.executable, "-m", "kafkabal", *words],
            stdout=stdout,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                event = json.loads(line)
                if "event" in event:
                    self.events.append((monotonic(), event))

    def until(self, kind: str, within_s: float, since: float = 0.0, **fields: Any) -> float:
        """When an event of this kind was reported; fails if there is none within some seconds."""
        end_s = monotonic() + within_s
        while True:
            for at_s, event in list(self.events):
                if at_s >= since and event["event"] == kind and all(event[k] == v for k, v in fields.items()):
                    return at_s
            assert monotonic() < end_s, (kind, fields, [e for _, e in self.events])
            assert self.process.poll() is None, kind
            sleep(0.1)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """End it; returns its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        code = self.process.wait(60)
        self.reader.join(10)
        return code

    def run(self, *words: str) -> int:
        """Exit code of another command, run at the same time."""
        return self._start(*words, stdout=subprocess.DEVNULL).wait(60)


@pytest.fixture
def sandbox(make_sandbox: MakeSandbox) -> Sandbox:
    """Three brokers in three racks, each partition on two of them."""
    made = make_sandbox(SandboxSpec(brokers=3, racks=3), "watch")
    ring = [[1 + n % 3, 1 + (n + 1) % 3] for n in range(PARTITIONS)]
    admin = AdminClient({"bootstrap.servers": made.bootstrap_servers})
    for future in admin.create_topics([NewTopic("img", PARTITIONS, replica_assignment=ring)]).values():
        future.result(30)
    producer = Producer({"bootstrap.servers": made.bootstrap_servers, "acks": "all"})
    for number in range(24 * PARTITIONS):
        producer.produce("img", os.urandom(100_000), partition=number % PARTITIONS)
        producer.poll(0)
    producer.flush(60)
    return made


@pytest.fixture
def watches(sandbox: Sandbox, tmp_path: Path) -> Iterator[Any]:
    """Start watches that end with the test."""
    started: list[Watch] = []

    def start(*words: str) -> Watch:
        started.append(Watch(sandbox, tmp_path / "home", *words))
        return started[-1]

    yield start
    for watch in started:
        watch.end(signal.SIGKILL)


def _until(holds: Callable[[], bool]) -> None:
    assert WaitLimit(deadline_s=120.0).until(holds)


def _replicas_on(sandbox: Sandbox, broker: int) -> int:
    with _cluster(sandbox) as cluster:
        return sum(broker in status.replicas for status in cluster.partition_status(["img"]).values())


def _led_by(sandbox: Sandbox, broker: int) -> int:
    with _cluster(sandbox) as cluster:
        return sum(status.leader == broker for status in cluster.partition_status(["img"]).values())


def _cluster(sandbox: Sandbox) -> Cluster:
    return connect(ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(","))))


def test_a_killed_broker_is_noticed_and_repaired_by_the_watch_on_standby(
    sandbox: Sandbox, watches: Any, tmp_path: Path
) -> None:
    """Two watches report a broker dead within 35 s, one repairs it; after ``kill -9`` the other one resumes the run.

    A watch that was started before them and only reports keeps neither from healing.
    """
    watches("--rebalance-above", "90%")
    words = ("--heal", "all", "--dead-after", "5s", "--rebalance-above", "90%", "--throttle", "1MB")
    metrics = tmp_path / "watch.prom"
    first = watches(*words, "--textfile", str(metrics))
    _until(lambda: metrics.exists() and f'broker="{VICTIM}",' in metrics.read_text())
    assert first.run("watch", "--once", "-b", sandbox.bootstrap_servers) in (0, 3)
    unused = tmp_path / "standby.prom"
    second = watches(*words, "--textfile", str(unused))
    sleep(10)
    killed_s = monotonic()
    sandbox.kill(VICTIM)
    for watch in (first, second):
        assert watch.until("broker-dead", 60, broker=VICTIM) - killed_s <= NOTICED_S
    with _cluster(sandbox) as cluster:
        _until(lambda: bool(cluster.reassignments()))
    assert not unused.exists()
    first.end(signal.SIGKILL)
    assert _replicas_on(sandbox, VICTIM)

    second.until("healing", 90)
    second.until("healed", 90)

    assert [event["message"] for _, event in second.events if "was left unfinished" in event["message"]]
    assert _replicas_on(sandbox, VICTIM) == 0
    assert unused.exists()
    assert second.end() == 143


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_ten_of_ten_brokers_are_noticed(sandbox: Sandbox, watches: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Brokers killed and paused in turn are each found dead within 35 s, and back once they respond again."""
    watch = watches("--rebalance-above", "90%")
    sleep(30)
    found = []
    for trial in range(10):
        broker = 2 + trial % 2
        begin_s = monotonic()
        (sandbox.kill if trial % 4 < 2 else sandbox.pause)(broker)
        found.append(watch.until("broker-dead", 60, begin_s, broker=broker) - begin_s)
        back_s = monotonic()
        sandbox.start(broker)
        watch.until("broker-back", 60, back_s, broker=broker)
        sleep(random.uniform(10, 15))
    with capsys.disabled():
        sys.stdout.write(f"\ndead after {', '.join(f'{s:.1f}' for s in found)} s\n")
    assert max(found) <= NOTICED_S


@pytest.mark.sweep
@pytest.mark.timeout(1800)
def test_a_broker_held_to_seventy_percent(sandbox: Sandbox, watches: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A broker stopped 0.3 s per second is slow within 30 s, leads nothing after 60 s, and leads again in 10 min."""
    watch = watches("--heal", "leaders", "--rebalance-above", "90%")
    sleep(90)
    led_before = _led_by(sandbox, VICTIM)
    assert led_before
    with _held(_process_of(sandbox, VICTIM)) as begin_s:
        slow_s = watch.until("broker-slow", 60, begin_s, broker=VICTIM) - begin_s
        while _led_by(sandbox, VICTIM):
            assert monotonic() - begin_s < 120
            sleep(0.5)
        gone_s = monotonic() - begin_s
    free_s = monotonic()
    back_s = watch.until("broker-back", 60, free_s, broker=VICTIM) - free_s
    while _led_by(sandbox, VICTIM) != led_before:
        assert monotonic() - free_s < 900, watch.events
        sleep(2)
    assert monotonic() - free_s - back_s >= LEADS_AGAIN_AFTER_S, watch.events
    with capsys.disabled():
        sys.stdout.write(f"\nslow after {slow_s:.1f} s, without leadership after {gone_s:.1f} s\n")
        sys.stdout.write(f"well after {back_s:.1f} s, leading again after {monotonic() - free_s:.0f} s\n")
    assert slow_s <= 30
    assert gone_s <= 60


@pytest.mark.sweep
@pytest.mark.timeout(5400)
def test_no_false_alarm_in_an_hour(sandbox: Sandbox, watches: Any) -> None:
    """While produce rates change by 30% at random every second, no broker is reported slow, unreachable or dead."""
    seconds = float(os.environ.get("KAFKABAL_QUIET_SECONDS", "3600"))
    watch = watches("--rebalance-above", "90%")
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "linger.ms": 5})
    end_s, value = monotonic() + seconds, os.urandom(1000)
    while monotonic() < end_s:
        next_s = monotonic() + 1
        for number in range(int(1000 * random.uniform(0.7, 1.3))):
            producer.produce("img", value, partition=number % PARTITIONS)
        producer.poll(0)
        sleep(max(next_s - monotonic(), 0))
    producer.flush(30)

    assert [event for _, event in watch.events if str(event["event"]).startswith("broker-")] == []


def _process_of(sandbox: Sandbox, broker: int) -> psutil.Process:
    (status,) = [node for node in sandbox.status() if node.node.id == broker]
    assert status.pid is not None
    return psutil.Process(status.pid)


@contextmanager
def _held(process: psutil.Process) -> Iterator[float]:
    """Let a process run for 0.7 s of each second; returns the start time."""
    ended = threading.Event()

    def hold() -> None:
        while not ended.is_set():
            process.suspend()
            sleep(0.3)
            process.resume()
            ended.wait(0.7)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    try:
        yield monotonic()
    finally:
        ended.set()
        thread.join()
