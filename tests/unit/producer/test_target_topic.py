"""What is known of a topic before anything is sent to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafkabal.clusters.cluster_protocol import Fault, TopicDescription
from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import KafkabalError, UnreachableError, UsageError
from kafkabal.producer.target_topic import MessageReader, TopicFacts, current_topic_id, topic_facts

_RESOURCE = ConfigResource(ResourceKind.TOPIC, "images")


@dataclass
class Brokers:
    """Brokers with a topic, or none, whose configs they tell, or not."""

    topic_id: str | None = "T"
    configs_now: dict[str, str] = field(default_factory=dict)
    fault: Fault | None = None
    waited_s: list[float] = field(default_factory=list)

    def describe_topic(self, topic: str, deadline_s: float) -> TopicDescription | None:
        """The topic, if there is one."""
        self.waited_s.append(deadline_s)
        if self.topic_id is None:
            return None
        return TopicDescription(cluster_id="C", topic_id=self.topic_id, partitions=4)

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Its configs, or why they are not told."""
        if self.fault:
            return {}, {_RESOURCE: self.fault}
        return {_RESOURCE: {k: ConfigValue(v, ConfigSource.OWN) for k, v in self.configs_now.items() if k in keys}}, {}


def test_facts_are_those_of_metadata_and_configs() -> None:
    """Ids, partitions, the largest record and whether it is compacted."""
    brokers = Brokers(configs_now={"max.message.bytes": "5000", "cleanup.policy": "compact,delete"})
    assert topic_facts(brokers, "images") == TopicFacts(
        cluster_id="C", topic="images", topic_id="T", partitions=4, max_record_bytes=5000, is_compacted=True
    )


def test_configs_that_may_not_be_read_are_taken_for_kafkas_defaults() -> None:
    """Who may write, but not describe configs, can send; where nobody answers, nothing is assumed."""
    facts = topic_facts(Brokers(fault=Fault("TOPIC_AUTHORIZATION_FAILED")), "images")
    assert (facts.max_record_bytes, facts.is_compacted) == (1_048_588, False)
    with pytest.raises(UnreachableError, match="cannot read its configs: timeout"):
        topic_facts(Brokers(fault=Fault("timeout", "no answer", retriable=True)), "images")


def test_a_topic_that_is_not_there_is_named() -> None:
    """At the start that is a wrong name, with what makes the topic; later it is an answer."""
    with pytest.raises(UsageError, match="unknown topic: 'images'"):
        topic_facts(Brokers(topic_id=None), "images")
    assert current_topic_id(Brokers(topic_id=None), "images") is None


def test_a_look_in_passing_does_not_wait_for_long() -> None:
    """The id is asked for while records are sent, so that seconds are all it may take."""
    brokers = Brokers()
    assert current_topic_id(brokers, "images") == "T"
    assert max(brokers.waited_s) <= 2.0


class Consumer:
    """Knows the offsets of two partitions, once the leader that died has a successor."""

    def __init__(self, clock: FakeClock, code: int, until_s: float) -> None:
        self._clock, self._fault, self._until_s = clock, KafkaException(KafkaError(code)), until_s

    def list_topics(self, topic: str, timeout: float) -> Any:
        """Two partitions."""
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None})})

    def get_watermark_offsets(self, partition: Any, timeout: float, cached: bool) -> tuple[int, int]:
        """First and end offset."""
        if partition.partition == 1 and self._clock.monotonic() < self._until_s:
            raise self._fault
        return 3, 7


@pytest.mark.parametrize(
    "code", [KafkaError._DESTROY_BROKER, KafkaError._TRANSPORT, KafkaError.NOT_LEADER_FOR_PARTITION]
)
def test_a_leader_that_died_is_waited_for(code: int) -> None:
    """Offsets are asked for again until another broker leads, but not for ever."""
    clock = FakeClock()
    reader = MessageReader({}, "images", clock)
    assert reader._watermarks(Consumer(clock, code, clock.monotonic() + 9)) == {0: (3, 7), 1: (3, 7)}  # type: ignore[arg-type]
    started_s = clock.monotonic()
    with pytest.raises(KafkabalError):
        reader._watermarks(Consumer(clock, code, started_s + 99))  # type: ignore[arg-type]
    assert clock.monotonic() - started_s < 16
