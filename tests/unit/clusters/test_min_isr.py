"""Partitions under min ISR, counted once and again and again."""

from __future__ import annotations

import pytest

from kafkabal.clusters import UnderMinIsrCounter, count_under_min_isr
from kafkabal.clusters.cluster_protocol import ReadRequest
from kafkabal.clusters.config_items import ConfigChange, ConfigResource, ResourceKind
from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.clusters.simulated.fault_injection import FaultyCluster
from kafkabal.model import MIN_INSYNC_REPLICAS
from kafkabal.testing.cluster_builders import brokers, cluster, topic

_EVERY_S = 30.0


@pytest.fixture
def faulty() -> FaultyCluster:
    """Three brokers and two topics with a replica on each, of which broker 3 is dead."""
    memory = InMemoryCluster.of(cluster(brokers(3), [topic("a", [1, 2, 3]), topic("b", [2, 1, 3])]), FakeClock())
    memory.kafka.kill(3)
    return FaultyCluster(memory)


def _require(faulty: FaultyCluster, name: str, least: int) -> None:
    resource = ConfigResource(ResourceKind.TOPIC, name)
    assert not faulty.inner.alter_configs([ConfigChange(resource, MIN_INSYNC_REPLICAS, str(least))])


def _asked(faulty: FaultyCluster) -> list[set[str]]:
    """The topics of each request for configs."""
    return [{r.name for r in call.arguments[0]} for call in faulty.calls if call.method == "configs"]


def _count_for(faulty: FaultyCluster, counter: UnderMinIsrCounter, seconds: float) -> list[int | None]:
    counts = []
    clock = faulty.inner.kafka.clock  # type: ignore[attr-defined]
    for _ in range(round(seconds / _EVERY_S)):
        counts.append(counter.count(faulty.read(ReadRequest()).state))
        clock.sleep(_EVERY_S)
    return counts


def test_configs_of_affected_topics_are_read_every_few_minutes(faulty: FaultyCluster) -> None:
    """A watch that counts every 30 s while a broker is dead asks for configs every five minutes, and counts as once."""
    _require(faulty, "a", 3)
    counter = UnderMinIsrCounter(faulty, faulty.inner.kafka.clock)  # type: ignore[attr-defined]
    assert (
        _count_for(faulty, counter, 900.0)
        == [1] * 30
        == [count_under_min_isr(faulty, faulty.read(ReadRequest()).state)] * 30
    )
    assert _asked(faulty)[:-1] == [{"a", "b"}] * 3


def test_a_changed_config_is_seen_within_minutes(faulty: FaultyCluster) -> None:
    """A topic that is made to require more replicas is counted once its config is read again."""
    counter = UnderMinIsrCounter(faulty, faulty.inner.kafka.clock)  # type: ignore[attr-defined]
    assert _count_for(faulty, counter, 60.0) == [0, 0]
    _require(faulty, "b", 3)
    assert _count_for(faulty, counter, 300.0)[-1] == 1


def test_only_topics_that_are_new_among_the_affected_are_asked_for(faulty: FaultyCluster) -> None:
    """When a further topic is affected, it alone is asked for."""
    counter = UnderMinIsrCounter(faulty, faulty.inner.kafka.clock)  # type: ignore[attr-defined]
    _count_for(faulty, counter, 30.0)
    kafka = faulty.inner.kafka  # type: ignore[attr-defined]
    kafka.start(3)
    kafka.add_topic(topic("c", [1, 2, 3]))
    kafka.kill(3)
    _count_for(faulty, counter, 60.0)
    assert _asked(faulty) == [{"a", "b"}, {"c"}]
