"""Properties of the order of samples, for any topic and number of readers."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kafkabal.reader.epoch_order import epoch_order
from kafkabal.reader.epoch_progress import EpochProgress
from kafkabal.reader.manifest import CountedBlock, Manifest, PartitionRange, block_counts
from kafkabal.reader.reader_shard import ReaderShard, Tail

LANES = 12


@st.composite
def manifests(draw: st.DrawFn) -> Manifest:
    """Topics of uneven partitions, some of them with gaps."""
    records = draw(st.lists(st.integers(0, 900), min_size=1, max_size=6))
    sizes = [n * draw(st.sampled_from([1, 100, 30_000])) for n in records]
    blocks = block_counts(records, sizes, LANES)
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
    return Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=tuple(ranges))


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
    """With partitions and records 10 : 1 apart, readers get equal bytes within 1 %, and equal counts."""
    records = [w * unit * LANES for w in weights]
    record_bytes = [1000 * (1 + 9 * (i % 2)) for i in range(len(records))]
    sizes = [n * b for n, b in zip(records, record_bytes, strict=True)]
    ranges = [
        PartitionRange(partition=i, begin=0, end=n, size_bytes=s, blocks=k)
        for i, (n, s, k) in enumerate(zip(records, sizes, block_counts(records, sizes, LANES), strict=True))
    ]
    manifest = Manifest(cluster_id="c", topic="t", topic_id="i", lanes=LANES, partitions=tuple(ranges))
    order = epoch_order(manifest.blocks, LANES, 7, 0)
    got = []
    for reader in range(readers):
        pieces = list(ReaderShard(reader, readers).positions(EpochProgress(), order.samples))
        block, _ = order.locate(np.concatenate(pieces))
        got.append(np.take(record_bytes, manifest.blocks.partition[block]).sum())
    # besides 1 %, a record of the largest kind per partition, which no cut can avoid
    assert max(got) - min(got) <= 0.01 * np.mean(got) + 10_000 * len(records)
