"""The block cache: blocks are complete or absent, checked, bounded, shared."""

from __future__ import annotations

import errno
import multiprocessing as mp
import os
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any

import pytest

from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.errors import OutputError, UnreachableError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.block_cache import BlockCache
from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.cached_blocks import CachedBlocks
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.reader.manifest import CountedBlock, Manifest, PartitionRange
from kafkabal.reader.reader_shard import ReaderShard
from tests.unit.reader.conftest import LANES, MemoryTopic, places

RECORDS: list[RawRecord] = [(7, 1000, b"k", b"value", b"\0"), (9, 1001, None, None, b"\0"), (10, 1002, b"", b"", b"\0")]

BLOCK = LoadedBlock(LazyRecords.of(zip((4, 4, 5), RECORDS, strict=True)).columns(), 100)


def _content(block: LoadedBlock | None) -> list[tuple[int, RawRecord]]:
    assert block is not None
    return list(zip(block.records.partition.tolist(), block.records, strict=True))


def test_blocks_come_back_as_they_were(tmp_path: Path) -> None:
    """Absent keys and values stay distinct from empty ones."""
    cache = BlockCache(tmp_path, 10_000)
    cache.put("t/0/7-11", BLOCK)
    assert _content(cache.get("t/0/7-11")) == list(zip((4, 4, 5), RECORDS, strict=True))
    assert cache.get("t/0/11-12") is None


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_damaged_file_is_not_used(tmp_path: Path, damage: str) -> None:
    """Truncated, with a flipped bit, or empty: it is removed, and fetched again."""
    cache = BlockCache(tmp_path, 10_000)
    cache.put("b", BLOCK)
    path = tmp_path / "b.block"
    packed = bytearray(path.read_bytes())
    packed[60] ^= 1
    path.write_bytes({"cut": packed[:-4], "flip": packed, "empty": b""}[damage])
    assert cache.get("b") is None
    assert not path.exists()


def test_the_file_of_another_block_is_not_used(tmp_path: Path) -> None:
    """Whole and undamaged, but copied over another one, as restoring a backup may do: it is removed."""
    cache = BlockCache(tmp_path, 10_000)
    cache.put("a", BLOCK)
    cache.put("b", BLOCK)
    (tmp_path / "a.block").replace(tmp_path / "b.block")
    assert cache.get("b") is None
    assert not (tmp_path / "b.block").exists()


@pytest.mark.parametrize("text", [None, "garbage\n"])
def test_a_total_that_is_lost_is_counted_again(tmp_path: Path, text: str | None) -> None:
    """Without the total, or with garbage in its file, the folder stays within its limit."""
    block = LoadedBlock(LazyRecords.of([(0, (0, 0, None, bytes(1000), b"\0"))]).columns(), 1000)
    for number in range(3):
        BlockCache(tmp_path, 4 * 1150).put(f"b{number}", block)
    (tmp_path / "total").unlink()
    if text is not None:
        (tmp_path / "total").write_text(text)
    cache = BlockCache(tmp_path, 4 * 1150)
    cache.put("b3", block)
    cache.put("b4", block)
    sizes = [path.stat().st_size for path in tmp_path.glob("*.block")]
    assert sum(sizes) <= 4 * 1150
    assert int((tmp_path / "total").read_text()) == sum(sizes)


def test_the_least_recently_used_make_room(tmp_path: Path) -> None:
    """Above the limit the oldest are removed, recently read ones stay."""
    block = LoadedBlock(LazyRecords.of([(0, (0, 0, None, bytes(1000), b"\0"))]).columns(), 1000)
    cache = BlockCache(tmp_path, 4 * 1150)
    for number in range(4):
        cache.put(f"b{number}", block)
        os.utime(tmp_path / f"b{number}.block", (number, number))
    cache.get("b0")
    cache.put("b4", block)
    kept = sorted(path.name for path in tmp_path.glob("*.block"))
    assert "b0.block" in kept
    assert "b4.block" in kept
    assert "b1.block" not in kept
    assert sum(path.stat().st_size for path in tmp_path.glob("*.block")) <= 4 * 1150


