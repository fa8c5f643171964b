"""Fields of records located a block at a time: kafka-python's records are read back, other bytes are refused."""

from __future__ import annotations

import random
from itertools import islice

import numpy as np
import pytest
from crc32c import crc32c

from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.clusters.kafka.lazy_records import BatchHead, PlacedRecords
from kafkabal.clusters.kafka.record_batches import BatchReader, unpack_headers
from kafkabal.errors import RefusedByClusterError
from tests.unit.clusters.kafka.pack_batch import RecordFields, pack_batch

pytestmark = pytest.mark.usefixtures("records_are_found_by")


def _drawn(randomness: random.Random, count: int) -> list[RecordFields]:
    def text(most: int) -> bytes | None:
        return None if randomness.random() < 0.2 else randomness.randbytes(randomness.choice((0, 1, 60, 70, most)))

    return [
        (
            randomness.randrange(2**41),
            text(9000),
            text(70_000),
            [("path", b"x" * randomness.randrange(200))] * randomness.randrange(3),
        )
        for _ in range(count)
    ]


def test_drawn_records_come_back() -> None:
    """Keys, values and headers of every length, or absent, in batches of one response and of several."""
    randomness = random.Random(7)
    drawn = [_drawn(randomness, count) for count in (1, 130, 17)]
    found = LazyRecords()
    base, expected = 2**40, []
    for records in drawn:
        more, _ = BatchReader(3).records(memoryview(pack_batch(base, records)), base, base + len(records))
        found.extend(more)
        expected += [(base + i, *record) for i, record in enumerate(records)]
        base += len(records)
    got = [(offset, stamp, key, value, unpack_headers(headers)) for offset, stamp, key, value, headers in found]
    assert got == expected
    assert set(found.columns().partition.tolist()) == {3}


def test_rows_may_be_asked_for_in_any_order() -> None:
    """Each field of some rows, as a shuffling reader requests them, over several buffers."""
    records: list[tuple[int, RawRecord]] = [
        (number % 3, (number, 50 + number, None if number % 2 else b"%d" % number, b"v%d" % number, b"\0"))
        for number in range(20)
    ]
    columns = LazyRecords.of(records).columns()
    rows = np.array([19, 0, 7, 7, 4])
    assert columns.partition[rows].tolist() == [1, 0, 1, 1, 1]
    assert columns.offset[rows].tolist() == [19, 0, 7, 7, 4]
    assert columns.timestamp[rows].tolist() == [69, 50, 57, 57, 54]
    assert list(columns.optional(columns.key, rows)) == [None, b"0", None, None, b"4"]
    assert list(columns.values(rows)) == [b"v19", b"v0", b"v7", b"v7", b"v4"]
    assert list(columns.copied_keys(rows)) == [None, b"0", None, None, b"4"]
    assert list(columns.copied_values(rows)) == [b"v19", b"v0", b"v7", b"v7", b"v4"]
    assert list(islice(columns.copied_headers(rows), 5)) == [b"\0"] * 5
    assert list(islice(columns.copied_keys(rows[2:4]), 2)) == [None, None]
    assert columns.only(7).offset.tolist() == [7]


def test_bytes_that_are_no_record_are_refused_or_read_within_it() -> None:
    """Random damage is reported with its batch; no field is read beyond the end of its record."""
    randomness = random.Random(8)
    whole = LazyRecords.of([(0, (5, 1000, b"key", b"value" * 30, b"\2\2a\2b"))])
    (part,) = whole.parts
    assert isinstance(part, PlacedRecords)
    packed, refused = bytes(part.heads[0].packed), 0
    for _ in range(2000):
        damaged = bytearray(packed)
        for _ in range(randomness.randrange(1, 4)):
            damaged[randomness.randrange(12)] = randomness.randrange(256)
        found = LazyRecords()
        end = randomness.randrange(1, len(damaged) + 1)
        found.add(BatchHead(0, 5, 1000, None, memoryview(damaged)), [0], [end])
        try:
            columns = found.columns()
        except RefusedByClusterError as error:
            refused += "partition 0: a record in the batch at offset 5 is corrupt" in error.message
            continue
        assert columns.key.max() <= end
        assert columns.value.max() <= end
        assert 0 < columns.headers[0, 0] < columns.headers[1, 0] == end
    assert refused > 100


def test_a_record_that_reaches_into_the_next_batch_is_refused() -> None:
    """A length beyond its batch, but within the received bytes; its producer took the checksum of just that."""
    first = bytearray(pack_batch(0, [(0, None, b"x" * 20, [])]))
    assert first[61] < 0x80
    first[61] += 20
    first[17:21] = crc32c(bytes(first[21:])).to_bytes(4, "big")
    packed = bytes(first) + pack_batch(1, [(0, None, b"y" * 40, [])])
    with pytest.raises(RefusedByClusterError, match="ends after its batch"):
        BatchReader(0).records(memoryview(packed), 0, 2)
