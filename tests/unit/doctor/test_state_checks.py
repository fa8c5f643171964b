"""What is wrong with a cluster that responds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kafkabal.clusters import Capability, ConfigChange, ConfigResource, ReadRequest, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.doctor.check_result import CheckStatus
from kafkabal.doctor.state_checks import check_state
from kafkabal.model import MIN_INSYNC_REPLICAS
from kafkabal.testing.cluster_builders import brokers, cluster, topic


def _memory() -> InMemoryCluster:
    """Three brokers; a topic with three replicas, and one with two."""
    return InMemoryCluster.of(cluster(brokers(3), [topic("three", (1, 2, 3)), topic("two", (1, 2), (3, 1))]))


def _require(memory: InMemoryCluster, name: str, replicas: int) -> None:
    """Set ``min.insync.replicas`` of a topic."""
    change = ConfigChange(ConfigResource(ResourceKind.TOPIC, name), MIN_INSYNC_REPLICAS, str(replicas))
    assert not memory.alter_configs([change])


def _found(memory: InMemoryCluster) -> list[tuple[str, CheckStatus, str]]:
    """What is found."""
    checks = list(check_state(memory, memory.read(ReadRequest()).state))
    assert all(check.hint for check in checks if check.status.is_finding)
    return [(c.what, c.status, c.detail) for c in checks]


def test_a_cluster_without_faults_has_no_findings() -> None:
    """A line for everything that is well would hide what is not."""
    assert _found(_memory()) == []


def _fail_dir(memory: InMemoryCluster) -> None:
    memory.kafka.fail_log_dir(3, "/d0")


def _kill_two(memory: InMemoryCluster) -> None:
    _require(memory, "three", 2)
    memory.kafka.kill(1)
    memory.kafka.kill(2)


def _lag(memory: InMemoryCluster) -> None:
    memory.kafka.parts.topics["two"].partitions[1].isr.remove(1)


@pytest.mark.parametrize(
    ("fault", "findings"),
    [
        (_fail_dir, [("log dirs", "1 log dir offline: /d0 of broker 3")]),
        (
            _kill_two,
            [
                ("dead brokers", "not registered, but in the replica lists of partitions: 1, 2"),
                ("offline partitions", "1 partition without a leader: two-0"),
                ("min ISR", "1 partition under min ISR: producers with acks=all cannot write"),
            ],
        ),
        (_lag, [("replicas out of sync", "1 partition with live replicas out of sync: two-1")]),
    ],
)
def test_what_is_wrong_is_a_finding(fault: Callable[[InMemoryCluster], None], findings: list[tuple[str, str]]) -> None:
    """What stops producers, or a run, is not passed over because every broker can be reached and read."""
    memory = _memory()
    fault(memory)
    assert _found(memory) == [(what, CheckStatus.WARNING, detail) for what, detail in findings]


def test_topics_that_no_broker_may_miss_are_a_note() -> None:
    """Nothing is wrong while all brokers run; without their configs, at least those with one replica are known."""
    memory = InMemoryCluster.of(
        cluster(brokers(3), [topic("one", (1,)), topic("safe", (1, 2, 3)), topic("strict", (1, 2))])
    )
    _require(memory, "strict", 2)
    _require(memory, "safe", 2)
    begin = "one dead broker stops writes with acks=all to"
    strict = "one (1 replica), strict (2 replicas, min.insync.replicas 2)"
    assert _found(memory) == [
        ("redundancy", CheckStatus.NOTE, f"{begin} 2 topics: {strict}"),
    ]
    blind = InMemoryCluster(memory.kafka, without={Capability.CONFIGS})
    assert _found(blind) == [
        ("redundancy", CheckStatus.NOTE, f"{begin} 1 topic: one (1 replica)"),
    ]


def test_cordoned_log_dirs_are_a_note() -> None:
    """They are intended after a drain, but a run that was stopped may have been unable to lift its cordon."""
    memory = _memory()
    memory.kafka.parts.brokers[2].log_dirs["/d0"].cordoned = True
    detail = "1 log dir cordoned, where no replica is placed: /d0 of broker 2"
    assert _found(memory) == [("cordoned log dirs", CheckStatus.NOTE, detail)]
