"""Batches and responses parsed in place, compared with kafka-python's result for the same bytes."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress
from typing import Any
from uuid import UUID

import cramjam
import pytest
from crc32c import crc32c
from kafka.protocol.consumer import FetchResponse

from kafkabal.clusters.kafka import record_batches
from kafkabal.clusters.kafka.fetch_response import fetch_response, fetch_responses
from kafkabal.clusters.kafka.record_batches import BatchReader, TooLargeUnpackedError, unpack_headers
from kafkabal.errors import MissingCapabilityError, RefusedByClusterError
from tests.unit.clusters.kafka.pack_batch import RecordFields, pack_batch

pytestmark = pytest.mark.usefixtures("records_are_found_by")

HEADERS = [("path", b"a/b"), ("path", None), ("é", b"")]


def _batch(
    base: int, values: list[bytes | None], *, producer: int = -1, control: bytes | None = None, aborts: bool = False
) -> bytes:
    records: list[RecordFields] = [
        (1000 + n, control if control is not None else b"key%d" % n, value, HEADERS) for n, value in enumerate(values)
    ]
    packed = bytearray(pack_batch(base, records, producer=producer))
    if control is not None:
        packed[22] |= 0x20
        packed[17:21] = crc32c(bytes(packed[21:])).to_bytes(4, "big")
    return bytes(packed)


def _recompressed(batch: bytes, codec: int) -> bytes:
    head, records = bytearray(batch[:61]), batch[61:]
    squeeze = {
        1: lambda b: bytes(cramjam.gzip.compress(b)),
        2: lambda b: bytes(cramjam.snappy.compress_raw(b)),
        3: lambda b: bytes(cramjam.lz4.compress(b)),
        4: lambda b: bytes(cramjam.zstd.compress(b)),
        10: lambda b: b"\x82SNAPPY\x00" + bytes(8) + _framed(b),
    }[codec]
    packed = squeeze(records)
    head[22] |= 2 if codec == 10 else codec
    head[8:12] = (49 + len(packed)).to_bytes(4, "big")
    head[17:21] = crc32c(bytes(head[21:]) + packed).to_bytes(4, "big")
    return bytes(head) + packed


def _framed(plain: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(plain))
    return len(block).to_bytes(4, "big") + block


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4, 10])
def test_records_are_read_whatever_compressed_them(codec: int) -> None:
    """Every codec of Kafka, Snappy also in the Java client's framing; only the requested range."""
    batch = _batch(50, [b"x" * 300, None, b"", b"last"])
    packed = batch if codec == 0 else _recompressed(batch, codec)
    records, after = BatchReader(0).records(memoryview(packed + packed[:40]), 51, 54)
    assert [(r[0], r[1], r[2], r[3]) for r in records] == [
        (51, 1001, b"key1", None),
        (52, 1002, b"key2", b""),
        (53, 1003, b"key3", b"last"),
    ]
    assert after == 54
    assert unpack_headers(next(iter(records))[4]) == HEADERS


def test_aborted_transactions_are_left_out() -> None:
    """Of two producers, the aborted one's records up to its marker are skipped, its later ones are not."""
    abort, commit = b"\0\0\0\0", b"\0\0\0\1"
    log = (
        _batch(0, [b"a"], producer=7)
        + _batch(1, [b"b"], producer=8)
        + _batch(2, [b""], producer=7, control=abort)
        + _batch(3, [b"c"], producer=7)
        + _batch(4, [b""], producer=8, control=commit)
    )
    records, after = BatchReader(0, [(7, 0)]).records(memoryview(log), 0, 10)
    assert [r[3] for r in records] == [b"b", b"c"]
    assert after == 5


