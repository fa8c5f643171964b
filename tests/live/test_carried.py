"""The inputs of an automatic throttle, read from real brokers."""

from __future__ import annotations

import time
import uuid
from contextlib import closing
from dataclasses import replace

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import TopicPartition as ConfluentPartition

from kafkabal.clusters.clock import SystemClock
from kafkabal.clusters.cluster_protocol import NewTopic
from kafkabal.clusters.open_cluster import connect
from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.executor.observe.cluster_load import load_between, take_sample
from kafkabal.model.topic_partition import TopicPartition
from kafkabal.sandbox import Sandbox

RECORDS, RECORD_BYTES = 1000, 1000


def _produce(sandbox: Sandbox, topic: str) -> None:
    producer = Producer({"bootstrap.servers": sandbox.bootstrap_servers, "acks": "all"})
    for _ in range(RECORDS):
        producer.produce(topic, bytes(RECORD_BYTES), partition=0)
    producer.flush()


def _commit(sandbox: Sandbox, topic: str, offsets: dict[str, int]) -> None:
    """Commit offsets for groups."""
    for group, offset in offsets.items():
        consumer = Consumer({"bootstrap.servers": sandbox.bootstrap_servers, "group.id": group})
        with closing(consumer):
            while not _is_committed(consumer, ConfluentPartition(topic, 0, offset)):
                time.sleep(0.1)


def _is_committed(consumer: Consumer, position: ConfluentPartition) -> bool:
    try:
        consumer.commit(offsets=[position], asynchronous=False)
    except KafkaException:  # the coordinator of a new group may not be known yet
        return False
    return True


def test_measures_produce_rates_and_lagging_groups(three_brokers: Sandbox) -> None:
    """Sender and receiver of a partition get its write rate; a group that reads more slowly is reported."""
    topic = f"carried-{uuid.uuid4().hex[:8]}"
    slow, quick, idle = (f"{topic}-{name}" for name in ("slow", "quick", "idle"))
    clock = SystemClock()
    with connect(ConnectionSettings(bootstrap_servers=tuple(three_brokers.bootstrap_servers.split(",")))) as cluster:
        assert cluster.create_topics([NewTopic(name=topic, assignment=((1, 2),))]) == {}
        _produce(three_brokers, topic)
        _commit(three_brokers, topic, {slow: 0, quick: 0, idle: 0})
        before = take_sample(cluster, clock)
        _produce(three_brokers, topic)
        _commit(three_brokers, topic, {slow: 100, quick: RECORDS, idle: 0})
        after = take_sample(cluster, clock)
    load = load_between(replace(before, at_s=0.0), replace(after, at_s=10.0), leaders=[1])
    rate = pytest.approx(RECORDS * RECORD_BYTES / 10, rel=0.2)
    assert load.incoming_bytes_per_s({TopicPartition(topic, 0): (3,)}) == {1: rate, 3: rate}
    assert {slow, quick, idle} & load.behind == {slow}
    assert load_between(before, after, leaders=[2, 3]).behind.isdisjoint({slow, quick, idle})
