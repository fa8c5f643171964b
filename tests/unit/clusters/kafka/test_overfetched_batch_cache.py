"""Ranges that cut through batches: exact, and with enough room no batch is fetched twice."""

from __future__ import annotations

import random
from typing import Any
from uuid import UUID

import pytest

from kafkabal.clusters.kafka import fetch_sizes, range_fetcher, topic_replicas
from kafkabal.clusters.kafka.buffer_pool import BufferPool
from kafkabal.clusters.kafka.fetch_response import PartitionResponse
from kafkabal.clusters.kafka.overfetched_batch_cache import BatchSpan, OverfetchedBatches
from kafkabal.clusters.kafka.range_fetcher import RangeFetcher
from kafkabal.config import ConnectionSettings
from tests.unit.clusters.kafka.pack_batch import pack_batch


class Log:
    """A partition with batches of random sizes, which responds to fetches like a broker: whole batches only."""

    def __init__(self, records: int, largest: int) -> None:
        randomness = random.Random(7)
        self.batches: list[tuple[int, int, bytes]] = []
        self.served = 0
        at = 0
        while at < records:
            count = min(records - at, randomness.randrange(1, largest))
            self.batches.append(
                (at, at + count - 1, pack_batch(at, [(1000, None, b"%d" % o * 20, ()) for o in range(at, at + count)]))
            )
            at += count

    def call_broker(self, _: int, request: Any, in_place: Any = None) -> PartitionResponse:
        """Return as many batches as fit, but at least the first, and a part of the next."""
        asked = request.topics[0].partitions[0]
        packed = b"".join(p for _, last, p in self.batches if last >= asked.fetch_offset)
        first = next(len(p) for _, last, p in self.batches if last >= asked.fetch_offset)
        packed = packed[: max(first, asked.partition_max_bytes)]
        self.served += len(packed)
        return PartitionResponse(0, memoryview(packed))


def _fetcher(log: Log, monkeypatch: pytest.MonkeyPatch, kept: OverfetchedBatches | None) -> RangeFetcher:
    monkeypatch.setattr(range_fetcher, "KafkaClient", lambda *_: log)
    monkeypatch.setattr(fetch_sizes, "_LEAST_BYTES", 1)
    found = RangeFetcher(ConnectionSettings(bootstrap_servers=("h:1",)), "t", "id", kept=kept)
    found._replicas._located.replicas = {0: topic_replicas.Replica(1, 1)}
    found._uuid = UUID(int=1)
    return found


@pytest.mark.parametrize("limit_bytes", [0, 2000, 10**6])
def test_ranges_are_exact(monkeypatch: pytest.MonkeyPatch, limit_bytes: int) -> None:
    """Whatever is cached of earlier ranges, and however little fits, a range returns exactly its records."""
    log = Log(500, 40)
    reader = _fetcher(log, monkeypatch, OverfetchedBatches(limit_bytes))
    randomness = random.Random(3)
    for _ in range(200):
        begin = randomness.randrange(500)
        end = min(500, begin + randomness.randrange(1, 60))
        size = (end - begin) * randomness.randrange(10, 200)
        got = reader.fetch(0, begin, end, size)
        assert [record[0] for record in got.records] == list(range(begin, end))
        assert all(record[3] == b"%d" % record[0] * 20 for record in got.records)


def test_neighbours_share_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges smaller than batches, in any order: each batch is fetched about once with room, three times without."""
    served = []
    for kept in (OverfetchedBatches(10**6), None):
        log = Log(2000, 60)
        reader = _fetcher(log, monkeypatch, kept)
        total = sum(len(packed) for *_, packed in log.batches)
        ranges = [(at, at + 16) for at in range(0, 2000, 16)]
        random.Random(1).shuffle(ranges)
        for begin, end in ranges:
            assert len(reader.fetch(0, begin, end, total * 16 // 2000).records) == end - begin
        served.append(log.served / total)
    with_room, without = served
    assert with_room < 1.6
    assert without > 3


def test_used_batches_are_dropped_and_the_oldest_is_evicted() -> None:
    """A span is dropped once all its offsets were requested, or newer spans need its place."""
    kept = OverfetchedBatches(250)
    answer = memoryview(bytes(range(200)))
    kept.put(0, BatchSpan(0, 9, 0, 100), answer, 0, 4)
    kept.put(0, BatchSpan(20, 29, 100, 200), answer, 10, 22)
    assert kept.next_after(0, 5, 25) == 20
    assert kept.next_after(0, 5, 15) == 15
    assert kept.take(0, 4, 10) == answer[:100]
    assert kept.take(0, 4, 10) is None
    assert kept.take(1, 25, 30) is None
    kept.put(1, BatchSpan(0, 9, 0, 100), answer, 0, 4)
    kept.put(2, BatchSpan(0, 9, 0, 100), answer, 0, 4)
    assert kept.take(0, 25, 30) is None
    assert kept.take(2, 5, 6) == answer[:100]
    kept.put(3, BatchSpan(0, 9, 0, 100), answer, 0, 10)
    assert kept.take(3, 5, 6) is None


def test_kept_bytes_outlive_the_response_they_came_in() -> None:
    """They are copies, large ones in pooled buffers: a response can be received over the original."""
    for size in (1000, 2**20):
        memory = BufferPool()
        kept = OverfetchedBatches(2 * size, memory)
        response = memoryview(bytearray(b"a" * size))
        kept.put(0, BatchSpan(0, 9, 0, size), response, 0, 4)
        response[:] = b"b" * size
        assert kept.take(0, 4, 5) == b"a" * size
        del kept
        assert (bytes(memory.take(size)) == b"a" * size) is (size == 2**20)


class _CountedOffset(int):
    """An offset that counts how often it is compared."""

    comparisons = 0

    def _count(self, result: bool) -> bool:
        type(self).comparisons += 1
        return result

    def __lt__(self, other: int) -> bool:
        return self._count(int(self) < other)

    def __le__(self, other: int) -> bool:
        return self._count(int(self) <= other)

    def __gt__(self, other: int) -> bool:
        return self._count(int(self) > other)

    def __ge__(self, other: int) -> bool:
        return self._count(int(self) >= other)


def test_looking_up_a_block_does_not_search_all_spans() -> None:
    """With 4096 spans of one partition, looking up an offset compares it with a dozen or two of them."""
    kept = OverfetchedBatches(2**30)
    answer = memoryview(bytes(10))
    for first in range(0, 10 * 4096, 10):
        kept.put(0, BatchSpan(first, first + 8, 0, 10), answer, 0, 0)
    offset = _CountedOffset(20_009)
    assert kept.take(0, offset, 20_012) is None
    assert kept.next_after(0, offset, 20_012) == 20_010
    assert _CountedOffset.comparisons < 40