@pytest.mark.parametrize("listed", [(), ((7, 6),)])
def test_markers_tell_of_aborted_transactions_that_the_broker_did_not_list(listed: tuple[tuple[int, int], ...]) -> None:
    """As a broker that appended them as a follower that was behind; records without a marker go by its list."""
    abort, commit = b"\0\0\0\0", b"\0\0\0\1"
    log = (
        _batch(0, [b"a"], producer=7)
        + _batch(1, [b""], producer=7, control=commit)
        + _batch(2, [b"b"], producer=8)
        + _batch(3, [b"c"], producer=7)
        + _batch(4, [b""], producer=7, control=abort)
        + _batch(5, [b""], producer=8, control=commit)
        + _batch(6, [b"d"], producer=7)
        + _batch(7, [b"e"], producer=8)
    )
    reader = BatchReader(0, listed)
    records, _ = reader.records(memoryview(log), 0, 6)
    assert [r[3] for r in records] == [b"a", b"b"]
    assert [span.first for span in reader.outside] == ([7] if listed else [6])
    at_once, _ = BatchReader(0, listed).records(memoryview(log), 0, 10)
    assert [r[3] for r in at_once] == [b"a", b"b", *([] if listed else [b"d"]), b"e"]


def test_a_damaged_marker_of_a_transaction_is_refused() -> None:
    """Whether the records before it count depends on it."""
    marker = bytearray(_batch(2, [b""], producer=7, control=b"\0\0\0\0"))
    marker[-20] ^= 1
    with pytest.raises(RefusedByClusterError, match="offset 2: the batch is damaged"):
        BatchReader(0, [(7, 0)]).records(memoryview(bytes(marker)), 0, 10)


def test_old_and_broken_batches_are_refused() -> None:
    """The format before Kafka 0.11, and malformed bytes, are reported with their offset."""
    batch = bytearray(_batch(5, [b"x"]))
    old = bytes(batch[:16]) + b"\1" + bytes(batch[17:])
    with pytest.raises(MissingCapabilityError, match="offset 5"):
        BatchReader(0).records(memoryview(old), 0, 10)
    batch[61] = 0xFF
    batch[62] = 0xFF
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    with pytest.raises(RefusedByClusterError, match="offset 5: the batch is corrupt"):
        BatchReader(0).records(memoryview(bytes(batch)), 0, 10)


@pytest.mark.parametrize("at", [21, 60, 70, -1])
def test_damaged_batches_are_found_by_their_checksum(at: int) -> None:
    """One bit of a byte that the checksum covers, of the header or a value; the next batch is sound."""
    batch = bytearray(_batch(5, [b"x" * 20]))
    after = _batch(6, [b"y"])
    batch[at] ^= 0x10 if at > 60 or at < 0 else 0x80
    with suppress(RefusedByClusterError):  # where the length of a record or their number is damaged
        records, _ = BatchReader(0).records(memoryview(bytes(batch) + after), 0, 10)
        assert records.damaged_rows().tolist() == [0]
        with pytest.raises(RefusedByClusterError, match="t-0: offset 5: the batch is damaged"):
            records.refuse_damaged("t")
    sound, _ = BatchReader(0).records(memoryview(_batch(5, [b"x" * 20]) + after), 0, 10)
    assert len(sound) == 2
    assert not sound.damaged_rows().size


