"""Progress as the offsets of a group, and the handling of failed commits."""

from __future__ import annotations

import threading
import warnings
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from kafkabal.config.connection_settings import ConnectionSettings
from kafkabal.reader import group_progress
from kafkabal.reader.group_progress import GroupProgress
from tests.unit.reader.conftest import MemoryTopic


class Consumer:
    """Refuses or accepts every commit, when it is polled as librdkafka does, or at once."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.on_commit = settings["on_commit"]
        self.committed: list[list[TopicPartition]] = []
        self.waiting = 0
        self.refusal: KafkaError | None = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
        self.refuses_at_once = False
        self.fault: KafkaError | None = None
        """Of finding the coordinator; then commits get no result."""
        self.end = threading.Event()
        """Closing waits for it."""
        self.end.set()

    def commit(self, offsets: list[TopicPartition], asynchronous: bool) -> None:
        """Take one."""
        assert asynchronous
        if self.refuses_at_once:
            raise KafkaException(self.refusal)
        self.committed.append(offsets)
        self.waiting += 1

    def poll(self, _: float) -> Any:
        """Report those that are waiting."""
        if self.fault is not None:
            return SimpleNamespace(error=lambda: self.fault)
        for _number in range(self.waiting):
            self.waiting -= 1
            self.on_commit(self.refusal, self.committed[-1])
        return None

    def close(self) -> None:
        """Nothing may be waiting by now, if there is a coordinator."""
        assert not self.waiting or self.fault is not None
        self.end.wait()


@pytest.fixture
def progress(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Of a group on two partitions."""
    monkeypatch.setattr(group_progress, "Consumer", Consumer)
    return GroupProgress(ConnectionSettings(bootstrap_servers=("h:1",)), "training", MemoryTopic([10, 4]).manifest())


@pytest.mark.parametrize("at_once", [False, True])
def test_a_group_without_permission_is_warned_of_once(progress: Any, at_once: bool) -> None:
    """One line with the name of the group and the reason, however many commits fail; reading goes on."""
    progress._consumer.refuses_at_once = at_once
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for fraction in (0.1, 0.2, 0.3):
            progress.commit(fraction)
        progress.close()
    (warning,) = caught
    assert str(warning.message).startswith("group training: progress is not committed: Broker: Group authorization")


def test_a_group_that_must_not_be_described_is_warned_of(progress: Any) -> None:
    """librdkafka finds no coordinator, and waits for one long after the epoch has ended; the reader does not."""
    consumer = progress._consumer
    consumer.end.clear()
    progress.commit(0.5)
    consumer.fault = KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)
    with pytest.warns(UserWarning, match="group training: progress is not committed: Broker: Group authorization"):
        progress.commit(1.0)
    assert len(consumer.committed) == 1
    progress.close()
    consumer.end.set()


def test_a_commit_that_fails_for_a_while_is_sent_again(progress: Any) -> None:
    """As while the coordinator moves: nothing is reported, and the last offsets arrive before the consumer leaves."""
    consumer = progress._consumer
    consumer.refusal = KafkaError(KafkaError.NOT_COORDINATOR)
    progress.commit(1.0)
    consumer.poll(0)
    consumer.refusal = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        progress.close()
    assert [[(p.partition, p.offset) for p in offsets] for offsets in consumer.committed] == [[(0, 10), (1, 4)]] * 2


def test_the_same_part_of_each_partition_is_committed(progress: Any) -> None:
    """Rounded to whole records; commits in flight are waited for at the end, silently."""
    progress._consumer.refusal = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        progress.commit(0.5)
        progress.close()
    assert [(p.partition, p.offset) for p in progress._consumer.committed[0]] == [(0, 5), (1, 2)]