def test_a_smaller_limit_counts_at_once(tmp_path: Path) -> None:
    """A job with a smaller limit than the one before removes blocks, even if it adds none."""
    larger = BlockCache(tmp_path, 10**9)
    for number in range(20):
        larger.put(f"b{number}", BLOCK)
    each = sum(path.stat().st_size for path in tmp_path.rglob("*.block")) // 20
    BlockCache(tmp_path, 10 * each)
    assert len([*tmp_path.rglob("*.block")]) == 9


def test_the_total_is_right_after_many_writers(tmp_path: Path) -> None:
    """Eight caches that write the same and other blocks at once agree on what the folder holds."""

    def write(number: int) -> None:
        cache = BlockCache(tmp_path, 10**9)
        for block in range(20):
            cache.put(f"{(number + block) % 24}", BLOCK)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sizes = [path.stat().st_size for path in tmp_path.glob("*.block")]
    assert int((tmp_path / "total").read_text()) == sum(sizes)


def _use(folder: Path, number: int) -> None:
    cache, randomness = BlockCache(folder, 8 * 1150), random.Random(number)
    block = LoadedBlock(LazyRecords.of([(0, (0, 0, None, bytes(1000), b"\0"))]).columns(), 1000)
    for _ in range(60):
        name = f"b{randomness.randrange(20)}"
        if cache.get(name) is None:
            cache.put(name, block)
    assert cache.fault is None


def test_five_processes_share_a_folder(tmp_path: Path) -> None:
    """Each adds, reads and makes room; the folder stays within its limit, intact, and its total is right."""
    processes = [mp.get_context("fork").Process(target=_use, args=(tmp_path, number)) for number in range(5)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 5
    sizes = [path.stat().st_size for path in tmp_path.glob("*.block")]
    assert 0 < sum(sizes) <= 8 * 1150
    assert int((tmp_path / "total").read_text()) == sum(sizes)
    assert {path.suffix for path in tmp_path.iterdir()} == {".block", ""}


def test_a_full_disk_ends_caching_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first failing write is reported once, no partial file is left, and blocks can still be read."""
    faults: list[str] = []
    cache = BlockCache(tmp_path, 10_000, faults.append)
    cache.put("a", BLOCK)

    create = Path.open

    def full(path: Path, mode: str = "r", **options: Any) -> IO[Any]:
        if mode == "wb":
            create(path, mode).close()
            raise OSError(28, "No space left on device")
        return create(path, mode, **options)

    monkeypatch.setattr(Path, "open", full)
    cache.put("b", BLOCK)
    cache.put("c", BLOCK)
    assert faults == [f"{tmp_path}: No space left on device"]
    assert _content(cache.get("a")) == _content(BLOCK)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.block", "total"]


def _make_read_only(monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """Refuse whatever a read-only folder refuses, also to root."""

    def refuse_lock(path: Path, *_: object) -> None:
        raise OutputError(f"{path}: cannot write the lock file: {reason}")

    def refuse(*_: object) -> None:
        raise OSError(errno.EROFS, reason)

    monkeypatch.setattr("kafkabal.reader.block_cache.acquire_file_lock", refuse_lock)
    monkeypatch.setattr(os, "utime", refuse)
    for name in ("unlink", "rename"):
        monkeypatch.setattr(Path, name, refuse)


def test_a_filled_folder_that_is_read_only_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its blocks are used, damaged and missing ones come from the brokers, and one line says that none is added."""
    topic, faults = MemoryTopic([96]), list[str]()
    manifest = topic.manifest()
    filling = CachedBlocks(manifest, BlockCache(tmp_path, 10**6), BrokerBlocks(manifest, topic))
    whole = [_content(filling.load(block)) for block in range(len(manifest.blocks))]
    missing, damaged, *_ = tmp_path.rglob("*.block")
    missing.unlink()
    damaged.write_bytes(b"damaged")
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    _make_read_only(monkeypatch, "Read-only file system")
    topic.fetched_records = 0

    blocks = CachedBlocks(manifest, BlockCache(tmp_path, 10**6, faults.append), BrokerBlocks(manifest, topic))

    assert [_content(blocks.load(block)) for block in range(len(manifest.blocks))] == whole
    assert topic.fetched_records == 2 * 16
    assert faults == [f"{tmp_path / 'total'}: cannot write the lock file: Read-only file system"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_an_empty_folder_that_is_read_only_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of no use, and probably not the one that was meant."""
    _make_read_only(monkeypatch, "Permission denied")
    with pytest.raises(OutputError, match="Permission denied"):
        BlockCache(tmp_path, 100)


def test_a_block_of_another_user_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its owner may change its time, without which it is read all the same."""
    cache = BlockCache(tmp_path, 10_000)
    cache.put("b", BLOCK)

    def refuse(_: Path) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "utime", refuse)
    assert _content(cache.get("b")) == _content(BLOCK)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """A file in its place gives one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="not usable as a cache"):
        BlockCache(tmp_path / "file", 100)


def test_a_block_is_fetched_by_one_of_those_that_want_it(tmp_path: Path) -> None:
    """Readers of one folder that miss the same block at once ask the broker once; one that fails gives way."""
    topic = MemoryTopic([100])
    manifest = topic.manifest()
    asked = []

    class Slow(BrokerBlocks):
        """Fails at its first request, after letting the others arrive."""

        def load(self, block: int, only: int | None = None) -> LoadedBlock:
            asked.append(block)
            time.sleep(0.1)
            if len(asked) == 1:
                raise UnreachableError("no broker")
            return super().load(block, only)

    def load(_: int) -> int:
        cache = BlockCache(tmp_path, 10**9)
        try:
            return len(CachedBlocks(manifest, cache, Slow(manifest, topic)).load(0).records)
        except UnreachableError:
            return 0

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(load, range(4)))
    assert sorted(found) == [0, *[int(manifest.blocks.samples[0])] * 3]
    assert asked == [0, 0]


def test_a_stopped_process_blocks_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that stalls in its turn is waited for briefly; then others fetch the block too."""
    monkeypatch.setattr("kafkabal.reader.block_cache._LOADING_WAIT_S", 0.1)
    topic = MemoryTopic([100])
    manifest, cache = topic.manifest(), BlockCache(tmp_path, 10**9)
    blocks = CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic))
    with ExitStack() as stopped:
        for number in range(256):
            stopped.enter_context(acquire_file_lock(tmp_path / "loading" / str(number)))
        assert len(blocks.load(0).records) == manifest.blocks.samples[0]


