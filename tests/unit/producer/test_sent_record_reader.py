"""Records that are read back from a topic."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from kafkabal.clusters.simulated.fake_clock import FakeClock
from kafkabal.errors import KafkabalError
from kafkabal.producer.sent_record_reader import SentRecordReader


class Consumer:
    """Knows the offsets of two partitions once the dead leader has a successor."""

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
    ("code", "message"),
    [
        (KafkaError._DESTROY_BROKER, "topic images: "),
        (KafkaError._TRANSPORT, "no response"),
        (KafkaError.NOT_LEADER_FOR_PARTITION, "topic images: "),
        (KafkaError._UNKNOWN_PARTITION, "a partition of topic images has no leader"),
    ],
)
def test_a_leader_that_died_is_waited_for(code: int, message: str) -> None:
    """Offsets are requested again until another broker leads, but not forever."""
    clock = FakeClock()
    reader = SentRecordReader({}, "images", clock)
    assert reader._watermarks(Consumer(clock, code, clock.monotonic() + 9)) == {0: (3, 7), 1: (3, 7)}  # type: ignore[arg-type]
    started_s = clock.monotonic()
    with pytest.raises(KafkabalError, match=message):
        reader._watermarks(Consumer(clock, code, started_s + 99))  # type: ignore[arg-type]
    assert clock.monotonic() - started_s < 16
