"""The lock between real processes: a holder that dies or sleeps does not block for longer than its session."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.cluster_protocol import ClusterLock
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.errors import BusyError
from kafkabal.sandbox import Sandbox

# the shortest that brokers allow by default
_SESSION_S = 6.0
_HOLDER = """
import sys, time
from kafkabal.clusters import LockRequest
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.config.connection_settings import ConnectionSettings
cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(sys.argv[1].split(","))))
lock = cluster.lock(LockRequest("the first one", float(sys.argv[2])))
print("held", flush=True)
for line in sys.stdin:
    print(lock.is_held(), lock.seconds_since_heartbeat() > float(sys.argv[2]) / 2, flush=True)
"""
# dies as a member of an incomplete group, which rebalances until the session has expired
_DIES_AMID_A_REBALANCE = """
import os, signal, sys
from kafkabal.clusters import LockRequest
from kafkabal.clusters.kafka.cluster import KafkaCluster
from kafkabal.clusters.kafka.group_lock import GroupLock
from kafkabal.config.connection_settings import ConnectionSettings
call = GroupLock._call
def call_or_die(lock, request, deadline):
    if type(request).__name__.startswith("SyncGroup"):
        os.kill(os.getpid(), signal.SIGKILL)
    return call(lock, request, deadline)
GroupLock._call = call_or_die
cluster = KafkaCluster(ConnectionSettings(bootstrap_servers=tuple(sys.argv[1].split(","))))
cluster.lock(LockRequest("the first one", 60.0))
"""


@contextmanager
def _holder(sandbox: Sandbox) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock, and reports whether it does for each line it reads."""
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLDER, sandbox.bootstrap_servers, str(_SESSION_S)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def cluster(three_brokers: Sandbox) -> Iterator[KafkaCluster]:
    """This process's client."""
    servers = tuple(three_brokers.bootstrap_servers.split(","))
    with KafkaCluster(ConnectionSettings(bootstrap_servers=servers)) as made:
        yield made


def _take_when_free(cluster: KafkaCluster) -> tuple[ClusterLock, float]:
    """Acquire the lock; returns it with how long it was busy."""
    start = time.monotonic()
    reasons: list[str] = []
    while True:
        try:
            lock = cluster.lock(LockRequest("the second one", _SESSION_S))
        except BusyError as error:
            reasons.append(error.message)
        else:
            # a client that is refused just as the session ends learns no name
            assert "the first one" in reasons[0]
            return lock, time.monotonic() - start
        assert time.monotonic() - start < 10 * _SESSION_S
        time.sleep(0.1)


def test_a_holder_that_is_killed_frees_it_with_its_session(cluster: KafkaCluster, three_brokers: Sandbox) -> None:
    """Busy at first, with its holder named, and free when the session has expired."""
    with _holder(three_brokers) as holder:
        holder.send_signal(signal.SIGKILL)
        lock, busy_s = _take_when_free(cluster)
        assert busy_s > 1.0
        lock.release()


def test_a_holder_that_sleeps_through_its_session_knows_that_it_lost(
    cluster: KafkaCluster, three_brokers: Sandbox
) -> None:
    """Stopped and continued, it no longer holds the lock, and its last heartbeat is too old from the first moment."""
    with _holder(three_brokers) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.send_signal(signal.SIGSTOP)
        lock, _ = _take_when_free(cluster)
        holder.stdin.write("?\n")
        holder.stdin.flush()
        holder.send_signal(signal.SIGCONT)
        assert holder.stdout.readline() == "False True\n"
        assert lock.is_held()
        lock.release()


def test_a_holder_killed_during_a_group_rebalance_is_named_and_evicted(
    cluster: KafkaCluster, three_brokers: Sandbox
) -> None:
    """The holder is named although the group never became stable; a client that knows of its death need not wait."""
    # Kafka describes no group that was never complete
    cluster.lock(LockRequest("a former one", _SESSION_S)).release()
    killed = subprocess.run(
        [sys.executable, "-c", _DIES_AMID_A_REBALANCE, three_brokers.bootstrap_servers],
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    with pytest.raises(BusyError, match="cluster locked by the first one"):
        cluster.lock(LockRequest("the second one", _SESSION_S))
    cluster.lock(LockRequest("the second one", _SESSION_S, is_gone="the first one".__eq__)).release()
