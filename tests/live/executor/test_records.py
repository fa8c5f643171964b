"""Records written while a rebalance runs and dies twice are read exactly where they were acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, Producer
from confluent_kafka import TopicPartition as Position
from msgspec.structs import replace

from kafkabal.executor.run_options import Throttle
from tests.live.executor.scenery import LONGEST_S
from tests.live.executor.stage import Stage

_THROTTLE = Throttle(bytes_per_s=1_500_000, log_dir_bytes_per_s=1_500_000)
_VALUE = bytes(500)
Place = tuple[str, int, int]
"""Topic, partition and offset of a record."""


@dataclass
class Traffic:
    """A producer with acks=all and a consumer that checks its records, both running until stopped."""

    servers: str
    partitions: list[tuple[str, int]]
    acknowledged: dict[Place, bytes] = field(default_factory=dict)
    refused: list[Any] = field(default_factory=list)
    read: dict[Place, bytes] = field(default_factory=dict)
    read_twice: list[Place] = field(default_factory=list)
    is_written: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """Write numbered records, a few hundred a second, and note where each acknowledged one went."""
        producer = Producer({"bootstrap.servers": self.servers, "acks": "all", "enable.idempotence": True})
        number = 0
        while not self.is_written.wait(0.003):
            topic, partition = self.partitions[number % len(self.partitions)]
            producer.produce(topic, _VALUE, key=b"%d" % number, partition=partition, on_delivery=self._note)
            producer.poll(0)
            number += 1
        assert producer.flush(60) == 0

    def _note(self, error: Any, message: Any) -> None:
        if error is not None:
            self.refused.append(error)
        else:
            self.acknowledged[message.topic(), message.partition(), message.offset()] = message.key()

    def follow(self, positions: list[Position], is_over: Callable[[], bool]) -> None:
        """Read from these positions on, until all acknowledged records have arrived."""
        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": "checker", "enable.auto.commit": False})
        consumer.assign(positions)
        while not is_over():
            message = consumer.poll(0.2)
            if message is not None and message.error() is None:
                place = (message.topic(), message.partition(), message.offset())
                if place in self.read:
                    self.read_twice.append(place)
                self.read[place] = message.key()
        consumer.close()


def test_no_record_is_lost(stage: Stage) -> None:
    """During a rebalance with two crashes every acknowledged record is read once, at its offset."""
    partitions = [(c.topic, c.partition) for c in stage.plan.partitions]
    traffic = Traffic(stage.sandbox.bootstrap_servers, partitions)
    positions = [Position(*name, offset) for name, offset in stage.ends().items()]
    writer = threading.Thread(target=traffic.write)
    has_ended = threading.Event()

    def is_all_read() -> bool:
        return has_ended.is_set() or (not writer.is_alive() and traffic.read.keys() >= traffic.acknowledged.keys())

    reader = threading.Thread(target=traffic.follow, args=(positions, is_all_read))
    writer.start()
    reader.start()
    try:
        stage.until(lambda: len(traffic.acknowledged) > 100)
        _rebalance_with_two_crashes(stage)
        traffic.is_written.set()
        writer.join()
        reader.join(LONGEST_S)
    finally:
        traffic.is_written.set()
        has_ended.set()
        writer.join()
        reader.join()
    assert not traffic.refused
    assert not traffic.read_twice
    assert len(traffic.acknowledged) > 1000
    assert traffic.read == traffic.acknowledged


def _rebalance_with_two_crashes(stage: Stage) -> None:
    options = replace(stage.fast, throttle=_THROTTLE)
    first = stage.begin(options)
    stage.until(stage.in_flight)
    first.kill()
    sent = stage.journal().effects
    second = stage.begin_when_free(options, "resume")
    stage.until(lambda: stage.journal().effects >= sent + 4)
    second.kill()
    stage.finish("resume", options=options)
    stage.assert_as_planned()
