"""Files that were split: one sample each, whole and checked, whatever partitions their pieces are in."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import OperationError, UsageError
from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.block_loader_factory import BlockLoaderFactory
from kafkabal.reader.cached_blocks import CachedBlocks
from kafkabal.reader.dataset import TopicReader
from kafkabal.reader.manifest import Manifest
from kafkabal.reader.pin_offsets import pin_topic
from kafkabal.reader.reader_shard import ReaderShard, Tail
from tests.unit.reader.conftest import MemoryTopic, packed_headers
from tests.unit.reader.test_dataset import CONNECTION
from tests.unit.reader.test_pin_offsets import MemoryBrokers

PIECE = 50


class SplitTopic(MemoryTopic):
    """Sixty files of up to five pieces, distributed over three partitions in sending order."""

    def __init__(self, times: int = 1) -> None:
        super().__init__([0, 0, 0])
        randomness = random.Random(4)
        self.files = [randomness.randbytes(randomness.randrange(1, 5 * PIECE)) for _ in range(60)]
        sent = 0
        for number, value in [*enumerate(self.files)] * times:
            pieces = [value[at : at + PIECE] for at in range(0, len(value), PIECE)]
            for n, piece in enumerate(pieces, 1):
                partition = randomness.randrange(3)
                headers: list[tuple[str, bytes | None]] = [
                    ("path", b"%d.bin" % number),
                    ("sha256", sha256(value).hexdigest().encode()),
                ]
                if len(pieces) > 1:
                    headers.append(("chunk", b"%d/%d" % (n, len(pieces))))
                records = self.records[partition]
                records.append((len(records), sent, None, piece, packed_headers(headers)))
                sent += 1
        self.counts = [len(records) for records in self.records.values()]

    def pinned(self, **options: Any) -> Manifest:
        """Pin it."""
        return pin_topic(MemoryBrokers(self), lambda _: self, "t", lanes=6, **options)


@pytest.mark.parametrize("readers", [1, 2, 4])
def test_each_file_is_one_sample(readers: int) -> None:
    """Joined bit for bit, once per epoch, whatever the number of readers."""
    topic = SplitTopic()
    manifest = topic.pinned(count=True)
    assert manifest.samples == 60
    shares = [ReaderShard(reader, readers, Tail.KEEP) for reader in range(readers)]
    got = [s.value for share in shares for s in topic.sequence(share, manifest=manifest)]
    assert Counter(got) == Counter(topic.files)


def test_a_file_may_take_more_memory_than_its_blocks_do_at_once() -> None:
    """As hundreds of MB in batches of zeros: pieces that come early are joined with the others, damaged ones too."""
    topic = SplitTopic()
    manifest = topic.pinned(count=True)
    topic.passed_on = 2
    assert manifest.files is not None
    got = [s.value for s in topic.sequence(ReaderShard(), manifest=manifest)]
    assert Counter(got) == Counter(topic.files)
    block = manifest.files[0]
    (partition, begin, _), *_ = block.ranges
    topic.damaged = {(partition, begin)}
    assert BrokerBlocks(manifest, topic).load(0).faults


def test_a_file_sent_again_in_larger_chunks_is_two_samples() -> None:
    """Like a whole file that was sent twice: pieces of one size are not joined with those of the other."""
    topic, value = MemoryTopic([0, 0]), bytes(range(120))
    name: list[tuple[str, bytes | None]] = [("path", b"a"), ("sha256", sha256(value).hexdigest().encode())]
    for sent, (size, partition) in enumerate([(40, 0), (60, 0), (40, 1)]):
        records, of = topic.records[partition], len(value) // size
        for n in range(of) if size == 60 else (range(1) if partition == 0 else range(1, of)):
            headers = packed_headers([*name, ("chunk", b"%d/%d" % (n + 1, of))])
            records.append((len(records), 10 * sent + n, None, value[n * size : (n + 1) * size], headers))
    topic.counts = [len(records) for records in topic.records.values()]
    manifest = pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=6)
    assert [s.value for s in topic.sequence(ReaderShard(), manifest=manifest)] == [value, value]


@pytest.mark.parametrize("readers", [1, 2])
def test_a_folder_that_was_sent_twice_can_be_read(readers: int) -> None:
    """A copy of a split file in the offsets of other files is not another sample; nor is any lost, and blocks stay
    narrow."""
    topic = SplitTopic(times=2)
    manifest = topic.pinned(count=True)
    pinning = topic.fetched_records
    shares = [ReaderShard(reader, readers, Tail.KEEP) for reader in range(readers)]
    got = Counter(s.value for share in shares for s in topic.sequence(share, manifest=manifest))
    assert got == Counter({value: 1 if len(value) > PIECE else 2 for value in topic.files})
    assert topic.fetched_records - pinning <= sum(topic.counts)


@pytest.mark.parametrize("count", [None, True])
def test_a_file_whose_first_piece_was_deleted_is_left_out(count: bool | None) -> None:
    """As by retention, even if it is the only split file: the others are read."""
    topic, name = MemoryTopic([30]), packed_headers([("path", b"a"), ("sha256", b"0" * 64), ("chunk", b"2/2")])
    topic.records[0][0] = (*topic.records[0][0][:4], name)
    with pytest.warns(UserWarning, match=r"1 file left out, since pieces are missing: a \(1 of 2 pieces\)"):
        manifest = pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=6, count=count)
    assert sorted(s.offset for s in topic.sequence(ReaderShard(), manifest=manifest)) == list(range(1, 30))


def test_cached_files_are_the_same(tmp_path: Path) -> None:
    """Blocks of whole files come back from the cache with partition, offset and headers."""
    topic = SplitTopic()
    manifest, cache = topic.pinned(count=True), BlockCache(tmp_path, 10**6)

    def open_loader() -> Any:
        return CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic))

    first, second = (
        [
            (s.partition, s.offset, s.path, s.value)
            for s in topic.sequence(ReaderShard(), manifest=manifest, open_loader=open_loader)
        ]
        for _ in range(2)
    )
    assert first == second
    assert len(list(tmp_path.rglob("*.block"))) == len(manifest.blocks)


def test_a_damaged_file_is_raised_skipped_or_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the SHA-256 is not that of the file, topic, place and path are named, and all other files can be read; the
    block is not cached, since its fault would be unknown then."""
    topic = SplitTopic()
    manifest, cache = topic.pinned(count=True), BlockCache(tmp_path, 10**6)
    partition, record = next(
        (p, r) for p, records in topic.records.items() for r in records if b"chunk" in r[4] and r[0] > 3
    )
    topic.records[partition][record[0]] = (*record[:3], b"x" * PIECE, record[4])
    loader = CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic))
    monkeypatch.setattr(BlockLoaderFactory, "loaders", lambda _: lambda: loader)

    def reader(on_error: str, decode: Any = None) -> TopicReader:
        return TopicReader(
            "t", connection=CONNECTION, manifest=manifest, shuffle_seed=1, on_error=on_error, decode=decode
        )

    message = r"^t-\d: offset \d+ cannot be decoded: the pieces of \d+\.bin are not the file that was sent"
    with pytest.raises(OperationError, match=message):
        list(reader("raise"))
    for _ in range(2):
        skipping, counting = reader("skip"), reader("count", decode=lambda sample: len(sample.value))
        assert len(list(skipping)) == 59
        samples = list(counting)
        assert len(samples) == 60
        assert sum(sample.decoded is None for sample in samples) == 1
        assert (skipping.metrics.corrupt, counting.metrics.corrupt) == (1, 1)


