"""Throttles that no reassignment uses are a finding, of whatever origin."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkabal.clusters import ConfigChange, ConfigResource, InFlight, LockRequest, ReadRequest, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.doctor.check_result import CheckResult, CheckStatus
from kafkabal.doctor.cluster_checks import check_cluster
from kafkabal.doctor.throttle_checks import check_throttles
from kafkabal.model import FOLLOWER_REPLICAS, LEADER_RATE, TopicPartition
from kafkabal.testing.cluster_builders import GB, brokers, cluster, topic

_RATE = ConfigChange(ConfigResource(ResourceKind.BROKER, "2"), LEADER_RATE, "1000000")
_LIST = ConfigChange(ConfigResource(ResourceKind.TOPIC, "t"), FOLLOWER_REPLICAS, "0:2")


@pytest.fixture
def memory() -> InMemoryCluster:
    """Three brokers and a topic, without any throttle."""
    return InMemoryCluster.of(cluster(brokers(3), [topic("t", (1, 2), size_bytes=GB)]))


def _found(memory: InMemoryCluster) -> list[tuple[CheckStatus, str]]:
    checks = [check for check in check_cluster(memory, 3.0, Path("/nowhere")) if check.what == "throttles"]
    return [(check.status, check.detail) for check in checks]


def test_no_throttles_are_no_finding(memory: InMemoryCluster) -> None:
    """A line for everything that is well would hide what is not."""
    assert _found(memory) == []


def test_throttled_replicas_are_a_finding(memory: InMemoryCluster) -> None:
    """They slow replicas that catch up; the hint names the command that restores or deletes them."""
    assert not memory.alter_configs([_RATE, _LIST])
    (check,) = check_throttles(memory, memory.read(ReadRequest()).state)
    assert (check.status, check.detail) == (
        CheckStatus.WARNING,
        "used by no reassignment: throttled replicas of topic t; replication rates of broker 2",
    )
    assert "'kafkabal rebalance repair'" in check.hint


def test_rates_alone_are_a_note(memory: InMemoryCluster) -> None:
    """Operators set rates for good, and those throttle nothing until a topic lists throttled replicas."""
    assert not memory.alter_configs([_RATE])
    assert _found(memory) == [
        (
            CheckStatus.NOTE,
            "used by no reassignment: replication rates of broker 2; see 'kafkabal rebalance repair'",
        )
    ]


def test_throttles_in_use_are_no_finding(memory: InMemoryCluster) -> None:
    """A reassignment is in flight on the broker and the topic."""
    assert not memory.alter_configs([_RATE, _LIST])
    memory.kafka.bandwidth_bytes_per_s = 1.0
    assert not memory.alter_reassignments({TopicPartition("t", 0): (2, 3)})
    assert _found(memory) == []


def test_throttles_beside_a_live_run_are_not_judged(memory: InMemoryCluster) -> None:
    """A run sets its throttles before its moves start; the result names the holder of the lock."""
    assert not memory.alter_configs([_LIST])
    lock = memory.lock(LockRequest(owner="kafkabal pid 7 on host-b", session_s=30.0))
    ((status, detail),) = _found(memory)
    assert status is CheckStatus.SKIPPED
    assert "cluster locked by kafkabal pid 7 on host-b" in detail
    lock.release()
    assert [status for status, _ in _found(memory)] == [CheckStatus.WARNING]


def test_without_a_controller_throttles_are_not_judged(memory: InMemoryCluster) -> None:
    """It is then unknown which of them a reassignment uses."""
    assert not memory.alter_configs([_LIST])
    memory.kafka.parts.controller_responds = False
    found: list[CheckResult] = list(
        check_throttles(memory, memory.read(ReadRequest(in_flight=InFlight.IF_KNOWN)).state)
    )
    assert found == []
