"""Loading blocks from brokers: whole ones, and single records of them."""

from __future__ import annotations

import pytest

from kafkabal.reader.block_loader import BrokerBlocks
from kafkabal.reader.manifest import Manifest, PartitionRange
from tests.unit.reader.conftest import MemoryTopic


def _manifest(topic: MemoryTopic) -> Manifest:
    """All partitions are cut as if they were one."""
    partitions = tuple(
        PartitionRange(partition=p, begin=0, end=n, size_bytes=10 * n, blocks=0 if p else 3)
        for p, n in enumerate(topic.counts)
    )
    return Manifest(cluster_id="c", topic="t", topic_id="i", lanes=3, partitions=partitions)


@pytest.mark.parametrize("counts", [[30], [5, 3, 4], [1, 1, 1, 9]])
def test_a_single_record_is_that_of_its_place_in_the_block(counts: list[int]) -> None:
    """In whichever of the block's partitions it is; only this record is fetched."""
    topic = MemoryTopic(counts)
    blocks = BrokerBlocks(_manifest(topic), topic)
    for block in range(3):
        whole = blocks.load(block).records
        for place in range(len(whole)):
            topic.fetched_records = 0
            one = blocks.load(block, place)
            assert topic.fetched_records == 1
            assert (one.records.partition[0], one.records.offset[0]) == (whole.partition[place], whole.offset[place])
            assert one.size_bytes == 11  # its share of the block, and its headers


def test_only_blocks_of_several_partitions_are_requested_ahead() -> None:
    """One request a broker then has all ranges; a single range, or a single record, is fetched by itself."""
    topic = MemoryTopic([4, 4, 1])
    blocks = BrokerBlocks(_manifest(topic), topic)
    ranges = [blocks._manifest.blocks.ranges_of(block) for block in range(3)]
    widths = [rows.stop - rows.start for rows in ranges]
    assert sorted(widths) == [1, 2, 2]
    for block in range(3):
        blocks.load(block)
        blocks.load(block, 0)
    assert topic.ahead == [width for width in widths if width > 1]