@pytest.mark.parametrize("records", [[300, 40], [1000, 3]])
def test_a_second_epoch_asks_no_broker(records: list[int], tmp_path: Path) -> None:
    """With all blocks in the cache nothing is fetched, and the samples are the same; nor if blocks have few records,
    of which many are wanted one by one."""
    topic = MemoryTopic(records)
    manifest, cache = topic.manifest(), BlockCache(tmp_path, 10**6)

    def open_loader() -> BrokerBlocks:
        return CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic))  # type: ignore[return-value]

    first = list(places(topic.sequence(ReaderShard(), open_loader=open_loader, manifest=manifest)))
    fetched = topic.fetched_records
    again = list(places(topic.sequence(ReaderShard(), open_loader=open_loader, manifest=manifest, until_epoch=4)))
    assert again[: len(first)] == first
    assert topic.fetched_records == fetched


def test_a_compacted_topic_that_is_pinned_again_is_cached_again(tmp_path: Path) -> None:
    """Blocks of the same offsets hold fewer records by then; those of before neither are used nor are in the way."""
    cache = BlockCache(tmp_path, 10**6)
    for missing in (frozenset({(0, 3)}), frozenset({(0, 3), (0, 4)})):
        topic = MemoryTopic([8], missing=missing)
        counted = PartitionRange(
            partition=0, begin=0, end=8, size_bytes=80, blocks=1, counted=(CountedBlock(8, 8 - len(missing), 80),)
        )
        manifest = Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=(counted,))
        for _ in range(2):
            records = CachedBlocks(manifest, cache, BrokerBlocks(manifest, topic)).load(0).records
            assert len(records) == topic.fetched_records == 8 - len(missing)
