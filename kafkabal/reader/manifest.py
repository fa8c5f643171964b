"""What is read, pinned once: the topic's id, the offsets of every partition, and how they are cut into blocks.

All readers and later runs use the same manifest, so that they agree on each sample. A block is a range of offsets of
one partition that is fetched as a whole. In a *dense* partition every offset holds a record, and three numbers define
its blocks. If offsets are missing (compaction, transactions), the records were counted, and every block is listed with
its number of records.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final

import msgspec
import numpy as np

from kafkabal.atomic_files import write_new
from kafkabal.errors import InputFileError
from kafkabal.input_files import decode_json, read_bytes
from kafkabal.json_decoders import json_decoder
from kafkabal.model import I32, I64
from kafkabal.reader.epoch_progress import MOST_READERS
from kafkabal.wording import counted_noun

FORMAT: Final = 1
LANES: Final = 24
"""Fewest blocks open at any moment, over all readers: 24 of 8 MiB fit into the default prefetch of 256 MiB, and 24 is
divisible by 1, 2, 3, 4, 6, 8 and 12 readers."""
BLOCK_BYTES: Final = 8 * 2**20
"""Largest block. Brokers send whole batches of up to 1 MB: at either end of a block, half of one is wasted on
average."""
_IDENTITY_DIGITS: Final = 16
"""64 bits: enough to distinguish the versions of one topic."""
_MOST: Final = 10_000_000
"""Limit of blocks per partition: 80 TB in one partition."""
_MOST_IN_ALL: Final = 4 * _MOST
"""Limit of blocks of a topic: 320 TB, of which a reader needs 4 GB of memory for the places of its blocks."""
_MOST_IN_BLOCK: Final = 2**24
"""Limit of records in a block: half a byte each."""


class CountedBlock(msgspec.Struct, frozen=True, array_like=True):
    """A block whose records were counted."""

    end: int
    """First offset after it; it begins where the previous one ends."""
    samples: int
    size_bytes: int


class FileBlock(msgspec.Struct, frozen=True, array_like=True):
    """A block of whole files, if files were split: their pieces may be in any partition."""

    first: tuple[int, int, int]
    """Timestamp, partition and offset of the first piece of its first file; later blocks have later files."""
    samples: int
    size_bytes: int
    ranges: tuple[tuple[int, int, int], ...]
    """Partition, first offset and end of ranges that hold all pieces of its files, and perhaps pieces of others, but
    no other copy of a first piece."""


class PartitionRange(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is read of a partition: offsets ``begin`` to ``end - 1``, in ``blocks`` blocks of nearly equal counts."""

    partition: int
    begin: int
    end: int
    size_bytes: int
    blocks: int
    counted: tuple[CountedBlock, ...] | None = None
    """The blocks, if offsets are missing."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Columns of all blocks, by partition and offset."""

    partition: I32
    begin: I64
    end: I64
    samples: I64
    """Number of records."""
    size_bytes: I64
    """Uncompressed; an estimate if the partition is dense."""

    def __len__(self) -> int:
        return len(self.begin)


class Manifest(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """A data set: the records of a topic between two sets of offsets."""

    kafkabal_manifest: int = FORMAT
    cluster_id: str
    topic: str
    topic_id: str
    lanes: int = LANES
    partitions: tuple[PartitionRange, ...]
    files: tuple[FileBlock, ...] | None = None
    """The blocks, if a sample is a file that was split (``produce --chunk``)."""

    @cached_property
    def identity(self) -> str:
        """16 hex digits; manifests with the same identity give the same samples in the same order."""
        return sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:_IDENTITY_DIGITS]

    @cached_property
    def blocks(self) -> Blocks:
        """All blocks that hold at least one record."""
        if self.files is not None:
            table = np.array([[i, i + 1, f.samples, f.size_bytes] for i, f in enumerate(self.files)], np.int64)
            return _columns(table.reshape(-1, 4).T, np.zeros(len(self.files), np.int32))
        columns = [_blocks_of(p) for p in self.partitions]
        if not columns:
            return _columns(np.empty((4, 0), np.int64), np.empty(0, np.int32))
        table = np.concatenate(columns, axis=1)
        number = np.repeat([p.partition for p in self.partitions], [c.shape[1] for c in columns])
        used = table[2] > 0
        return _columns(table[:, used], number[used].astype(np.int32))

    @property
    def samples(self) -> int:
        """Records of all partitions."""
        return int(self.blocks.samples.sum())

    @property
    def size_bytes(self) -> int:
        """Bytes of all partitions, of compressed ones uncompressed."""
        return sum(p.size_bytes for p in self.partitions)

    @property
    def is_dense(self) -> bool:
        """Whether every offset is assumed to hold a record; fetching verifies that."""
        return self.files is None and all(p.counted is None for p in self.partitions)


