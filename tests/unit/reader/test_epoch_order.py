"""The order of an epoch: how well it is shuffled, and that it never changes."""

from __future__ import annotations

import numpy as np
import pytest

from kafkabal.model import F64, I64
from kafkabal.reader.epoch_order import epoch_order
from kafkabal.reader.manifest import LANES, CountedBlock, Manifest, PartitionRange, block_count, lanes_for
from kafkabal.reader.permutation import keys, permutation


def _manifest(records: list[int], record_bytes: int = 100_000, lanes: int = LANES) -> Manifest:
    sizes = [n * record_bytes for n in records]
    cuts = [block_count(n, s, lanes) for n, s in zip(records, sizes, strict=True)]
    ranges = tuple(
        PartitionRange(partition=i, begin=0, end=n, size_bytes=size, blocks=k)
        for i, (n, size, k) in enumerate(zip(records, sizes, cuts, strict=True))
    )
    return Manifest(cluster_id="c", topic="t", topic_id="i", partitions=ranges, lanes=lanes)


def _sequence(manifest: Manifest, seed: int | None, epoch: int) -> I64:
    """Number of each sample in the topic, in the order of the epoch."""
    blocks = manifest.blocks
    order = epoch_order(blocks, manifest.lanes, seed, epoch)
    block, number = order.locate(np.arange(order.samples))
    before = np.concatenate(([0], np.cumsum(blocks.samples)))
    within = {int(b): order.within(int(b), int(blocks.samples[b])) for b in np.unique(block)}
    return np.array([before[b] + within[b][j] for b, j in zip(block.tolist(), number.tolist(), strict=True)])


def test_orders_never_change() -> None:
    """The first numbers of a seed are recorded here: a saved state stays valid forever."""
    assert permutation(8, 1, 2).tolist() == [2, 7, 3, 1, 5, 6, 0, 4]
    assert keys(1, 7).tolist() == [13309476754707697221]


@pytest.mark.parametrize(
    ("records", "least_blocks", "off"),
    [([4000] * 4, 24, 0), ([4000, 4000, 12_000], 24, 1), ([60_000, 20_000, 20_000], 120, 2), ([3000] * 30, 24, 1)],
)
def test_the_blocks_that_are_open_are_of_all_partitions(records: list[int], least_blocks: int, off: int) -> None:
    """Whenever lanes start their next blocks, these are of each partition in proportion: brokers send evenly."""
    manifest = _manifest(records)
    blocks, lanes = manifest.blocks, manifest.lanes
    assert np.bincount(blocks.ranges.partition).max() >= least_blocks
    order = epoch_order(blocks, lanes, 5, 0)
    of_lane = order.block.reshape(lanes, -1)
    assert np.array_equal(np.sort(of_lane, axis=None), np.arange(len(blocks)))
    due = np.bincount(blocks.ranges.partition) * lanes / len(blocks)
    for readers in (1, 2, 4):
        for turn in [turn for reader in range(readers) for turn in of_lane[reader::readers].T]:
            open_ = np.bincount(blocks.ranges.partition[turn], minlength=len(records))
            assert np.all(np.abs(open_ - due / readers) <= max(off, readers > 1))


@pytest.mark.parametrize(("readers", "records"), [(4, [15_000] * 4), (32, [300_000, 600_000, 60_000])])
def test_readers_get_equal_bytes_of_records_that_grow(readers: int, records: list[int]) -> None:
    """Of partitions whose records grow to twice their size, readers get equal bytes within 1% in every epoch."""
    manifest = _manifest(records, 10_000, lanes_for(readers))
    blocks = manifest.blocks
    middle = (blocks.ranges.begin + blocks.ranges.end) / 2
    size_bytes = blocks.samples * (1.0 + middle / np.array(records)[blocks.ranges.partition])
    assert max(_highest_shares(manifest, size_bytes, readers)) < 1.01


def test_readers_get_equal_bytes_of_blocks_whose_sizes_are_known() -> None:
    """Blocks of any sizes, which counting told, give readers equal bytes within 2% in every epoch, 1% in the mean."""
    blocks = _manifest([600_000] * 2, 10_000).blocks
    classes = np.random.default_rng(1).lognormal(0, 0.5, len(blocks))
    size_bytes = (blocks.samples * 10_000 * classes).astype(np.int64)
    ranges = []
    for partition in (0, 1):
        of = blocks.ranges.partition == partition
        counted = tuple(
            map(CountedBlock, blocks.ranges.end[of].tolist(), blocks.samples[of].tolist(), size_bytes[of].tolist())
        )
        total_bytes = int(size_bytes[of].sum())
        ranges.append(
            PartitionRange(
                partition=partition, begin=0, end=600_000, size_bytes=total_bytes, blocks=len(counted), counted=counted
            )
        )
    manifest = Manifest(cluster_id="c", topic="t", topic_id="i", partitions=tuple(ranges))
    shares = _highest_shares(manifest, size_bytes, 4)
    assert max(shares) < 1.02
    assert np.mean(shares) < 1.01


def _highest_shares(manifest: Manifest, size_bytes: I64 | F64, readers: int) -> list[float]:
    """Of each of ten epochs: the most bytes of a reader over the mean."""
    found = []
    for epoch in range(10):
        order = epoch_order(manifest.blocks, manifest.lanes, 1, epoch)
        lane = np.searchsorted(order.lane_first[1:], order.first[:-1], side="right")
        of_reader = np.bincount(lane % readers, size_bytes[order.block])
        found.append(float(of_reader.max() / of_reader.mean()))
    return found


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    """Another epoch, or another seed, gives another order; the same ones give the same."""
    manifest = _manifest([4000, 400])
    first = _sequence(manifest, 1, 0)
    assert np.array_equal(first, _sequence(manifest, 1, 0))
    for seed, epoch in ((1, 1), (2, 0)):
        assert np.mean(first == _sequence(manifest, seed, epoch)) < 0.01


def test_without_a_seed_records_keep_their_order() -> None:
    """Every lane gives its blocks, and every block its records, in the order of the topic."""
    manifest = _manifest([4800])
    order = epoch_order(manifest.blocks, manifest.lanes, None, 0)
    block, number = order.locate(np.arange(0, order.samples, manifest.lanes))
    assert np.all(np.diff(block * 1000 + number) > 0)
    assert order.within(3, 5).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("measure", ["place", "neighbour"])
def test_the_shuffle_is_close_to_a_full_permutation(measure: str) -> None:
    """How far samples move, and how far apart neighbours get: within 5% of a full permutation, a third of all."""
    manifest = _manifest([20_000, 2_000])
    n = manifest.samples
    distances = []
    for epoch in range(8):
        sequence = _sequence(manifest, 3, epoch)
        moved = np.abs(sequence - np.arange(n)) if measure == "place" else np.abs(np.diff(sequence))
        distances.append(moved.mean() / n)
    assert np.mean(distances) == pytest.approx(1 / 3, rel=0.05)
