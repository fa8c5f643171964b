"""What is read, pinned once: the topic's id, the offsets of every partition, and how they are cut into blocks.

All readers and later runs use the same manifest, so that they agree on each sample. A block is a range of offsets of
one partition that is fetched as a whole. In a *dense* partition every offset holds a record, and three numbers define
its blocks. If offsets are missing (compaction, transactions), the records were counted, and every block is listed with
its number of records.

Many small partitions are cut as if they were one, a *group*, and a block has ranges of several. Cut one by one, 2,000
partitions of 50 records were 48,000 blocks, and took thirty times as long as with librdkafka.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple

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
_SMALL_BLOCK_BYTES: Final = 2**20
"""A block of any size takes about a millisecond: the time of this many bytes. Partitions that would be cut into smaller
ones may share blocks."""
_MOST_SMALL: Final = 32
"""So many small partitions are cut one by one: their blocks take less than a second, and each is of one broker."""
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
    """What is read of a partition: offsets ``begin`` to ``end - 1``."""

    partition: int
    begin: int
    end: int
    size_bytes: int
    blocks: int
    """Number of blocks of nearly equal counts that this partition and those after it with none are cut into."""
    counted: tuple[CountedBlock, ...] | None = None
    """The blocks, or the parts of blocks in this partition, if offsets are missing."""

    @property
    def samples(self) -> int:
        """Number of records."""
        return self.end - self.begin if self.counted is None else sum(block.samples for block in self.counted)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BlockRanges:
    """Columns of the ranges of offsets that blocks consist of, in the order of blocks."""

    partition: I32
    begin: I64
    end: I64
    samples: I64
    """Number of records."""
    size_bytes: I64
    """Uncompressed; an estimate if the partition is dense."""

    def __len__(self) -> int:
        return len(self.begin)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Blocks:
    """Columns of all blocks, by group and place."""

    group: I32
    """The partition that it was cut from, or the first of several."""
    samples: I64
    size_bytes: I64
    ranges: BlockRanges
    """None at all if a sample is a whole file."""
    first_range: I64
    """shape (n_blocks + 1,): where the ranges of each begin."""

    def __len__(self) -> int:
        return len(self.samples)

    def ranges_of(self, block: int) -> slice:
        """The rows of the ranges of a block."""
        return slice(int(self.first_range[block]), int(self.first_range[block + 1]))


class PartitionGroup(NamedTuple):
    """Partitions that are cut into blocks as if they were one."""

    members: list[int]
    blocks: int


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
            table = np.array([[f.samples, f.size_bytes] for f in self.files], np.int64).reshape(-1, 2).T
            return Blocks(
                group=np.zeros(len(self.files), np.int32),
                samples=table[0],
                size_bytes=table[1],
                ranges=_no_ranges(),
                first_range=np.zeros(len(self.files) + 1, np.int64),
            )
        return _joined([(group[0].partition, _ranges_of(group)) for group in _groups(self.partitions)])

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


def partition_groups(records: Sequence[int], size_bytes: Sequence[int], lanes: int) -> list[PartitionGroup]:
    """Which partitions are cut into blocks together, given the records and bytes of each.

    Members of a group have records of similar sizes, as far as possible, so that its blocks have similar bytes.
    """
    small = [i for i, size in enumerate(size_bytes) if records[i] > 0 and size < lanes * _SMALL_BLOCK_BYTES]
    if len(small) <= _MOST_SMALL:
        small = []
    together = set(small)
    found = [
        PartitionGroup([i], block_count(records[i], size_bytes[i], lanes))
        for i in range(len(records))
        if i not in together
    ]
    groups: list[list[int]] = [[]]
    group_bytes = 0
    for i in sorted(small, key=lambda i: (size_bytes[i] // records[i]).bit_length()):
        if group_bytes >= lanes * _SMALL_BLOCK_BYTES:
            groups.append([])
            group_bytes = 0
        groups[-1].append(i)
        group_bytes += size_bytes[i]
    for members in filter(None, groups):
        count = sum(records[i] for i in members)
        largest_bytes = max(-(-size_bytes[i] // records[i]) for i in members)
        found.append(PartitionGroup(members, block_count(count, count * largest_bytes, lanes)))
    return found


def block_count(records: int, size_bytes: int, lanes: int) -> int:
    """The number of blocks of a partition or group.

    It is a multiple of ``lanes``, so that every lane gets the same part of each partition; a small topic gets small
    blocks, so that there is one for every lane.
    """
    return min(records, lanes * max(1, -(-size_bytes // (BLOCK_BYTES * lanes))))


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
    for group in _groups(manifest.partitions):
        yield from _faults_of_group(group)
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
    elif any(b <= a for a, b in pairwise(ends)) or ends[-1] > p.end:
        yield f"{where}: blocks out of order"
    elif any(not (0 <= b.samples <= _MOST_IN_BLOCK and b.size_bytes >= 0) for b in p.counted or ()):
        yield f"{where}: samples of a block out of range"


def _faults_of_group(group: Sequence[PartitionRange]) -> Iterator[str]:
    where, blocks = f"partition {group[0].partition}", group[0].blocks
    samples = sum(p.samples for p in group)
    most = samples if len(group) > 1 else group[0].end - group[0].begin
    if not (1 if samples else 0) <= blocks <= min(most, _MOST):
        yield f"{where}: blocks: {blocks}"
    elif samples > blocks * _MOST_IN_BLOCK:
        yield f"{where}: {counted_noun(samples, 'record')} in {counted_noun(blocks, 'block')}"


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


def _groups(partitions: Iterable[PartitionRange]) -> list[list[PartitionRange]]:
    """Partitions that are cut into blocks together; those without records are left out."""
    found: list[list[PartitionRange]] = []
    for p in partitions:
        if p.blocks or not found:
            found.append([p])
        elif p.samples:
            found[-1].append(p)
    return found


def _ranges_of(group: Sequence[PartitionRange]) -> I64:
    """int64, shape (6, n): block, partition, begin, end, samples and bytes of each range of a group."""
    if len(group) == 1 and group[0].counted is not None:
        table = _counted_ranges(group[0], group[0].counted)
        return np.concatenate((np.arange(table.shape[1])[None], table))
    cuts = block_cuts(sum(p.samples for p in group), group[0].blocks)
    columns, before = [], 0
    for p in group:
        table = _dense_ranges(p, cuts - before) if p.counted is None else _counted_ranges(p, p.counted)
        first = before + np.cumsum(table[3]) - table[3]
        columns.append(np.concatenate((np.searchsorted(cuts, first, side="right")[None] - 1, table)))
        before += p.samples
    return np.concatenate(columns, axis=1)


def _dense_ranges(p: PartitionRange, cuts: I64) -> I64:
    """int64, shape (5, n): partition, begin, end, samples and bytes of the parts between cuts."""
    count = p.end - p.begin
    inner = cuts[np.searchsorted(cuts, 0, side="right") : np.searchsorted(cuts, count)]
    edges = p.begin + np.concatenate(([0], inner, [count]))
    samples = np.diff(edges)
    each_bytes = p.size_bytes / max(count, 1)  # a float: the product of two integers may exceed 63 bits
    size = (samples * each_bytes).astype(np.int64)
    return np.stack((np.full(len(samples), p.partition), edges[:-1], edges[1:], samples, size))


def _counted_ranges(p: PartitionRange, counted: Sequence[CountedBlock]) -> I64:
    """int64, shape (5, n): partition, begin, end, samples and bytes."""
    end = np.array([block.end for block in counted], np.int64)
    begin = np.concatenate(([p.begin], end[:-1])) if len(end) else end
    samples = np.array([block.samples for block in counted], np.int64)
    size = np.array([block.size_bytes for block in counted], np.int64)
    return np.stack((np.full(len(end), p.partition), begin, end, samples, size))


def _joined(groups: Sequence[tuple[int, I64]]) -> Blocks:
    """All blocks of groups, each given by its number and its ranges."""
    table = np.concatenate([np.empty((6, 0), np.int64), *(ranges for _, ranges in groups)], axis=1)
    group = np.repeat([number for number, _ in groups], [ranges.shape[1] for _, ranges in groups])
    used = table[4] > 0
    table, group = table[:, used], group[used].astype(np.int32)
    ranges = BlockRanges(
        partition=table[1].astype(np.int32), begin=table[2], end=table[3], samples=table[4], size_bytes=table[5]
    )
    first = np.flatnonzero((np.diff(table[0], prepend=-1) != 0) | (np.diff(group, prepend=-1) != 0))
    return Blocks(
        group=group[first],
        samples=_sums(ranges.samples, first),
        size_bytes=_sums(ranges.size_bytes, first),
        ranges=ranges,
        first_range=np.append(first, len(ranges)),
    )


def _sums(values: I64, first: I64) -> I64:
    """The sums of what begins at each of these places."""
    return values if len(first) == len(values) else np.add.reduceat(values, first)


def _no_ranges() -> BlockRanges:
    none = np.empty(0, np.int64)
    return BlockRanges(partition=none.astype(np.int32), begin=none, end=none, samples=none, size_bytes=none)
