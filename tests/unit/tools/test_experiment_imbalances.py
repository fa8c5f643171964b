"""The imbalances of experiment 3, and the producer that writes during a move, without brokers."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any, cast

import numpy as np
import pytest

from experiments.experiment_sandbox import ExperimentSandbox, Sent, send_to
from experiments.imbalances import IMBALANCES, held_bytes, imbalance
from kafkabal.model import I64


class CountedTopics:
    """Stands for a sandbox: counts the bytes that are sent to chosen partitions."""

    brokers = (1, 2, 3, 4)

    def __init__(self) -> None:
        self.leaders: dict[str, list[int]] = {}
        self.held: dict[str, I64] = {}

    def create(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Create a topic with one replica per partition."""
        self.leaders[topic] = [leader for (leader,) in assignment]
        self.held[topic] = np.zeros(len(self.brokers), np.int64)

    def add_partitions(self, topic: str, assignment: Sequence[Sequence[int]]) -> None:
        """Add partitions."""
        self.leaders[topic] += [leader for (leader,) in assignment]

    def send_by_hand(self, topic: str, counts: Sequence[int], record_bytes: int) -> None:
        """Send this many bytes to each partition."""
        for leader, count in zip(self.leaders[topic], counts, strict=True):
            self.held[topic][leader - 1] += count * record_bytes

    def bytes_by_broker(self, topic: str) -> I64:
        """Bytes of one topic by broker."""
        return self.held[topic]


class AcknowledgingProducer:
    """Acknowledges each record at once, and requests the end after some of them."""

    def __init__(self, stop: Event, last: int) -> None:
        self._stop = stop
        self._left = last

    def produce(self, value: bytes, on_delivery: Any) -> None:
        """Acknowledge the record."""
        assert value
        on_delivery(None, self)
        self._left -= 1
        if not self._left:
            self._stop.set()

    def partition(self) -> int:
        """The partition of a delivered message."""
        return 0

    def flush(self) -> None:
        """Nothing is in flight."""


@pytest.mark.parametrize("name", IMBALANCES)
def test_imbalances_are_as_large(name: str) -> None:
    """Each imbalance has its largest broker a third above the mean, and partitions to write to on every broker."""
    bench = CountedTopics()
    topics = IMBALANCES[name](cast("ExperimentSandbox", bench), "t", 100, 20)
    held = held_bytes(cast("ExperimentSandbox", bench), topics)
    assert imbalance(held) == pytest.approx(4 / 3)
    assert sum(held) == 48 * 100 * 20
    assert set(bench.leaders["t"]) == set(bench.brokers)


def test_sending_ends_when_it_is_asked_to() -> None:
    """Records sent before the stop are measured, and none counts as lost."""
    stop = Event()
    sent = send_to(AcknowledgingProducer(stop, 3), np.full(10, 5, np.int64), None, stop)
    assert len(sent.latency_s) == len(sent.at_s) == len(sent.partition) == 3
    assert np.isfinite(sent.latency_s).all()


def test_percentiles_of_a_part_of_the_time() -> None:
    """Only records sent between both times count."""
    at_s = np.arange(10.0)
    sent = Sent(10.0, at_s * 2, np.zeros(10, np.int32), at_s)
    assert sent.p50_and_p99_s(from_s=3, until_s=6)[0] == 8
    assert sent.p50_and_p99_s()[0] == 9
