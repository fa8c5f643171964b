"""Two hosts, one cluster: only one works on it, and one that slept through its session must reacquire the lock."""

from __future__ import annotations

import signal
import time
from contextlib import closing

import pytest
from kafka.protocol.metadata import FindCoordinatorRequest

from kafkabal.clusters import LockRequest
from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.kafka.group_lock import LOCK_GROUP
from kafkabal.clusters.kafka.kafka_client import KafkaClient
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.errors import BusyError, FindingsError
from kafkabal.executor.run_options import RunOptions
from kafkabal.sandbox import Sandbox, SandboxSpec
from tests.live.conftest import SharedClusters
from tests.live.executor.broker_links import LINK, BrokerLinks, link_ports
from tests.live.executor.stage import Stage

_BUSY, _FINDINGS = BusyError.exit_code, FindingsError.exit_code
_USUAL_SESSION_S = RunOptions().session_s
_HEAD_PUT = 4
"""A run that replaces another writes a part, its state, a summary of the other and its head."""


def test_a_suspended_run_sends_nothing_once_another_has_worked(stage: Stage) -> None:
    """A stopped process that another host has replaced sends no request and reports that it lost the lock (75)."""
    sleeper = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    sleeper.send(signal.SIGSTOP)
    sent = stage.journal().effects
    stage.finish("resume", host="two")
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert (code, said) == (_BUSY, said)
    assert "was resumed by another process" in said
    assert said.count("\n") == 1
    assert stage.journal().effects == sent
    stage.assert_as_planned()


@pytest.mark.parametrize("records", [1, *(pytest.param(n, marks=pytest.mark.sweep) for n in range(8, 48, 8))])
def test_a_suspended_run_resumes_if_no_other_has_worked(stage: Stage, records: int) -> None:
    """A process stopped for two sessions reacquires the lock, observes the cluster, and completes."""
    sleeper = stage.begin(stage.fast)
    stage.until(lambda: bool(stage.journals()) and len(stage.records()) >= records)
    sleeper.send(signal.SIGSTOP)
    time.sleep(2 * stage.fast.session_s)
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert code == 0, said
    stage.assert_as_planned()


@pytest.mark.parametrize(
    ("request_kind", "what"),
    [
        ("alter_reassignments", "placement of moves"),
        pytest.param("alter_configs", "replication rates of broker", marks=pytest.mark.sweep),
    ],
)
def test_a_request_that_arrives_after_a_rollback(stage: Stage, request_kind: str, what: str) -> None:
    """A process suspended as it sends a request names what that has changed (75), and a resume undoes it."""
    sleeper = stage.begin(stage.slow, stops_before=(request_kind, 1))
    sleeper.await_suspension()
    stage.finish("roll back", host="two")
    stage.assert_as_at_start()
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert (code, said) == (_BUSY, said)
    assert f"was resumed by another process; changed by a request that arrived late: {what}" in said
    status = stage.command("status", host="two")
    assert (status.returncode, "continue with 'kafkabal rebalance resume" in status.stdout) == (_FINDINGS, True)
    stage.finish("resume", host="two")
    stage.assert_as_at_start()


@pytest.mark.sweep
def test_a_run_whose_head_arrives_late(stage: Stage) -> None:
    """A process suspended as it records its run does not hide the run that another host has begun since: that one still
    receives requests, and can be rolled back."""
    stage.finish("apply", host="three")
    stage.finish("roll back", host="three")
    sleeper = stage.begin(stage.slow, stops_before=("records.put", _HEAD_PUT))
    sleeper.await_suspension()
    newer = stage.begin_when_free(stage.slow, "apply", host="two")
    stage.until(stage.in_flight)
    sleeper.send(signal.SIGCONT)
    code, said = sleeper.end()
    assert (code, said) == (_BUSY, said)
    stage.hasten(host="three")
    code, said = newer.end()
    assert code == 0, said
    stage.assert_as_planned()
    stage.finish("roll back", host="three")
    stage.assert_as_at_start()


def test_two_hosts_at_once(stage: Stage) -> None:
    """The second host's command ends with 75 and names the first; not once that was killed and its session has
    expired."""
    first = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    busy = stage.command("resume", host="two")
    assert busy.returncode == _BUSY
    assert f"cluster locked by kafkabal on one (process {first.popen.pid}, id " in busy.stderr
    assert first.popen.poll() is None
    first.kill()
    stage.wait_for_lock()
    ended = stage.command("resume", "--yes", "--throttle", "50MB", host="two")
    assert ended.returncode == 0, ended.stderr
    stage.assert_as_planned()


def test_coordinator_of_the_lock_that_hangs(stage: Stage) -> None:
    """The lock's coordinator hangs for longer than a session: nothing is lost, and the run completes."""
    process = stage.begin(stage.slow)
    stage.until(stage.in_flight)
    coordinator = _coordinator(ConnectionSettings(bootstrap_servers=stage.servers))
    stage.sandbox.pause(coordinator)
    time.sleep(2 * stage.slow.session_s)
    stage.sandbox.start(coordinator)
    asked = stage.command("throttle", "50MB", "--log-dir-throttle", "60MB")
    assert (asked.returncode, "will use 50 MB/s" in asked.stderr) == (0, True), asked.stderr
    code, said = process.end()
    assert code == 0, said
    stage.assert_as_planned()


@pytest.mark.sweep
def test_a_lock_that_kafka_cannot_store_yet(shared_clusters: SharedClusters) -> None:
    """A follower of the coordinator is cut off: the lock is delayed, says so, and is held within its 75 s, once Kafka
    counts the follower as lagging; a request to give up ends the wait at once."""
    with closing(BrokerLinks(3)) as links:
        sandbox = _with_default_lag(shared_clusters, links)
        settings = ConnectionSettings(bootstrap_servers=tuple(sandbox.bootstrap_servers.split(",")))
        with connect(settings) as cluster:
            cluster.lock(LockRequest("one that creates the group", _USUAL_SESSION_S)).release()
            coordinator = _coordinator(settings)
            with links.cut(coordinator, coordinator % 3 + 1):
                with pytest.raises(_GivenUpError):
                    cluster.lock(LockRequest("one that gives up", _USUAL_SESSION_S, on_delay=_give_up))
                delays: list[str] = []
                lock = cluster.lock(LockRequest("one", _USUAL_SESSION_S, on_delay=lambda why, _: delays.append(why)))
                assert lock.is_held()
                assert set(delays) == {"Kafka cannot store the lock of the cluster yet"}
                lock.release()


class _GivenUpError(Exception):
    """The process was asked to stop."""


def _give_up(why: str, wait_s: float) -> None:
    raise _GivenUpError(why, wait_s)


def _with_default_lag(shared_clusters: SharedClusters, links: BrokerLinks) -> Sandbox:
    """Three brokers behind proxies, which count a follower as lagging after 30 s, as Kafka does by default."""
    spec = SandboxSpec(brokers=3, listeners=(links.listener(),), properties={"inter.broker.listener.name": LINK})
    sandbox = shared_clusters.get("default-lag", spec)
    links.serve(link_ports(sandbox))
    return sandbox


def _coordinator(settings: ConnectionSettings) -> int:
    with closing(KafkaClient(settings, SystemClock())) as client:
        return int(client.call_any(FindCoordinatorRequest(key=LOCK_GROUP, key_type=0, max_version=3)).node_id)
