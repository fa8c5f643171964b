"""Runs Kafka's own performance tool with our Java partitioner on a sandbox, for a live test and a benchmark."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from kafkabal.clusters import ReadRequest
from kafkabal.clusters.kafka import KafkaCluster
from kafkabal.model import replica_bytes
from kafkabal.routing import PARTITIONER_CLASS, build_partitioner
from kafkabal.sandbox import (
    ProgramResult,
    Sandbox,
    default_cache,
    ensure_client_jars,
    ensure_jars,
    ensure_java_compiler,
    java_binary,
    java_command,
    run_java,
)

UNLIMITED: Final = -1
BY_WEIGHTS: Final = f"partitioner.class={PARTITIONER_CLASS}"
"""The client setting that makes it follow published weights."""
_TOOL: Final = "org.apache.kafka.tools.ProducerPerformance"
_HEAP_BYTES: Final = 512 * 2**20
_TOOL_S: Final = 300.0
_CLOSING_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class Load:
    """What the tool should write."""

    records: int
    record_bytes: int
    per_s: int = UNLIMITED


def build_jar(path: Path, client_jars: Sequence[Path] | None = None) -> None:
    """Compile the partitioner, against the default client or another one."""
    jars = ensure_client_jars(default_cache()) if client_jars is None else client_jars
    build_partitioner(path, jars, java=java_binary(), compiler=ensure_java_compiler(default_cache()))


def kafkabal_command(sandbox: Sandbox, *words: str) -> list[str]:
    """The command line of a kafkabal command on a sandbox."""
    return [sys.executable, "-m", "kafkabal.cli.main", *words, "--profile", str(sandbox.profile_path)]


@contextmanager
def published(sandbox: Sandbox, topic: str, refresh: str = "1s") -> Iterator[None]:
    """Publish the weights of a topic again and again, from when the first are published until the block ends."""
    command = kafkabal_command(sandbox, "route", topic, "--publish", "--refresh", refresh, "-o", "jsonl")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as publisher:
        try:
            assert publisher.stdout is not None
            assert publisher.stdout.readline().startswith("{")
            yield
        finally:
            publisher.terminate()  # a background process of a shell ignores SIGINT
            publisher.communicate(timeout=_CLOSING_S)


def write(
    sandbox: Sandbox,
    topic: str,
    version: str,
    load: Load,
    jar: Path,
    scratch: Path,
    *,
    settings: Sequence[str] = (),
    options: Sequence[str] = (),
) -> ProgramResult:
    """Run the tool to write to a topic.

    Parameters
    ----------
    version
        Version of the tool and its client.
    settings
        Producer settings.
    options
        JVM options.
    """
    sizes = ("--num-records", str(load.records), "--record-size", str(load.record_bytes))
    producer = (f"bootstrap.servers={sandbox.bootstrap_servers}", "acks=1", *settings)
    command = java_command(
        _TOOL,
        ("--topic", topic, *sizes, "--throughput", str(load.per_s), "--producer-props", *producer),
        (jar, *ensure_jars(version, default_cache())),
        heap_bytes=_HEAP_BYTES,
        scratch=scratch,
        options=options,
    )
    return run_java(command, timeout_s=_TOOL_S)


def max_over_mean(cluster: KafkaCluster, topic: str) -> float:
    """Bytes of the fullest broker over the mean, for one topic, from the brokers' log dirs."""
    of_broker = bytes_of_brokers(cluster, topic)
    return float(of_broker.max() / of_broker.mean())


def bytes_of_brokers(cluster: KafkaCluster, topic: str) -> NDArray[np.number]:
    """Bytes of one topic on each broker, from the brokers' log dirs."""
    state = cluster.read(ReadRequest()).state
    mine = state.partitions.topic[state.replicas.partition] == state.topics.name.index(topic)
    return np.bincount(state.replicas.broker[mine], replica_bytes(state)[mine], len(state.brokers))
