"""Runs over a growing file that are killed, interrupted and failed at random, with a sender that is simulated."""

from __future__ import annotations

import os
import random
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError

from kafkabal.errors import InputFileError, OperationError
from kafkabal.producer.record_names import RECORD_HEADER, found_records
from kafkabal.producer.record_sender import Deliveries
from kafkabal.producer.records_in_flight import Acknowledged
from kafkabal.producer.send_manifest import ManifestHeader, SendManifest
from kafkabal.producer.send_source import SendRun
from kafkabal.sources import Headers, RowSource, text_rows

ROWS = [b'{"v":"%03d"}' % row for row in range(100)]


class KilledError(BaseException):
    """The process is gone: nothing more reaches its manifest."""


@dataclass
class Flight:
    """Records that were handed over together."""

    on_acknowledged: Callable[[Acknowledged], None]
    on_failed: Callable[[Any], None]
    records: int = 0
    left: int = 0
    is_complete: bool = False
    offsets: dict[int, int] = field(default_factory=dict)

    def finish(self) -> None:
        """Report it once all of its records are acknowledged."""
        if self.is_complete and self.records and not self.left:
            self.is_complete = False
            self.on_acknowledged(Acknowledged(self.records, dict(self.offsets), {}))


@dataclass(frozen=True)
class Sent:
    """A record of the topic."""

    content: bytes
    names: Headers

    def key(self) -> None:
        """It has none."""

    def value(self) -> bytes:
        """What was sent."""
        return self.content

    def headers(self) -> Headers:
        """Its name."""
        return self.names


class Sender:
    """Acknowledges records of several partitions in any order, and fails after some steps in the given way."""

    topic = "t"

    def __init__(self, chance: random.Random, topic: list[list[Sent]], end: type[BaseException] | None) -> None:
        self._chance, self._log, self._end = chance, topic, end
        self._steps = chance.randint(0, 60)
        self._queued: list[deque[tuple[Sent, Flight]]] = [deque() for _ in topic]
        self.is_dead = False
        self.deliveries = Deliveries(0, 0, {})

    def produce_many(
        self,
        values: Sequence[bytes],
        _sizes: Any,
        *,
        headers: Sequence[Headers],
        on_acknowledged: Callable[[Acknowledged], None],
        on_failed: Callable[[Any], None],
        **_: Any,
    ) -> None:
        """See :meth:`RecordSender.produce_many`."""
        flight = Flight(on_acknowledged, on_failed)
        try:
            for value, names in zip(values, headers, strict=True):
                self._chance.choice(self._queued).append((Sent(value, names), flight))
                flight.records, flight.left = flight.records + 1, flight.left + 1
                self._count(handed_over=1)
                self._step()
        finally:
            flight.is_complete = True
            flight.finish()

    def poll(self, _timeout_s: float = 0.0) -> None:
        """Acknowledge some of what is queued."""
        for partition, queue in enumerate(self._queued):
            for _ in range(0 if self.is_dead else self._chance.randint(0, len(queue))):
                sent, flight = queue.popleft()
                self._log[partition].append(sent)
                flight.offsets[partition], flight.left = len(self._log[partition]), flight.left - 1
                self._count(acknowledged=1)
                flight.finish()

    def drop_queued(self) -> None:
        """Give up some of what is queued."""
        for queue in self._queued:
            for _ in range(self._chance.randint(0, len(queue))):
                _, flight = queue.pop()
                self._count(failed=1)
                flight.on_failed(KafkaError(KafkaError._PURGE_QUEUE))

    def _step(self) -> None:
        self._steps -= 1
        if not self._steps % 7:
            self.poll()
        if not self._steps and self._end is not None:
            self.is_dead = self._end is KilledError
            raise self._end("the end")

    def _count(self, *, handed_over: int = 0, acknowledged: int = 0, failed: int = 0) -> None:
        now = self.deliveries
        given_up = sum(now.failed.values()) + failed
        self.deliveries = Deliveries(
            now.handed_over + handed_over, now.acknowledged + acknowledged, {"dropped": given_up} if given_up else {}
        )


def later(topic: list[list[Sent]], offsets: Mapping[int, int]) -> Iterator[Sent]:
    """What a run reads back."""
    for partition, log in enumerate(topic):
        yield from log[offsets.get(partition, 0) :]


def run(path: Path, chance: random.Random, topic: list[list[Sent]], end: type[BaseException] | None) -> None:
    """Run once over the file, and check that the manifest has the checksum of all rows up to the stop."""
    source = RowSource(path)
    header = ManifestHeader(id="cafe", cluster_id="c", topic="t", topic_id="T", source=source.name, offsets={})
    with SendManifest.open(path.with_suffix(".manifest"), header) as manifest:
        found = {} if manifest.is_clean else found_records(manifest, later(topic, manifest.offsets))  # type: ignore[arg-type]
        sender = Sender(chance, topic, end)
        append = manifest._append

        def append_if_alive(*lines: Any) -> None:
            if sender.is_dead:
                raise KilledError
            append(*lines)

        manifest._append = append_if_alive  # type: ignore[method-assign]
        seconds = iter(range(10**9))
        try:
            sending = SendRun(sender, source, manifest, found=found, clock=lambda: next(seconds) / 3)  # type: ignore[arg-type]
            sending.send(source.listing())
        finally:
            assert manifest.rows is None or manifest.rows.rows == manifest.through
            assert manifest.rows is not None or not manifest.through


@pytest.mark.parametrize("seed", range(40))
def test_rows_are_sent_once_and_compared_however_runs_end(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that meets a changed row of those in the topic refuses it; the others continue, and lose or repeat none."""
    chance = random.Random(seed)
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setattr(text_rows, "_READ_BYTES", chance.choice([7, 100, 1000]))
    path, count = tmp_path / "a.jsonl", 0
    topic: list[list[Sent]] = [[] for _ in range(chance.randint(1, 4))]
    for _ in range(10):
        count = chance.randint(max(count, 1), len(ROWS) - 1)
        rows = ROWS[:count]
        sent = sorted({ROWS.index(record.content) for log in topic for record in log})
        changed = chance.choice(sent) if sent and chance.random() < 0.3 else None
        if changed is not None:
            rows[changed] = b'{"v":"new"}'
        half = ROWS[count][: chance.randint(0, 9)]
        path.write_bytes(b"\n".join(rows) + b"\n" + half)
        end = None if changed is not None else chance.choice([None, KilledError, KeyboardInterrupt, OperationError])
        if changed is not None:
            with pytest.raises(InputFileError, match=r"differs from|is not the row|are not the rows"):
                run(path, chance, topic, end)
            continue
        try:
            run(path, chance, topic, end)
        except (KilledError, KeyboardInterrupt, OperationError):
            continue
    path.write_bytes(b"\n".join(ROWS))
    run(path, chance, topic, None)
    names = Counter(dict(record.names)[RECORD_HEADER] for log in topic for record in log)
    assert (len(names), set(names.values())) == (len(ROWS), {1})
