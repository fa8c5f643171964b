"""Facts about a topic that are read before anything is sent to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pytest

from kafkabal.clusters.cluster_protocol import Fault, TopicDescription
from kafkabal.clusters.config_items import ConfigResource, ConfigSource, ConfigValue, ResourceKind
from kafkabal.errors import UnreachableError, UsageError
from kafkabal.producer.topic_facts import TopicFacts, current_topic_id, topic_facts

_RESOURCE = ConfigResource(ResourceKind.TOPIC, "images")


@dataclass
class Brokers:
    """Brokers with a topic or without one, which report its configs or not."""

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

    def topic_names(self) -> list[str]:
        """Two others."""
        return ["tt", "imagse"]

    def configs(
        self, resources: Collection[ConfigResource], keys: Collection[str]
    ) -> tuple[Mapping[ConfigResource, Mapping[str, ConfigValue]], Mapping[ConfigResource, Fault]]:
        """Its configs, or the error that refuses them."""
        if self.fault:
            return {}, {_RESOURCE: self.fault}
        return {_RESOURCE: {k: ConfigValue(v, ConfigSource.OWN) for k, v in self.configs_now.items() if k in keys}}, {}


def test_facts_are_those_of_metadata_and_configs() -> None:
    """The facts hold the topic's id, its partitions, the largest record and whether it is compacted."""
    brokers = Brokers(
        configs_now={"max.message.bytes": "5000", "cleanup.policy": "compact,delete", "min.insync.replicas": "2"}
    )
    assert topic_facts(brokers, "images") == TopicFacts(
        cluster_id="C",
        topic="images",
        topic_id="T",
        partitions=4,
        max_record_bytes=5000,
        is_compacted=True,
        min_in_sync=2,
    )


def test_configs_that_may_not_be_read_are_taken_for_kafkas_defaults() -> None:
    """A client may send without permission to describe configs; if no broker responds, nothing is assumed."""
    facts = topic_facts(Brokers(fault=Fault("TOPIC_AUTHORIZATION_FAILED")), "images")
    assert (facts.max_record_bytes, facts.is_compacted, facts.min_in_sync) == (1_048_588, False, 1)
    with pytest.raises(UnreachableError, match="cannot read its configs: no answer"):
        topic_facts(Brokers(fault=Fault("timeout", "no answer", retriable=True)), "images")


def test_a_topic_that_is_not_there_is_named() -> None:
    """At the start an unknown topic is an error that suggests how to create it; later it is a valid answer."""
    with pytest.raises(UsageError, match="unknown topic: 'images'") as caught:
        topic_facts(Brokers(topic_id=None), "images")
    assert caught.value.hint == "did you mean: imagse"
    with pytest.raises(UsageError, match="unknown topic: 'other'") as caught:
        topic_facts(Brokers(topic_id=None), "other")
    assert "kafkabal create other" in (caught.value.hint or "")
    assert current_topic_id(Brokers(topic_id=None), "images") is None


def test_an_optional_read_has_a_short_timeout() -> None:
    """The topic id is requested while records are sent, so the request may take only seconds."""
    brokers = Brokers()
    assert current_topic_id(brokers, "images") == "T"
    assert max(brokers.waited_s) <= 2.0
