"""Telemetry from a topic: what is reported if it cannot be read."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError

from kafkabal.errors import KafkabalError, NotAuthorizedError, UsageError
from kafkabal.telemetry import intake_from_topic
from kafkabal.telemetry.intake_from_topic import TopicIntake
from kafkabal.telemetry.latency_store import LatencyTable


@pytest.mark.parametrize(
    ("code", "expected", "message"),
    [
        (KafkaError.TOPIC_AUTHORIZATION_FAILED, NotAuthorizedError, "cannot read topic t: "),
        (KafkaError.UNKNOWN_TOPIC_OR_PART, UsageError, "unknown topic: 't'"),
    ],
)
def test_a_topic_that_may_not_be_described_is_not_called_unknown(
    monkeypatch: pytest.MonkeyPatch, code: int, expected: type[KafkabalError], message: str
) -> None:
    """A missing permission is named instead of a hint to create the topic; the consumer is closed either way."""
    closed = []

    class Consumer:
        def __init__(self, config: Any) -> None:
            pass

        def list_topics(self, topic: str, timeout: float) -> Any:
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions={}, error=KafkaError(code))})

        def assign(self, positions: Any) -> None:
            raise AssertionError("there is nothing to read")

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(intake_from_topic, "Consumer", Consumer)
    with pytest.raises(expected, match=message):
        TopicIntake({}, "t", LatencyTable(max_age_s=60, clock=lambda: 0.0), since_ms=0)
    assert closed == [True]


def message(partition: int, error: KafkaError | None = None) -> Any:
    """A message of librdkafka: an empty payload, or an error."""
    return SimpleNamespace(error=lambda: error, partition=lambda: partition, key=lambda: b"c", value=lambda: b"")


def test_a_problem_is_reported_once_until_its_partition_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error lasts until its own partition is read, whatever other partitions give; the next is reported again."""
    denied = KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED)
    polls = [[message(0, denied), message(1)], [message(0, denied)], [message(0)], [message(0, denied)]]
    reported_at_poll: list[int] = []
    done = Event()

    class Consumer:
        def __init__(self, config: Any) -> None:
            pass

        def list_topics(self, topic: str, timeout: float) -> Any:
            return SimpleNamespace(topics={topic: SimpleNamespace(partitions={0: None, 1: None}, error=None)})

        def offsets_for_times(self, times: Any, timeout: float) -> Any:
            return times

        def assign(self, positions: Any) -> None:
            pass

        def consume(self, messages: int, timeout_s: float) -> list[Any]:
            if not polls:
                done.set()
                return []
            return polls.pop(0)

        def close(self) -> None:
            pass

    monkeypatch.setattr(intake_from_topic, "Consumer", Consumer)
    table = LatencyTable(max_age_s=60, clock=lambda: 0.0)
    with TopicIntake({}, "t", table, since_ms=0, on_problem=lambda _: reported_at_poll.append(4 - len(polls))):
        assert done.wait(10)
    assert reported_at_poll == [1, 4]
