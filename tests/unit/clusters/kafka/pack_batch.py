"""Record batches as kafka-python writes them, at any base offset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka.record.default_records import DefaultRecordBatchBuilder

RecordFields = tuple[int, bytes | None, bytes | None, Sequence[tuple[str, bytes | None]]]
"""Timestamp in ms, key, value and headers."""


def pack_batch(base: int, records: Iterable[RecordFields], *, producer: int = -1, codec: int = 0) -> bytes:
    """Pack records into one batch; with a producer id it belongs to a transaction."""
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=codec,
        is_transactional=producer >= 0,
        producer_id=producer,
        producer_epoch=0,
        base_sequence=0,
        batch_size=10**8,
    )
    for number, (stamp_ms, key, value, headers) in enumerate(records):
        builder.append(number, stamp_ms, key, value, list(headers))
    return base.to_bytes(8, "big") + bytes(builder.build())[8:]
