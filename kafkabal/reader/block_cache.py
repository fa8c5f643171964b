"""Blocks kept on a local disk, so that later epochs and other jobs do not ask the brokers.

A file a block, named by topic id, partition and offsets: complete or absent (it is renamed into place), and checked
when it is read, its name included. Readers of several processes and jobs share a folder; a lock file orders what
changes its total. The least recently used blocks make room. A full disk ends caching, not reading.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np

from kafkabal.atomic_files import temporary_name
from kafkabal.clusters.kafka import BatchHead, LazyRecords
from kafkabal.errors import BusyError, OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.block_loader import BlockLoader
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.reader.manifest import Manifest

_MAGIC: Final = b"kafkabal-block-3"
_HEAD: Final = struct.Struct(">QQQ")
"""Checksum of the name and the rest, and the numbers of batches and of records."""
_COLUMNS: Final = 5
"""Of a batch: partition, base offset, first timestamp, timestamp of all its records or -1, and how many they are."""
_WORD_BYTES: Final = 8
_KEPT_FRACTION: Final = 0.9
"""Of the limit, once blocks had to make room: so that not every further block looks through the folder."""
_SUFFIX: Final = ".block"
_TURNS: Final = 256
"""Lock files for all blocks, more than are loaded at once: blocks of one file are loaded one after the other."""
_TURN_S: Final = 10.0
"""How long others are waited for: a block of 8 MiB takes 2 s at the 4 MB/s of a tight quota."""
_LEFTOVER_AGE_S: Final = 600.0
"""No block takes so long to write."""


class BlockCache:
    """A folder of blocks.

    Parameters
    ----------
    limit_bytes
        Of all blocks in the folder, of any process.
    on_fault
        Gets the reason once, when nothing is added any more, such as a full disk.

    Raises
    ------
    OutputError
        If nothing can be written there.
    """

    def __init__(self, folder: Path, limit_bytes: int, on_fault: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._on_fault = on_fault
        self.fault: str | None = None
        """Why nothing is added any more, such as a full disk."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._total():
                self._remove_leftovers()
        except FileExistsError as error:
            raise OutputError(f"{folder}: not usable as a cache: not a folder") from error
        except OSError as error:
            raise OutputError(f"{folder}: not usable as a cache: {error.strerror or error}") from error

    def get(self, name: str) -> LoadedBlock | None:
        """A block; None where it is absent, or its file is damaged, which removes it.

        The file is mapped: its bytes are copied once, when a record is given out, and not into memory of this process
        first. It stays readable where another process removes it.
        """
        path = self._path(name)
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                mapped = memoryview(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)) if size else memoryview(b"")
            block = _unpacked(mapped, name)
            os.utime(path)  # it was used now
        except OSError:
            return None
        if block is None:
            self._remove(path, size)
        return block

    @contextmanager
    def turn(self, name: str) -> Iterator[None]:
        """Hold up others that want to fetch a block, of any process, so that one fetches it and they find it here.

        A reader that is ahead is in the next epoch while another one still loads the last blocks of this one: of two
        epochs of four readers a fifth was fetched twice.
        """
        with ExitStack() as held:
            if self.fault is None:
                lock = self.folder / "loading" / str(crc32(name.encode()) % _TURNS)
                try:
                    held.enter_context(acquire_file_lock(lock, lambda: BusyError(f"{name}: is being loaded"), _TURN_S))
                except BusyError:
                    pass  # whoever loads it was stopped, or waits for a broker: it may take another one as long
                except OutputError as error:
                    self._give_up(error.message)
            yield

    def put(self, name: str, block: LoadedBlock) -> None:
        """Add a block; nothing happens where it does not fit, is there already, or the disk is full."""
        packed = _packed(block, name)
        path = self._path(name)
        if self.fault is not None or len(packed) > self._limit_bytes or path.exists():
            return
        try:
            self._write(path, packed)
        except OSError as error:
            self._give_up(f"{self.folder}: {error.strerror}")
        except OutputError as error:
            self._give_up(error.message)

    def _give_up(self, fault: str) -> None:
        self.fault = fault
        self._on_fault(fault)

    def _remove_leftovers(self) -> None:
        """Files that a process was writing when it was killed."""
        now_s = time.time()
        for path in self.folder.rglob(f".*{_SUFFIX}.*"):
            with suppress(OSError):
                if now_s - path.stat().st_mtime > _LEFTOVER_AGE_S:
                    path.unlink()

    def _write(self, path: Path, packed: bytes) -> None:
        temporary = temporary_name(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            temporary.write_bytes(packed)
            with self._total() as total:
                if not path.exists():
                    total.value += len(packed)
                    temporary.rename(path)
                if total.value > self._limit_bytes:
                    total.value = self._made_room(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _made_room(self, newest: Path) -> int:
        """Remove the least recently used; returns the bytes that stay."""
        found = self._files()
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found, key=lambda each: (each[2] == newest, each[0])):
            if total <= self._limit_bytes * _KEPT_FRACTION:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

    def _files(self) -> list[tuple[int, int, Path]]:
        """When each block was used last, its bytes, and its file."""
        found = []
        for path in self.folder.rglob(f"*{_SUFFIX}"):
            with suppress(OSError):
                stat = path.stat()
                found.append((stat.st_mtime_ns, stat.st_size, path))
        return found

    def _remove(self, path: Path, size_bytes: int) -> None:
        with suppress(OSError, OutputError), self._total() as total:
            path.unlink()
            total.value -= size_bytes

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}{_SUFFIX}"

    @contextmanager
    def _total(self) -> Iterator[_Total]:
        """Bytes of all blocks, for as long as no other process may change them."""
        path = self.folder / "total"
        # written in place: another file of that name would be another lock
        with acquire_file_lock(path), path.open("r+b", buffering=0) as file:
            text = file.read(32).strip()
            total = _Total(int(text) if text.isdigit() else sum(size for _, size, _ in self._files()))
            yield total
            file.seek(0)
            file.write(f"{max(0, total.value):<31}\n".encode())


