"""Records that are read back from a topic."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, KafkaError, KafkaException, TopicPartition

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import KafkabalError
from kafkabal.producer.sent_record_reader import SentRecordReader


class Consumer:
    """Knows the offsets of two partitions once the dead leader has a successor."""

    def __init__(self, clock: FakeClock, until_s: float, *, code: int | None = None, raises: bool = False) -> None:
        self._clock, self._until_s, self._code, self._raises = clock, until_s, code, raises
        self.requests = 0

    def list_topics(self, topic: str, timeout: float) -> Any:
        """Two partitions; without a code, the second one has no leader."""
        leader = -1 if self._code is None and self._is_early() else 2
        partitions = {0: SimpleNamespace(leader=1), 1: SimpleNamespace(leader=leader)}
        return SimpleNamespace(topics={topic: SimpleNamespace(partitions=partitions, error=None)})

    def offsets_for_times(self, asked: list[TopicPartition], timeout: float) -> list[Any]:
        """First or end offset."""
        self.requests += 1
        fault = KafkaError(self._code) if self._code is not None and self._is_early() else None
        if fault is not None and self._raises:
            raise KafkaException(fault)
        edges = {OFFSET_BEGINNING: 3, OFFSET_END: 7}
        return [
            SimpleNamespace(partition=p.partition, offset=edges[p.offset], error=fault if p.partition == 1 else None)
            for p in asked
        ]

    def _is_early(self) -> bool:
        return self._clock.monotonic() < self._until_s


@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize(
    ("code", "message", "longest_s"),
    [
        (KafkaError._DESTROY_BROKER, "topic images: ", 16.0),
        (KafkaError._TRANSPORT, "no response", 16.0),
        (KafkaError.NOT_LEADER_FOR_PARTITION, "topic images: ", 61.0),
        (None, "no leader: partition images-1", 16.0),
    ],
)
def test_a_leader_that_died_is_waited_for(code: int | None, message: str, longest_s: float, *, raises: bool) -> None:
    """Offsets are requested again until another broker leads, but not forever."""
    clock = FakeClock()
    reader = SentRecordReader({}, "images", clock)
    assert reader._watermarks(Consumer(clock, clock.monotonic() + 9, code=code, raises=raises)) == {
        0: (3, 7),
        1: (3, 7),
    }  # type: ignore[arg-type]
    started_s = clock.monotonic()
    with pytest.raises(KafkabalError, match=message):
        reader._watermarks(Consumer(clock, started_s + 99, code=code, raises=raises))  # type: ignore[arg-type]
    assert longest_s - 2 < clock.monotonic() - started_s < longest_s


def test_offsets_are_requested_for_all_partitions_at_once() -> None:
    """Two requests, one for each end, however many partitions a topic has."""
    consumer = Consumer(FakeClock(), 0.0)
    assert SentRecordReader({}, "images", FakeClock())._watermarks(consumer) == {0: (3, 7), 1: (3, 7)}  # type: ignore[arg-type]
    assert consumer.requests == 2
