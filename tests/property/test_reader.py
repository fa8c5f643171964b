"""Properties of the order of samples, for any topic and number of readers."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kafkabal.reader.epoch_order import epoch_order
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.manifest import (
    BLOCK_BYTES,
    CountedBlock,
    Manifest,
    PartitionRange,
    block_count,
    partition_groups,
)
from kafkabal.reader.reader_shard import ReaderShard, Tail

LANES = 12


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Topics of uneven partitions, some of them with gaps."""
    records = draw(st.lists(st.integers(0, 900), min_size=1, max_size=6))
    sizes = [n * draw(st.sampled_from([1, 100, 30_000])) for n in records]
    blocks = [block_count(n, s, LANES) for n, s in zip(records, sizes, strict=True)]
    ranges = []
    for number, (n, size, cuts) in enumerate(zip(records, sizes, blocks, strict=True)):
        begin = draw(st.integers(0, 50))
        counted = None
        if draw(st.booleans()):
            held = draw(st.lists(st.integers(0, 9), max_size=30))
            ends = np.cumsum([10] * len(held)) + begin
            counted = tuple(CountedBlock(int(e), s, s * 10) for e, s in zip(ends, held, strict=True))
            n = 10 * len(held)
        ranges.append(
            PartitionRange(partition=number, begin=begin, end=begin + n, size_bytes=size, blocks=cuts, counted=counted)
        )
    if draw(st.booleans()):  # cut as if they were one
        together = min(sum(each.samples for each in ranges), LANES * draw(st.integers(1, 4)))
        ranges = [replace(each, blocks=0 if i else together) for i, each in enumerate(ranges)]
    return Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=tuple(ranges))


@given(manifests())
def test_every_record_is_in_one_block(manifest: Manifest) -> None:
    """The ranges of the blocks are all records of each partition, ascending, and blocks have those of their ranges."""
    blocks = manifest.blocks
    ranges = blocks.ranges
    rows = [blocks.ranges_of(block) for block in range(len(blocks))]
    assert [row for part in rows for row in range(part.start, part.stop)] == list(range(len(ranges)))
    assert [int(ranges.samples[part].sum()) for part in rows] == blocks.samples.tolist()
    for p in manifest.partitions:
        own = ranges.partition == p.partition
        assert int(ranges.samples[own].sum()) == p.samples
        edges = [p.begin, *np.stack((ranges.begin[own], ranges.end[own]), axis=1).ravel().tolist(), p.end]
        assert edges == sorted(edges)
        if p.counted is None:
            assert (ranges.samples[own] == ranges.end[own] - ranges.begin[own]).all()
            assert p.begin == p.end or edges[0] == edges[1]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 40_000)), min_size=33, max_size=80))
