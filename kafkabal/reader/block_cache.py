"""Blocks kept on a local disk, so that later epochs and other jobs do not ask the brokers.

A file a block, named by topic id, partition and offsets: complete or absent (it is renamed into place), and checked
when it is read. Readers of several processes and jobs share a folder; a lock file orders what changes its total. The
least recently used blocks make room. A full disk ends caching, not reading.
"""

from __future__ import annotations

import os
import secrets
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import numpy as np

from kafkabal.clusters.kafka import RawRecord
from kafkabal.errors import OutputError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.blocks import BlockSource, LoadedBlock
from kafkabal.reader.manifest import Manifest

_MAGIC: Final = b"kafkabal-block-1"
_HEAD: Final = struct.Struct(">QQ")
"""Checksum of the rest, and the number of records."""
_COLUMNS: Final = 6
"""Partition, offset, timestamp, and the lengths of key, value and headers; a length of -1 stands for none."""
_WORD_BYTES: Final = 8
_KEPT_SHARE: Final = 0.9
"""Of the limit, once blocks had to make room: so that not every further block looks through the folder."""
_SUFFIX: Final = ".block"
_LEFTOVER_AGE_S: Final = 600.0
"""No block takes so long to write."""


class BlockCache:
    """A folder of blocks.

    Parameters
    ----------
    limit_bytes
        Of all blocks in the folder, whoever put them there.

    Raises
    ------
    OutputError
        If nothing can be written there.
    """

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder = folder
        self._limit_bytes = limit_bytes
        self.fault: str | None = None
        """Why nothing is added any more, such as a full disk."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._total():
                self._remove_leftovers()
        except OSError as error:
            raise OutputError(f"{folder}: not usable as a cache: {error.strerror or error}") from error

    def get(self, name: str, memory: bytearray) -> LoadedBlock | None:
        """A block; None where it is absent, or its file is damaged, which removes it.

        Parameters
        ----------
        memory
            To read the file into; it is made larger where that is needed. New memory for every block would take as
            long as reading it.
        """
        path = self._path(name)
        try:
            with path.open("rb", buffering=0) as file:
                size = os.fstat(file.fileno()).st_size
                memory.extend(bytes(max(0, size - len(memory))))
                with memoryview(memory) as view:
                    size = file.readinto(view[:size]) or 0
                    block = _unpacked(view[:size])
            os.utime(path)  # it was used now
        except OSError:
            return None
        if block is None:
            self._remove(path, size)
        return block

    def put(self, name: str, block: LoadedBlock) -> None:
        """Add a block; nothing happens where it does not fit, is there already, or the disk is full."""
        packed = _packed(block)
        path = self._path(name)
        if self.fault is not None or len(packed) > self._limit_bytes or path.exists():
            return
        try:
            self._write(path, packed)
        except OSError as error:
            self.fault = f"{self.folder}: {error.strerror}"
        except OutputError as error:
            self.fault = error.message

    def _remove_leftovers(self) -> None:
        """Files that a process was writing when it was killed."""
        now_s = time.time()
        for path in self.folder.rglob(f".*{_SUFFIX}.*"):
            with suppress(OSError):
                if now_s - path.stat().st_mtime > _LEFTOVER_AGE_S:
                    path.unlink()

    def _write(self, path: Path, packed: bytes) -> None:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
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
        found = []
        for path in self.folder.rglob(f"*{_SUFFIX}"):
            with suppress(OSError):
                stat = path.stat()
                found.append((path == newest, stat.st_mtime_ns, stat.st_size, path))
        total = sum(size for _, _, size, _ in found)
        for _, _, size, path in sorted(found, key=lambda each: each[:2]):
            if total <= self._limit_bytes * _KEPT_SHARE:
                break
            path.unlink(missing_ok=True)
            total -= size
        return total

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
            total = _Total(int(text) if text.isdigit() else 0)
            yield total
            file.seek(0)
            file.write(f"{max(0, total.value):<31}\n".encode())


class _Total:
    def __init__(self, value: int) -> None:
        self.value = value


class CachedBlocks:
    """Blocks from a cache, or else from another source, which fills it."""

    def __init__(self, manifest: Manifest, cache: BlockCache, source: BlockSource) -> None:
        self._manifest = manifest
        self._cache = cache
        self._source = source
        self._memory = bytearray()

    def load(self, block: int, only: int | None = None) -> LoadedBlock:
        """See :meth:`BlockSource.load`."""
        name = self._name(block)
        cached = self._cache.get(name, self._memory)
        # a topic that was compacted and pinned again has other records at the same offsets
        if cached is not None and len(cached.records) == self._manifest.blocks.samples[block]:
            return cached if only is None else LoadedBlock(cached.partitions[:1], cached.records[only : only + 1])
        loaded = self._source.load(block, only)
        if only is None:
            self._cache.put(name, loaded)
        return loaded

    def close(self) -> None:
        """Drop all connections."""
        self._source.close()

    def _name(self, block: int) -> str:
        if self._manifest.files is not None:
            return f"{self._manifest.topic_id}/files-{self._manifest.identity}/{block}"
        blocks = self._manifest.blocks
        return f"{self._manifest.topic_id}/{blocks.partition[block]}/{blocks.begin[block]}-{blocks.end[block]}"


def _packed(block: LoadedBlock) -> bytes:
    records = [record for record in block.records if record is not None]
    rows = [
        [p, r[0], r[1], _length(r[2]), _length(r[3]), len(r[4])] for p, r in zip(block.partitions, records, strict=True)
    ]
    table = np.array(rows, ">i8").reshape(-1, _COLUMNS)
    parts = [table.tobytes()]
    for _, _, key, value, headers in records:
        parts += [key or b"", value or b"", headers]
    parts.append(bytes(-sum(map(len, parts)) % _WORD_BYTES))
    body = b"".join(parts)
    return b"".join((_MAGIC, _HEAD.pack(_checksum(body), len(records)), body))


def _checksum(body: bytes | memoryview) -> int:
    """The sum of its words of 8 bytes: finds any one damaged word, at ten times the speed of CRC-32."""
    return int(np.frombuffer(body, np.uint64).sum(dtype=np.uint64)) ^ len(body)


def _length(text: bytes | None) -> int:
    return -1 if text is None else len(text)


def _unpacked(packed: memoryview) -> LoadedBlock | None:
    start = len(_MAGIC) + _HEAD.size
    if len(packed) < start or len(packed) % _WORD_BYTES or bytes(packed[: len(_MAGIC)]) != _MAGIC:
        return None
    checksum, count = _HEAD.unpack_from(packed, len(_MAGIC))
    if _checksum(packed[start:]) != checksum:
        return None
    at = start + _WORD_BYTES * _COLUMNS * count
    table = np.frombuffer(bytes(packed[start:at]), ">i8").reshape(-1, _COLUMNS)
    records: list[RawRecord | None] = []
    for _, offset, stamp, keys, values, headers in table.tolist():
        key = bytes(packed[at : at + keys]) if keys >= 0 else None
        at += max(keys, 0)
        value = bytes(packed[at : at + values]) if values >= 0 else None
        at += max(values, 0)
        records.append((offset, stamp, key, value, bytes(packed[at : at + headers])))
        at += headers
    return LoadedBlock(table[:, 0].tolist(), records)
