"""Client telemetry for real: the plug-in is built, loaded by brokers, fed by clients, and read back."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from kafkabal.sandbox import Sandbox, SandboxSpec
from kafkabal.sandbox.jars import ensure_jars, ensure_java_compiler
from kafkabal.sandbox.java_programs import java_binary, java_command, run_java
from kafkabal.sandbox.sandbox_home import default_cache
from kafkabal.telemetry.broker_plugin.build_jar import REPORTER_CLASS, build_plugin
from tests.live.conftest import MakeSandbox
from tests.prometheus_server import prometheus_server

VERSION = "4.1.2"
TOO_LARGE = 20


@pytest.fixture(scope="module")
def compiler() -> Path:
    """The Java compiler."""
    return ensure_java_compiler(default_cache())


@pytest.fixture(scope="module")
def plugin(compiler: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The plug-in's jar."""
    jar = tmp_path_factory.mktemp("plugin") / "plugin.jar"
    build_plugin(jar, ensure_jars(VERSION, default_cache()), java=java_binary(), compiler=compiler)
    return jar


def kafkabal(sandbox: Sandbox, *words: str) -> str:
    """What a command of ``telemetry`` prints."""
    return run(sandbox, "telemetry", *words)


def run(sandbox: Sandbox, *words: str) -> str:
    """What a command prints."""
    command = [sys.executable, "-m", "kafkabal.cli.main", *words, "--profile", str(sandbox.profile_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def traffic() -> Iterator[threading.Event]:
    """Set to end the traffic."""
    stop = threading.Event()
    yield stop
    stop.set()


def produce_to_broker(sandbox: Sandbox, partitions: list[int], stop: threading.Event) -> threading.Thread:
    """Write to some partitions of the topic, in a thread."""
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "log_level": 2})

    def run() -> None:
        while not stop.is_set():
            for partition in partitions:
                producer.produce("t", b"x" * 100, partition=partition)
            producer.poll(0.01)
        producer.flush(10)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def topics_with_errors(sandbox: Sandbox, scratch: Path) -> list[dict[str, Any]]:
    """Records that Java producers could not write, once a push has arrived: a starved one may end before it pushes."""
    end_s = monotonic() + 120
    while True:
        write_too_large_records(sandbox, scratch)
        rows = json.loads(kafkabal(sandbox, "errors", "--for", "5s", "-o", "json"))["topics"]
        if (found := [row for row in rows if row["failed_records"]]) or monotonic() > end_s:
            return found


def write_too_large_records(sandbox: Sandbox, scratch: Path) -> None:
    """A Java producer whose records the topic refuses, for some seconds."""
    words = ["--topic", "narrow", "--num-records", str(TOO_LARGE), "--record-size", "2000", "--throughput", "5"]
    # the client splits a batch of several records that is refused, and may then spin until they expire after 120 s
    settings = (f"bootstrap.servers={sandbox.bootstrap_servers}", "acks=all", "batch.size=1")
    command = java_command(
        "org.apache.kafka.tools.ProducerPerformance",
        (*words, "--producer-props", *settings),
        ensure_jars(VERSION, default_cache()),
        heap_bytes=256 * 2**20,
        scratch=scratch,
    )
    assert run_java(command, timeout_s=120).exit_code == 0


def measured_latencies(sandbox: Sandbox, broker: int) -> dict[int, Any]:
    """Latencies by broker, once this broker is measured: a busy machine pushes late."""
    end_s = monotonic() + 120
    while True:
        brokers = json.loads(kafkabal(sandbox, "latency", "--for", "5s", "-o", "json"))["brokers"]
        found = {row["broker"]: row["latency_s"] for row in brokers}
        if found[broker] is not None or monotonic() > end_s:
            return found


