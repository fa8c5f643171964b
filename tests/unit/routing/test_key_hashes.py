"""Hashes of keys against known answers, and in bulk against one by one."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from kafkabal.routing.key_hashes import KeyTable, key_partition, murmur2

# the vectors of Kafka's own UtilsTest.testMurmur2, as signed 32-bit numbers
KAFKA_VECTORS = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "signed"), KAFKA_VECTORS.items())
def test_murmur2_equals_kafka(key: bytes, signed: int) -> None:
    """Every vector of Kafka's own test gives Kafka's answer."""
    assert murmur2(key) == signed & 0xFFFFFFFF


def test_partition_drops_the_sign_as_java_does() -> None:
    """A negative hash loses its sign bit; it is not negated."""
    assert key_partition(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000


def test_bulk_hashes_equal_single_ones() -> None:
    """Keys of all lengths, empty included, hash in a table as they do alone."""
    keys = [bytes(range(n)) for n in range(40)]
    table = KeyTable.of(keys)

    assert table.murmur2().tolist() == [murmur2(key) for key in keys]
    assert table.murmur2(13).tolist() == [murmur2(key, 13) for key in keys]
    assert table.crc32().tolist() == [zlib.crc32(key) for key in keys]
    assert table.partitions(7).tolist() == [key_partition(key, 7) for key in keys]


def test_numbered_keys_are_distinct_and_readable() -> None:
    """Row 42 of a numbered table is the key 0000000042."""
    table = KeyTable.numbered(1000)

    assert table[42] == b"0000000042"
    assert len({table[row] for row in range(1000)}) == 1000


def test_hashes_spread_numbered_keys_evenly() -> None:
    """Ten thousand numbered keys fill ten partitions within five per cent or so."""
    counts = np.bincount(KeyTable.numbered(10_000).partitions(10), minlength=10)

    assert counts.min() > 900
    assert counts.max() < 1100