def block_counts(records: list[int], size_bytes: list[int], lanes: int) -> list[int]:
    """The number of blocks of each partition, given its records and bytes.

    It is a multiple of ``lanes``, so that every lane gets the same part of each partition; a small topic gets small
    blocks, so that there is one for every lane.
    """
    return [
        min(n, lanes * max(1, -(-size // (BLOCK_BYTES * lanes)))) for n, size in zip(records, size_bytes, strict=True)
    ]


def block_cuts(records: int, blocks: int) -> I64:
    """int64, shape (blocks + 1,): where blocks of equally many records begin and end; one more in the first ones, so
    that sorting by number of records keeps their order."""
    each, longer = divmod(records, max(blocks, 1))
    number = np.arange(blocks + 1, dtype=np.int64)
    return number * each + np.minimum(number, longer)


def lanes_for(readers: int) -> int:
    """The smallest number of lanes with which this many readers fetch no block twice."""
    return readers * -(-LANES // readers)


def load_manifest(path: Path) -> Manifest:
    """Read a manifest.

    Raises
    ------
    InputFileError
        If the file cannot be read, or is not a manifest.
    """
    manifest = decode_json(json_decoder(Manifest), read_bytes(path), path, "not a manifest of a reader")
    if manifest.kafkabal_manifest != FORMAT:
        raise InputFileError(
            path, f"unknown manifest format: {manifest.kafkabal_manifest} (this version reads {FORMAT})"
        )
    fault = next(_faults(manifest), None)
    if fault is not None:
        raise InputFileError(path, f"not a manifest of a reader: {fault}")
    return manifest


def _faults(manifest: Manifest) -> Iterator[str]:
    """Yield everything that no reader writes and that would fill memory, read other records or take minutes."""
    if not 1 <= manifest.lanes <= MOST_READERS:
        yield f"lanes: {manifest.lanes}"
    if len({p.partition for p in manifest.partitions}) != len(manifest.partitions):
        yield "a partition is listed twice"
    for p in manifest.partitions:
        yield from _faults_of(p)
    if (blocks := sum(p.blocks for p in manifest.partitions)) > _MOST_IN_ALL:
        yield f"{counted_noun(blocks, 'block')} in all"
    for block in manifest.files or ():
        if not (0 <= block.samples <= _MOST_IN_BLOCK and block.size_bytes >= 0):
            yield "files: samples of a block out of range"
        if not block.ranges or any(not (0 <= p < 2**31 and 0 <= a < b) for p, a, b in block.ranges):
            yield "files: offsets of a block out of range"


def _faults_of(p: PartitionRange) -> Iterator[str]:
    where, ends = f"partition {p.partition}", [p.begin, *(block.end for block in p.counted or ())]
    if not (0 <= p.partition < 2**31 and 0 <= p.begin <= p.end and p.size_bytes >= 0):
        yield f"{where}: numbers out of range"
    elif not (1 if p.begin < p.end and p.counted is None else 0) <= p.blocks <= min(p.end - p.begin, _MOST):
        yield f"{where}: blocks: {p.blocks}"
    elif p.counted is None and p.end - p.begin > p.blocks * _MOST_IN_BLOCK:
        yield f"{where}: {counted_noun(p.end - p.begin, 'record')} in {counted_noun(p.blocks, 'block')}"
    elif any(b <= a for a, b in pairwise(ends)) or ends[-1] > p.end:
        yield f"{where}: blocks out of order"
    elif any(not (0 <= b.samples <= _MOST_IN_BLOCK and b.size_bytes >= 0) for b in p.counted or ()):
        yield f"{where}: samples of a block out of range"


def publish_manifest(manifest: Manifest, path: Path) -> Manifest:
    """Write a manifest unless one exists, and return the existing one: the first of several writers wins.

    Raises
    ------
    OutputError
        If it cannot be written.
    InputFileError
        If the existing one cannot be read.
    """
    try:
        write_new(path, msgspec.json.encode(manifest) + b"\n")
    except FileExistsError:
        return load_manifest(path)
    return manifest


def _blocks_of(p: PartitionRange) -> I64:
    """int64, shape (4, n): begin, end, samples and bytes of each block."""
    if p.counted is not None:
        end = np.array([block.end for block in p.counted], np.int64)
        begin = np.concatenate(([p.begin], end[:-1])) if len(end) else end
        samples = np.array([block.samples for block in p.counted], np.int64)
        size = np.array([block.size_bytes for block in p.counted], np.int64)
        return np.stack((begin, end, samples, size))
    count = p.end - p.begin
    cuts = p.begin + block_cuts(count, p.blocks)
    samples = np.diff(cuts)
    each_bytes = p.size_bytes / max(count, 1)  # a float: the product of two integers may exceed 63 bits
    return np.stack((cuts[:-1], cuts[1:], samples, (samples * each_bytes).astype(np.int64)))


def _columns(table: I64, partition: I32) -> Blocks:
    return Blocks(partition=partition, begin=table[0], end=table[1], samples=table[2], size_bytes=table[3])