def test_pieces_are_not_taken_for_samples() -> None:
    """A topic pinned as records is refused when a piece is met, unless pieces were asked for."""
    topic = SplitTopic()
    manifest = topic.pinned(count=False)
    with pytest.raises(UsageError, match="is a piece of a file that was split"):
        list(topic.sequence(ReaderShard(), manifest=manifest))
    pieces = topic.sequence(
        ReaderShard(), manifest=manifest, open_loader=lambda: BrokerBlocks(manifest, topic, joins=False)
    )
    assert len(list(pieces)) == sum(topic.counts)
    assert topic.pinned(count=True, join=False).files is None


def test_an_incomplete_file_is_skipped_with_a_warning() -> None:
    """A file that is incomplete when the topic is pinned, as while it is being sent, is no sample, and is named."""
    topic = SplitTopic()
    partition, record = next(
        (p, r) for p, records in reversed(topic.records.items()) for r in reversed(records) if b"chunk" in r[4]
    )
    del topic.records[partition][record[0]]
    with pytest.warns(UserWarning, match=r"^topic t: 1 file left out, since pieces are missing: \d+\.bin \(\d of \d"):
        assert topic.pinned(count=True).samples == 59


def test_a_topic_of_incomplete_files_is_not_called_empty() -> None:
    """The message says what is there; an older version of a file, of which a newer one is whole, is not named."""
    topic = MemoryTopic([0])

    def send(value: bytes, *numbers: int) -> None:
        name: list[tuple[str, bytes | None]] = [("path", b"a"), ("sha256", sha256(value).hexdigest().encode())]
        for n in numbers:
            headers = packed_headers([*name, ("chunk", b"%d/2" % n)])
            topic.records[0].append((len(topic.records[0]), 0, None, value[n - 1 : n], headers))
        topic.counts = [len(topic.records[0])]

    send(b"xx", 1)
    with pytest.raises(UsageError, match=r"^topic t: no file is whole: a \(1 of 2 pieces\)"):
        pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=6)
    send(b"yz", 1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pin_topic(MemoryBrokers(topic), lambda _: topic, "t", lanes=6).samples == 1


def test_a_header_of_another_program_is_named_with_its_topic() -> None:
    """Only one that kafkabal writes can be joined; the hint says how the topic is read nevertheless."""
    topic = SplitTopic()
    topic.records[0][0] = (*topic.records[0][0][:4], packed_headers([("chunk", b"one")]))
    with pytest.raises(OperationError, match=r"^topic t, partition 0, offset 0: malformed header chunk") as caught:
        topic.pinned(count=True)
    assert caught.value.hint is not None
    assert topic.pinned(join=False).samples == sum(topic.counts)
