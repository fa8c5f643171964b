"""The C library finds the same records as Python does, in sound bytes and in damaged ones."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import cramjam
import numpy as np
import pytest
from crc32c import crc32c

from kafkabal.clusters.kafka import native_records
from kafkabal.clusters.kafka.record_batches import BatchReader
from kafkabal.errors import KafkabalError
from tests.unit.clusters.kafka.pack_batch import RecordFields, pack_batch

pytestmark = pytest.mark.skipif(
    not native_records.is_available(), reason="the C libraries are not compiled: python hatch_build.py"
)
BEGIN, END = 105, 125
"""Offsets that are read; batches begin before and end after them."""
CONTROL_KEYS = b"\0\0\0\0", b"\0\0\0\1"


def _text(randomness: random.Random) -> bytes | None:
    return randomness.choice((None, b"", b"x", randomness.randbytes(70), randomness.randbytes(9000)))


def _records(randomness: random.Random, count: int) -> list[RecordFields]:
    headers = [("a", b"1"), ("é", None)]
    return [
        (1000 + randomness.randrange(10**6), _text(randomness), _text(randomness), headers[: randomness.randrange(3)])
        for _ in range(count)
    ]


def _checked(batch: bytearray) -> bytes:
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


def _compressed(batch: bytes) -> bytes:
    packed = bytes(cramjam.zstd.compress(batch[61:]))
    found = bytearray(batch[:61] + packed)
    found[22] |= 4
    found[8:12] = (49 + len(packed)).to_bytes(4, "big")
    return _checked(found)


def _batch(randomness: random.Random, base: int, count: int) -> bytes:
    """Plain, compressed, of a transaction, a control batch, with append time, or compacted."""
    kind = randomness.randrange(9)
    records = _records(randomness, count)
    if kind == 0:
        records = [(1000, randomness.choice(CONTROL_KEYS), b"", [])]
    batch = bytearray(pack_batch(base, records, producer=randomness.choice((7, 8)) if kind < 3 else -1))
    if kind == 0:
        batch[22] |= 0x20
    elif kind == 3:
        batch[22] |= 0x08
    elif kind == 4:
        return _compressed(batch)
    elif kind == 5:
        batch[26] += 3  # its last offset: the records after the last one were compacted
    return _checked(batch)


def _log(randomness: random.Random) -> bytes:
    packed, base = b"", 100
    while base < 130:
        batch = _batch(randomness, base, randomness.randrange(1, 9))
        packed += batch
        base += int.from_bytes(batch[23:27], "big") + 1 + randomness.choice((0, 0, 0, 4))
    return packed[: randomness.randrange(len(packed)) if randomness.random() < 0.2 else None]


def _outcome(packed: bytes, aborted: list[tuple[int, int]]) -> Any:
    reader = BatchReader(3, aborted)
    try:
        found, after = reader.records(memoryview(packed), BEGIN, END)
        columns = found.columns()
    except KafkabalError as error:
        return type(error), error.message
    rows = np.arange(len(columns))[::-1]
    keys, headers = (
        [*zip(rows, each, strict=False)] for each in (columns.copied_keys(rows), columns.copied_headers(rows))
    )
    return (
        list(columns),
        columns.partition.tolist(),
        (keys, list(columns.copied_values(rows)), headers),
        found.damaged_rows().tolist(),
        (after, reader.largest_bytes, reader.outside),
    )


def _python_outcome(packed: bytes, aborted: list[tuple[int, int]]) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native_records, "_library", lambda: None)
        return _outcome(packed, aborted)


def test_it_finds_what_python_finds() -> None:
    """Random logs: every kind of batch, gaps, aborted transactions, a response that ends anywhere."""
    randomness = random.Random(1)
    for _ in range(200):
        packed = _log(randomness)
        aborted = randomness.choice(([], [(7, 100)], [(8, 110), (7, 112)]))
        assert _outcome(packed, aborted) == _python_outcome(packed, aborted)


@pytest.mark.parametrize("has_right_checksum", [False, True])
def test_damage_changes_nothing_of_that(has_right_checksum: bool) -> None:
    """A few random bytes of a random batch, as a disk or a hostile producer would write them."""
    randomness = random.Random(2)
    refused = 0
    for _ in range(600):
        before, after = pack_batch(100, _records(randomness, 8)), pack_batch(112, _records(randomness, 9))
        batch = bytearray(_batch(randomness, 108, 4))
        for _ in range(randomness.randrange(1, 4)):
            most = randomness.choice((61, 75, len(batch)))
            batch[randomness.randrange(8, min(most, len(batch)))] = randomness.choice(
                (0, 1, 127, 128, 255, randomness.randrange(256))
            )
        packed = before + (_checked(batch) if has_right_checksum else bytes(batch)) + after
        found = _outcome(packed, [])
        assert found == _python_outcome(packed, [])
        refused += isinstance(found[0], type)
    assert refused > 30


def test_many_spans_beyond_the_range_are_all_kept() -> None:
    """More separate ones than the library notes at once."""
    batches = [pack_batch(100 + 10 * n, _records(random.Random(3), 2)) for n in range(40)]
    packed = b"".join(batches)
    reader = BatchReader(0)
    found, after = reader.records(memoryview(packed), 300, 302)
    assert (len(found), after, len(reader.outside)) == (2, 492, 39)
    assert _outcome(packed, []) == _python_outcome(packed, [])


def test_small_batches_between_compressed_ones_take_little_memory() -> None:
    """For each stretch of them the library gets room for all that may follow, which must not be kept: 130 MB."""
    records: list[RecordFields] = [(1000, None, b"0123456789", [])]
    packed = b"".join(
        pack_batch(base, records) if base % 2 else _compressed(pack_batch(base, records)) for base in range(2000)
    )
    tracemalloc.start()
    try:
        found, _ = BatchReader(0).records(memoryview(packed), 0, 2000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found) == 2000
    assert held < 10_000_000


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 1000, 3072, 10_001])
def test_checksums_are_those_of_the_standard(size: int) -> None:
    """By an instruction of the processor, and by a table where it has none; RFC 3720's value for 32 zeros."""
    packed = memoryview(random.Random(size).randbytes(size))
    assert native_records.crc32c(packed) == native_records.crc32c(packed, by_table=True) == crc32c(packed)
    assert native_records.crc32c(memoryview(bytes(32)), by_table=True) == 0x8A9136AA