class _Total:
    def __init__(self, value: int) -> None:
        self.value = value


class CachedBlocks:
    """Blocks from a cache, or else from another loader, which fills it.

    Parameters
    ----------
    joins
        As for :class:`~kafkabal.reader.block_loader.BrokerBlocks`.
    """

    def __init__(self, manifest: Manifest, cache: BlockCache, loader: BlockLoader, *, joins: bool = True) -> None:
        self._manifest = manifest
        self._cache = cache
        self._loader = loader
        self._joins = joins

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockLoader.load`."""
        name = self._name(block)
        cached = self._cached(name, block)
        if cached is not None:
            if only is not None:
                cached.records = cached.records.only(only)
            return cached
        if only is not None:
            return self._loader.load(block, only)
        with self._cache.turn(name):
            cached = self._cached(name, block)
            if cached is not None:
                return cached
            loaded = self._loader.load(block, only)
            self._cache.put(name, loaded)
            return loaded

    def _cached(self, name: str, block: int) -> LoadedBlock | None:
        cached = self._cache.get(name)
        # a topic that was compacted and pinned again has other records at the same offsets
        if cached is None or len(cached.records) != self._manifest.blocks.samples[block]:
            return None
        if self._joins and self._manifest.files is None:
            cached.whole_files_of = self._manifest.topic  # it may have been put there by a reader of pieces
        return cached

    def close(self) -> None:
        """Drop all connections."""
        self._loader.close()

    def _name(self, block: int) -> str:
        if self._manifest.files is not None:
            return f"{self._manifest.topic_id}/files-{self._manifest.identity}/{block}"
        blocks = self._manifest.blocks
        return f"{self._manifest.topic_id}/{blocks.partition[block]}/{blocks.begin[block]}-{blocks.end[block]}"


def _packed(block: LoadedBlock, name: str) -> bytes:
    records = block.records
    rows, places, parts, at, first = [], [], [], 0, 0
    for head, count in zip(records.heads, records.counts, strict=True):
        last = first + count
        begin, end = records.begins[first], records.ends[last - 1]
        append_ms = -1 if head.append_ms is None else head.append_ms
        rows.append([head.partition, head.base_offset, head.first_ms, append_ms, count])
        places.append(np.array([records.begins[first:last], records.ends[first:last]], np.int64) + (at - begin))
        parts.append(head.packed[begin:end])
        at += end - begin
        first = last
    table = np.array(rows, np.int64).reshape(-1, _COLUMNS)
    place = np.concatenate(places, axis=1)
    padding = bytes(-at % _WORD_BYTES)
    body = b"".join((table.astype(">i8").tobytes(), place.astype(">i8").tobytes(), *parts, padding))
    return b"".join((_MAGIC, _HEAD.pack(_checksum(body, name), len(rows), len(records)), body))


def _checksum(body: bytes | memoryview, name: str) -> int:
    """The sum of its words of 8 bytes: finds any one damaged word, at ten times the speed of CRC-32.

    The name is part of it: a file that was copied over another would give samples twice and leave out others.
    """
    return int(np.frombuffer(body, np.uint64).sum(dtype=np.uint64)) ^ len(body) ^ crc32(name.encode())


def _unpacked(packed: memoryview, name: str) -> LoadedBlock | None:
    start = len(_MAGIC) + _HEAD.size
    if len(packed) < start or len(packed) % _WORD_BYTES or bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return None
    checksum, batches, count = _HEAD.unpack_from(packed, len(_MAGIC))
    if _checksum(packed[start:], name) != checksum:
        return None
    places_at = start + _WORD_BYTES * _COLUMNS * batches
    data_at = places_at + 2 * _WORD_BYTES * count
    if data_at > len(packed):
        return None
    table = np.frombuffer(packed[start:places_at], ">i8").reshape(-1, _COLUMNS)
    begin, end = np.frombuffer(packed[places_at:data_at], ">i8").reshape(2, -1)
    if (
        (table[:, -1] < 1).any()
        or table[:, -1].sum() != count
        or (begin < 0).any()
        or (end <= begin).any()
        or (end > len(packed) - data_at).any()
    ):
        return None
    data = packed[data_at:]
    records = LazyRecords(begins=begin.tolist(), ends=end.tolist())
    for partition, base, first_ms, append_ms, of in table.tolist():
        records.heads.append(BatchHead(partition, base, first_ms, None if append_ms < 0 else append_ms, data))
        records.counts.append(of)
    return LoadedBlock(records, len(packed), is_cached=True)