def test_blocks_of_many_small_partitions_are_small_and_equal(partitions: list[tuple[int, int]]) -> None:
    """Each partition is in one group; a group has a block for each lane, and a block at most as many bytes as it
    may have, where no record has more."""
    records = [n for n, _ in partitions]
    sizes = [n * each for n, each in partitions]
    groups = partition_groups(records, sizes, LANES)
    assert sorted(i for group in groups for i in group.members) == list(range(len(partitions)))
    for members, blocks in groups:
        total = sum(records[i] for i in members)
        assert blocks == min(total, blocks // LANES * LANES) or blocks == total
        largest = max((sizes[i] // records[i] for i in members if records[i]), default=0)
        assert blocks == total or total // blocks * largest <= BLOCK_BYTES


SEEDS = st.one_of(st.none(), st.integers(0, 2**63))


@given(manifests(), SEEDS, st.integers(0, 3))
def test_every_sample_has_one_position(manifest: Manifest, seed: int | None, epoch: int) -> None:
    """Each record of each block is at exactly one position of the epoch."""
    blocks = manifest.blocks
    order = epoch_order(blocks, LANES, seed, epoch)
    block, number = order.locate(np.arange(order.samples))
    assert order.samples == manifest.samples
    assert sorted(zip(block.tolist(), number.tolist(), strict=True)) == [
        (b, j) for b, n in enumerate(blocks.samples.tolist()) for j in range(n)
    ]
    for b, n in enumerate(blocks.samples.tolist()):
        assert sorted(order.within(b, n).tolist()) == list(range(n))


RUNS = st.lists(st.tuples(st.integers(1, 7), st.lists(st.integers(0, 40), min_size=7, max_size=7)), max_size=5)


@given(st.integers(0, 400), RUNS)
def test_each_sample_once_whatever_the_readers(samples: int, runs: list[tuple[int, list[int]]]) -> None:
    """Runs of 1 to 7 readers, each stopped at a different moment and resumed from JSON, get each sample once."""
    progress, seen = EpochProgress(), []
    for readers, stops in [*runs, (3, [samples] * 7)]:
        taken = []
        for reader in range(readers):
            pieces = list(ReaderShard(reader, readers, Tail.KEEP).positions(progress, samples))
            mine = np.concatenate([*pieces, np.empty(0, np.int64)])[: stops[reader]]
            seen += mine.tolist()
            taken.append(len(mine))
        progress = EpochProgress.from_dict(json.loads(json.dumps(progress.after(taken).as_dict())))
    assert sorted(seen) == list(range(samples))
    assert progress.left(samples) == 0


@given(st.integers(1, 300), st.lists(st.tuples(st.integers(1, 6), st.integers(0, 9)), max_size=4), st.integers(1, 6))
def test_the_order_is_the_same_for_any_number_of_readers(samples: int, steps: list[tuple[int, int]], last: int) -> None:
    """Readers in step give the sequence of a single reader, also if their number changes."""
    progress, seen = EpochProgress(), []
    for readers, count in [*steps, (last, samples)]:
        count = min(count, progress.left(samples) // readers)
        shares = [ReaderShard(r, readers) for r in range(readers)]
        taken = [np.concatenate([*s.positions(progress, samples), np.empty(0, np.int64)])[:count] for s in shares]
        seen += np.stack(taken, axis=1).ravel().tolist()
        progress = progress.after([count] * readers)
        assert len(json.dumps(progress.as_dict())) < 100
    assert seen == list(range(len(seen)))
    assert samples - len(seen) < last or not last


@given(st.integers(0, 60), st.integers(1, 8), st.sampled_from([Tail.DROP, Tail.REPEAT]))
def test_all_readers_get_equally_many(samples: int, readers: int, tail: Tail) -> None:
    """With drop no sample is read twice, with repeat none is missed, and all readers get equally many."""
    got = [
        [p for piece in ReaderShard(r, readers, tail).positions(EpochProgress(), samples) for p in piece]
        for r in range(readers)
    ]
    assert len({len(each) for each in got}) == 1
    seen = [p for each in got for p in each]
    if tail is Tail.DROP:
        assert len(seen) == len(set(seen)) > samples - readers
    else:
        assert set(seen) == set(range(samples))


@given(st.integers(20, 60), st.lists(st.integers(1, 10), min_size=2, max_size=8), st.sampled_from([1, 2, 3, 4, 6, 12]))
def test_bytes_are_even_however_uneven_the_partitions(unit: int, weights: list[int], readers: int) -> None:
    """With partitions and records 10 : 1 apart, readers get equal bytes within 1%, and equal counts."""
    records = [w * unit * LANES for w in weights]
    record_bytes = [1000 * (1 + 9 * (i % 2)) for i in range(len(records))]
    sizes = [n * b for n, b in zip(records, record_bytes, strict=True)]
    ranges = [
        PartitionRange(partition=i, begin=0, end=n, size_bytes=s, blocks=block_count(n, s, LANES))
        for i, (n, s) in enumerate(zip(records, sizes, strict=True))
    ]
    manifest = Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=tuple(ranges))
    order = epoch_order(manifest.blocks, LANES, 7, 0)
    got = []
    for reader in range(readers):
        pieces = list(ReaderShard(reader, readers).positions(EpochProgress(), order.samples))
        block, _ = order.locate(np.concatenate(pieces))
        got.append(np.take(record_bytes, manifest.blocks.ranges.partition[block]).sum())
    # besides 1%, a record of the largest kind per partition, which no cut can avoid
    assert max(got) - min(got) <= 0.01 * np.mean(got) + 10_000 * len(records)