@pytest.mark.parametrize("codec", [1, 2, 3, 4, 10])
def test_a_batch_that_is_too_large_uncompressed(codec: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """20 MB of zeros in a few kB are refused before they take more memory than the limit, alone or after others."""
    monkeypatch.setattr(record_batches, "MOST_UNPACKED_BYTES", 2**20)
    packed = _recompressed(_batch(0, [bytes(20_000_000)]), codec)
    small = _recompressed(_batch(0, [bytes(600_000)]), codec)
    limit = record_batches.MOST_UNPACKED_BYTES
    for response in (packed, small + _recompressed(_batch(1, [bytes(600_000)]), codec)):
        tracemalloc.start()
        with pytest.raises(TooLargeUnpackedError, match=r"offset [01]: batches of one block take more"):
            BatchReader(0, room_bytes=limit).records(memoryview(response), 0, 10)
        assert tracemalloc.get_traced_memory()[1] < 4 * limit
        tracemalloc.stop()
    records, _ = BatchReader(0, room_bytes=limit).records(memoryview(small), 0, 10)
    assert [record[3] for record in records] == [bytes(600_000)]


def test_records_that_take_much_memory_are_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of 600 kB are passed on by two where 1 MB is held at once, in order, and no limit adds up over them."""
    monkeypatch.setattr(record_batches, "MOST_UNPACKED_BYTES", 2**20)
    monkeypatch.setattr(record_batches, "AT_ONCE_BYTES", 10**6)
    packed = b"".join(_recompressed(_batch(n, [bytes(600_000)]), 4) for n in range(5))
    passed_on: list[list[int]] = []
    reader = BatchReader(
        0, room_bytes=2 * 2**20, pass_on=lambda records: passed_on.append([record[0] for record in records])
    )
    rest, after = reader.records(memoryview(packed), 0, 5)
    assert (passed_on, [record[0] for record in rest], after) == ([[0, 1], [2, 3]], [4], 5)
    with pytest.raises(TooLargeUnpackedError, match=r"offset 0: the batch takes more than 1\.00 MiB uncompressed"):
        BatchReader(0, room_bytes=2**19, pass_on=lambda _: None).records(memoryview(packed), 0, 5)


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_damaged_batch_that_cannot_be_decompressed(codec: int) -> None:
    """Its records have no values, so a reader can leave them out; of a compacted one the offsets are the first ones."""
    batch = bytearray(_recompressed(_batch(50, [b"x" * 300, b"y" * 300, b"z"]), codec))
    batch[61:67] = b"damage"
    records, after = BatchReader(0).records(memoryview(bytes(batch)), 51, 60)
    assert [(r[0], r[1], r[3]) for r in records] == [(51, 1000, None), (52, 1000, None)]
    assert (after, records.damaged_rows().tolist()) == (53, [0, 1])
    batch[26] += 4  # its last offset
    records, after = BatchReader(0).records(memoryview(bytes(batch)), 50, 60)
    assert ([r[0] for r in records], after, records.damaged_rows().tolist()) == ([50, 51, 52], 57, [0, 1, 2])
    batch[60] += 10  # the number of its records
    with pytest.raises(RefusedByClusterError, match="offset 50: the batch is corrupt"):
        BatchReader(0).records(memoryview(bytes(batch)), 51, 60)


@pytest.mark.parametrize("version", [7, 10, 11, 12, 13, 16, 17])
def test_answers_of_every_version_are_read(version: int) -> None:
    """Error codes, aborted transactions and records of each partition equal those that kafka-python wrote."""
    kind: Any = FetchResponse.FetchableTopicResponse
    answer = FetchResponse(
        throttle_time_ms=3,
        error_code=0,
        session_id=0,
        responses=[
            kind(
                topic="images",
                topic_id=UUID(int=5),
                partitions=[
                    kind.PartitionData(
                        partition_index=2,
                        error_code=6,
                        high_watermark=9,
                        last_stable_offset=8,
                        log_start_offset=1,
                        aborted_transactions=[
                            kind.PartitionData.AbortedTransaction(producer_id=4, first_offset=3),
                            kind.PartitionData.AbortedTransaction(producer_id=5, first_offset=2),
                        ],
                        preferred_read_replica=-1,
                        records=b"records",
                    ),
                    kind.PartitionData(
                        partition_index=4,
                        error_code=0,
                        high_watermark=9,
                        last_stable_offset=9,
                        log_start_offset=0,
                        aborted_transactions=None,
                        preferred_read_replica=1,
                        records=b"others",
                    ),
                ],
            )
        ],
    )
    body = answer.encode(version=version)
    header = (1).to_bytes(4, "big") + (b"\0" if version >= 12 else b"")
    found = fetch_response(memoryview(header + body), version)
    both = fetch_responses(memoryview(header + body), version)
    assert (both.whole.throttle_ms, both.partitions[2]) == (3, found)
    assert (both.partitions[4].error_code, bytes(both.partitions[4].records)) == (0, b"others")
    assert (found.error_code, bytes(found.records), found.aborted) == (6, b"records", ((5, 2), (4, 3)))
