"""Caches blocks on a local disk, so that later epochs and other jobs need not fetch them from the brokers.

There is one file per block, named by topic id, partition and offsets. It is complete or absent (it is renamed into
place), and a checksum that covers its name is verified when it is read. Readers of several processes and jobs share a
folder; a lock file serialises changes of its total. The least recently used blocks are evicted. A full disk ends
caching, not reading; from a filled folder that is read-only, blocks are read.
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
from kafkabal.clusters.kafka import RecordColumns
from kafkabal.errors import BusyError, OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.block_loader import BlockLoader
from kafkabal.reader.loaded_blocks import LoadedBlock
from kafkabal.reader.manifest import Manifest

_MAGIC: Final = b"kafkabal-block-4"
_HEAD: Final = struct.Struct("<QQ")
"""Checksum of the name and everything after it, and number of records."""
_COLUMNS: Final = 9
"""Per record: partition, offset, timestamp; begin and end of its key, value and headers. Parsing them from the records
would take a third of the time of loading a block."""
_WORD_BYTES: Final = 8
_KEPT_FRACTION: Final = 0.9
"""Fraction of the limit that an eviction leaves, so that not every further block has to scan the folder."""
_SUFFIX: Final = ".block"
_LOADING_LOCKS: Final = 256
"""Lock files shared by all blocks, more than are loaded at once; two blocks with the same lock file are loaded one
after the other."""
_LOADING_WAIT_S: Final = 10.0
"""How long to wait for another loader: a block of 8 MiB takes 2 s at the 4 MB/s of a tight quota."""
_FETCHED_WHOLE_BYTES: Final = 256 * 2**10
"""Largest block that is fetched whole where only one of its records is wanted, as at the end of an epoch: that takes
little longer than a request for one record, and later epochs find it in the cache. In a topic of 1,500 records every
second epoch fetched a quarter of them again."""
_LEFTOVER_AGE_S: Final = 600.0
"""No block takes this long to write."""


class BlockCache:
    """A folder of blocks.

    Parameters
    ----------
    limit_bytes
        Limit for all blocks in the folder, of all processes.
    on_fault
        Called once with the reason when caching ends, such as a full disk, or cannot begin in a folder that has blocks.

    Raises
    ------
    OutputError
        If the folder is not writable, and has no blocks.
    """

    def __init__(self, folder: Path, limit_bytes: int, on_fault: Callable[[str], None] = lambda _: None) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self._on_fault = on_fault
        self.fault: str | None = None
        """Why caching has ended, such as a full disk; None if it has not."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._total():
                self._remove_leftovers()
        except FileExistsError as error:
            raise OutputError(f"{folder}: not usable as a cache: not a folder") from error
        except OSError as error:
            self._only_read(OutputError(f"{folder}: not usable as a cache: {error.strerror or error}"))
        except OutputError as error:
            self._only_read(error)

    def get(self, name: str) -> LoadedBlock | None:
        """A block; None if it is absent, or damaged, in which case its file is removed.

        The file is memory-mapped: its bytes are copied only once, when a record is yielded. It stays readable even if
        another process removes it.
        """
        path = self._path(name)
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                mapped = memoryview(mmap.mmap(file.fileno(), size, prot=mmap.PROT_READ)) if size else memoryview(b"")
            block = _unpack(mapped, name)
        except OSError:
            return None
        with suppress(OSError):  # read-only, or written by another user
            os.utime(path)  # marks it as recently used
        if block is None:
            self._remove(path, size)
        return block

    @contextmanager
    def loading_lock(self, name: str) -> Iterator[None]:
        """Make other loaders of a block, in any process, wait, so that one of them fetches it and the others find it
        here.

        One reader may be in the next epoch while another still loads the last blocks of this one: without this, a fifth
        of the blocks was fetched twice in two epochs of four readers.
        """
        with ExitStack() as held:
            if self.fault is None:
                lock = self.folder / "loading" / str(crc32(name.encode()) % _LOADING_LOCKS)
                try:
                    held.enter_context(
                        acquire_file_lock(lock, lambda: BusyError(f"{name}: is being loaded"), _LOADING_WAIT_S)
                    )
                except BusyError:
                    pass  # its loader was stopped, or waits for a broker: it may take just as long again
                except OutputError as error:
                    self._stop_caching(error.message)
            yield

    def put(self, name: str, block: LoadedBlock) -> None:
        """Add a block; does nothing if it does not fit, is damaged or already there, or the disk is full."""
        path = self._path(name)
        if self.fault is not None or block.faults or path.exists():
            return
        packed = _pack(block, name)
        if len(packed) > self._limit_bytes:
            return
        try:
            self._write(path, packed)
        except OSError as error:
            self._stop_caching(f"{self.folder}: {error.strerror}")
        except OutputError as error:
            self._stop_caching(error.message)

    def _only_read(self, error: OutputError) -> None:
        """Use the blocks that are there, and add none; raises the error if there are none."""
        if next(self.folder.glob(f"*/*/*{_SUFFIX}"), None) is None:
            raise error
        self._stop_caching(error.message)

    def _stop_caching(self, fault: str) -> None:
        self.fault = fault
        self._on_fault(fault)

    def _remove_leftovers(self) -> None:
        """Remove files that a killed process had not finished."""
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
                    total.value = self._evict_oldest(path)
        finally:
            temporary.unlink(missing_ok=True)

    def _evict_oldest(self, newest: Path) -> int:
        """Evict the least recently used blocks; returns the bytes that remain."""
        found = self._files()
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found, key=lambda each: (each[2] == newest, each[0])):
            if total <= self._limit_bytes * _KEPT_FRACTION:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

    def _files(self) -> list[tuple[int, int, Path]]:
        """For each block: when it was last used, its bytes, and its file."""
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
        """Bytes of all blocks; no other process can change them inside this block."""
        path = self.folder / "total"
        # written in place: a replaced file would be a different lock
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
    """Loads blocks from a cache, or else from another loader, and then adds them to the cache.

    Parameters
    ----------
    joins
        As in :class:`~kafkabal.reader.block_loader.BrokerBlocks`.
    """

    def __init__(self, manifest: Manifest, cache: BlockCache, loader: BlockLoader, *, joins: bool = True) -> None:
        self._manifest = manifest
        self._cache = cache
        self._loader = loader
        self._joins = joins

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockLoader.load`."""
        name = self._name(block)
        found = self._cached(name, block)
        if found is None and only is not None and self._manifest.blocks.size_bytes[block] > _FETCHED_WHOLE_BYTES:
            return self._loader.load(block, only)
        if found is None:
            found = self._load_whole(name, block)
        if only is not None:
            found.size_bytes //= len(found.records)
            found.records = found.records.only(only)
        return found

    def _load_whole(self, name: str, block: int) -> LoadedBlock:
        with self._cache.loading_lock(name):
            found = self._cached(name, block)
            if found is None:
                found = self._loader.load(block)
                self._cache.put(name, found)
            return found

    def _cached(self, name: str, block: int) -> LoadedBlock | None:
        cached = self._cache.get(name)
        # if a topic was compacted and pinned again, the same offsets hold other records
        if cached is None or len(cached.records) != self._manifest.blocks.samples[block]:
            return None
        if self._joins and self._manifest.files is None:
            cached.whole_files_of = self._manifest.topic  # a reader of pieces may have cached it
        return cached

    def close(self) -> None:
        """Drop all connections."""
        self._loader.close()

    def _name(self, block: int) -> str:
        if self._manifest.files is not None:
            return f"{self._manifest.topic_id}/files-{self._manifest.identity}/{block}"
        blocks = self._manifest.blocks
        return f"{self._manifest.topic_id}/{blocks.partition[block]}/{blocks.begin[block]}-{blocks.end[block]}"


def _pack(block: LoadedBlock, name: str) -> bytes:
    records = block.records
    spans = np.concatenate((records.key, records.value, records.headers))
    begin = np.where(spans[::2] < 0, records.headers[0], spans[::2]).min(axis=0)
    rows = np.flatnonzero(np.diff(records.piece, prepend=-1))  # the first of each buffer
    begins, ends = np.minimum.reduceat(begin, rows), np.maximum.reduceat(records.headers[1], rows)
    shift = np.cumsum(ends - begins) - ends  # from the position in its buffer to that in the file
    spans = np.where(spans < 0, -1, spans + shift[records.piece])
    table = np.concatenate(([records.partition, records.offset, records.timestamp], spans)).astype("<i8")
    parts = [packed[b:e] for packed, b, e in zip(records.packed, begins.tolist(), ends.tolist(), strict=True)]
    padding = bytes(-sum(map(len, parts)) % _WORD_BYTES)
    body = b"".join((table.tobytes(), *parts, padding))
    return b"".join((_MAGIC, _HEAD.pack(_checksum(body, name), len(records)), body))


def _checksum(body: bytes | memoryview, name: str) -> int:
    """Sum of its 8-byte words: detects any single damaged word, ten times as fast as CRC-32.

    The name is included: a file copied over another would repeat some samples and omit others.
    """
    return int(np.frombuffer(body, np.uint64).sum(dtype=np.uint64)) ^ len(body) ^ crc32(name.encode())


def _unpack(packed: memoryview, name: str) -> LoadedBlock | None:
    start = len(_MAGIC) + _HEAD.size
    if len(packed) < start or len(packed) % _WORD_BYTES or bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return None
    checksum, count = _HEAD.unpack_from(packed, len(_MAGIC))
    data_at = start + _WORD_BYTES * _COLUMNS * count
    if _checksum(packed[start:], name) != checksum or not start < data_at <= len(packed):
        return None
    table = np.frombuffer(packed[start:data_at], "<i8").reshape(_COLUMNS, count)
    records = RecordColumns(
        partition=table[0],
        offset=table[1],
        timestamp=table[2],
        key=table[3:5],
        value=table[5:7],
        headers=table[7:9],
        packed=[packed[data_at:]],
        piece=np.zeros(count, np.int64),
    )
    return LoadedBlock(records, len(packed), is_cached=True)