def test_pushed_metrics_are_read_back(
    make_sandbox: MakeSandbox, plugin: Path, traffic: threading.Event, tmp_path: Path
) -> None:
    """Latencies by broker and failed records by topic arrive through our subscription and our plug-in."""
    sandbox = make_sandbox(
        SandboxSpec(brokers=2, class_path=(plugin,), properties={"metric.reporters": REPORTER_CLASS}), "telemetry"
    )
    kafkabal(sandbox, "subscribe", "--interval", "500ms")
    (listed,) = json.loads(kafkabal(sandbox, "list", "-o", "json"))["subscriptions"]
    assert (listed["name"], listed["interval_s"]) == ("kafkabal", 0.5)
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    admin.create_topics([NewTopic("t", 2, replica_assignment=[[1], [2]])])["t"].result()
    thread = produce_to_broker(sandbox, [1], traffic)
    found = measured_latencies(sandbox, 2)
    run(sandbox, "rebalance", "--yes", "--leaders-only", "--score", "latency", "--telemetry", "topic")
    admin.create_topics([NewTopic("narrow", 1, 1, config={"max.message.bytes": "1000"})])["narrow"].result()
    (failed,) = topics_with_errors(sandbox, tmp_path)
    assert failed["topic"] == "narrow"
    assert 0 < failed["failed_records"] <= TOO_LARGE * failed["clients"]
    traffic.set()
    thread.join(20)
    assert found[1] is None, "broker 1 answered other requests, but no records were sent to it"
    assert found[2] is not None
    assert found[2] > 0
    kafkabal(sandbox, "remove", "kafkabal")
    assert json.loads(kafkabal(sandbox, "list", "-o", "json")).get("subscriptions", []) == []


@pytest.fixture
def prometheus() -> Iterator[str]:
    """Address of a server that reports three times the value of broker 1 for broker 2."""
    with prometheus_server({"1": 1.0, "2": 3.0}) as address:
        yield address


def test_leaders_move_to_brokers_with_low_measured_load(make_sandbox: MakeSandbox, prometheus: str) -> None:
    """The broker with a third of the other's value leads three times as many partitions; no replica moves."""
    sandbox = make_sandbox(SandboxSpec(brokers=2), "leaders")
    admin = AdminClient({"bootstrap.servers": sandbox.bootstrap_servers})
    ring = [[1, 2] if n % 2 else [2, 1] for n in range(24)]
    admin.create_topics([NewTopic("t", 24, replica_assignment=ring)])["t"].result()
    words = ("rebalance", "--yes", "--leaders-only", "--score", "prometheus", "--prometheus", prometheus)
    run(sandbox, *words, "--prometheus-query", "load")

    partitions = admin.list_topics("t", timeout=30).topics["t"].partitions.values()
    assert [sorted(partition.replicas) for partition in partitions] == [[1, 2]] * 24
    assert 17 <= sum(partition.leader == 1 for partition in partitions) <= 19


def test_a_full_queue_drops_and_never_blocks(plugin: Path, compiler: Path, tmp_path: Path) -> None:
    """Two hundred thousand pushes without a broker to forward to all return, drops are counted, and failures logged
    once."""
    jars = [plugin, *ensure_jars(VERSION, default_cache())]
    class_path = ":".join(map(str, jars))
    java, source = str(java_binary()), Path(__file__).parent / "java" / "kafkabal" / "telemetry"
    compiled = ["-jar", str(compiler), "-17", "-nowarn", "-cp", class_path, "-d", str(tmp_path), str(source)]
    subprocess.run([java, *compiled], check=True, timeout=60)
    logging = "-Dorg.apache.logging.log4j.level=WARN"
    run = [java, logging, "-cp", f"{class_path}:{tmp_path}", "kafkabal.telemetry.ForwarderCheck"]
    done = subprocess.run(run, capture_output=True, text=True, timeout=60, check=True)
    counters = json.loads(done.stdout.splitlines()[-1])
    assert counters["received"] == 200_000
    assert 190_000 < counters["dropped"] < 200_000
    assert counters["failed"] == 2  # no producer can be made: the sender tries again, also after a client without an id
    assert counters["ended"], done.stdout
    said = done.stdout.split("Telemetry of clients cannot be written to topic __kafkabal_telemetry")
    assert len(said) == 3, done.stdout  # a topic that is not there, and a producer that cannot be made
    assert "TimeoutException" in said[1]
    assert "Invalid url" in said[2]


def test_the_plugin_is_the_same_bytes_each_time(plugin: Path, compiler: Path, tmp_path: Path) -> None:
    """Equal sources give an equal jar, so that a running one can be compared with a build."""
    again = tmp_path / "again.jar"
    build_plugin(again, ensure_jars(VERSION, default_cache()), java=java_binary(), compiler=compiler)
    assert again.read_bytes() == plugin.read_bytes()
