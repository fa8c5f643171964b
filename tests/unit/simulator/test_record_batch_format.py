"""The log format, against batches that are written out byte by byte."""

from __future__ import annotations

import struct
from itertools import pairwise

import numpy as np
import pytest

from kafkabal.simulator.record_batch_format import (
    BATCH_HEADER_BYTES,
    mean_varint_bytes,
    record_bytes,
    stored_header_bytes,
    varint_bytes,
)

# offset, length, leader epoch, magic, checksum, attributes, last offset, two timestamps, producer, epoch, sequence, n
_HEADER = struct.Struct(">qiibIhiqqqhii")


def varint(number: int) -> bytes:
    """A number as Kafka writes it: zigzag, seven bits per byte, least significant first."""
    number = (number << 1) ^ (number >> 63)
    written = b""
    while number > 0x7F:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])


def record(place: int, later_ms: int, key: bytes | None, value: bytes, headers: list[tuple[str, bytes]]) -> bytes:
    """A record as it is written in a batch."""
    body = b"\0" + varint(later_ms) + varint(place)
    body += varint(-1) if key is None else varint(len(key)) + key
    body += varint(len(value)) + value + varint(len(headers))
    for name, content in headers:
        body += varint(len(name)) + name.encode() + varint(len(content)) + content
    return varint(len(body)) + body


def batch(records: list[bytes]) -> bytes:
    """A batch of records, without its checksum."""
    content = b"".join(records)
    n = len(records)
    return _HEADER.pack(0, 49 + len(content), 0, 2, 0, 0, n - 1, 0, 0, -1, -1, -1, n) + content


def test_a_batch_of_two_records_byte_by_byte() -> None:
    """Header of 61 bytes, a record of key and value, and a record of a value alone a tenth of a second later."""
    first = bytes([0x12, 0, 0, 0, 0x02, 0x6B, 0x04, 0x76, 0x76, 0])
    second = bytes([0x14, 0, 0xC8, 0x01, 0x02, 0x01, 0x06, 0x76, 0x76, 0x76, 0])
    assert record(0, 0, b"k", b"vv", []) == first
    assert record(1, 100, None, b"vvv", []) == second

    assert record_bytes(np.array([3, 3]), np.array([2, 3])).tolist() == [len(first), len(second)] == [10, 11]
    assert len(batch([first, second])) == BATCH_HEADER_BYTES + 10 + 11


@pytest.mark.parametrize("size", [1, 50, 56, 57, 63, 64, 500, 8180, 8183, 8191, 8192, 100_000, 2**20 - 5, 2**20])
@pytest.mark.parametrize("key", [None, b"k" * 20])
@pytest.mark.parametrize("headers", [[], [("path", b"cat/1.jpg"), ("sha256", b"0" * 64)], [("", b"x" * 70)]])
def test_records_are_as_long_as_they_are_written(
    size: int, key: bytes | None, headers: list[tuple[str, bytes]]
) -> None:
    """Computed record lengths equal the written ones, whatever the key, value, headers and position in the batch."""
    for place, later_ms in ((0, 0), (63, 64), (64, 8191), (8192, 10**6)):
        written = record(place, later_ms, key, bytes(size), headers)
        found = record_bytes(
            np.array([size + len(key or b"")]),
            varint_bytes(np.array([place])) + varint_bytes(np.array([later_ms])),
            stored_header_bytes(headers),
        )
        # the length of the value is used for key plus value
        slack = int(varint_bytes(size + len(key or b"")) - varint_bytes(size))
        assert 0 <= int(found[0]) - len(written) <= 2 * slack


def test_numbers_take_a_byte_more_every_seven_bits() -> None:
    """The computed length equals the written one on both sides of every limit."""
    numbers = [n for bits in (6, 13, 20, 27, 34, 41) for n in (2**bits - 1, 2**bits)]
    assert varint_bytes(np.array(numbers)).tolist() == [len(varint(n)) for n in numbers]
    assert all(low < high for low, high in pairwise(varint_bytes(np.array(numbers[1::2])).tolist()))


@pytest.mark.parametrize("below", [1, 5, 64, 65, 200, 9000])
def test_mean_length_of_the_places_in_a_batch(below: int) -> None:
    """The mean length equals the mean over all positions in a batch, computed one by one."""
    by_hand = np.mean([len(varint(place)) for place in range(below)])
    assert float(mean_varint_bytes(np.array([float(below)]))[0]) == pytest.approx(by_hand)
