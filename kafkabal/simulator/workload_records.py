"""The records of a workload in chunks, so that a billion of them need no more memory than one chunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from kafkabal.model import F64, I64
from kafkabal.routing import KeyTable, RecordBatch
from kafkabal.simulator.workload import ArrivalProcess, Workload

_CHUNK = 131_072
"""Records per chunk: columns of 1 MB each, and many records share the cost of a call."""
_SIZES, _KEYS, _TIMES = 1, 2, 3


def record_stream(workload: Workload, keys: KeyTable | None, seed: int) -> Iterator[RecordBatch]:
    """All records in time order; the same seed gives the same records, whatever the policy."""
    size_source, key_source, time_source = (
        np.random.Generator(np.random.PCG64([seed, salt])) for salt in (_SIZES, _KEYS, _TIMES)
    )
    done, written_bytes, now_s = 0, 0, 0.0
    while (n := _left(workload, done, written_bytes)) > 0:
        size_bytes = workload.sizes.draw(size_source, done, n)
        at_s = now_s + _times(workload, size_bytes, time_source)
        key = None if workload.keys is None else workload.keys.draw(key_source, done, n)
        chunk = RecordBatch(size_bytes=size_bytes, key=key, keys=keys, at_s=at_s)
        if workload.total_bytes is not None:
            chunk = _cut(chunk, workload.total_bytes - written_bytes)
        done, written_bytes = done + len(chunk), written_bytes + int(chunk.size_bytes.sum())
        now_s = float(at_s[len(chunk) - 1])
        yield chunk


def of_producer(records: RecordBatch, first: int, producers: int) -> RecordBatch:
    """The records of one producer, who gets every n-th."""
    return replace(
        records,
        size_bytes=records.size_bytes[first::producers],
        key=None if records.key is None else records.key[first::producers],
        at_s=None if records.at_s is None else records.at_s[first::producers],
    )


def _left(workload: Workload, done: int, written_bytes: int) -> int:
    if workload.total_bytes is not None and written_bytes >= workload.total_bytes:
        return 0
    return _CHUNK if workload.records is None else min(_CHUNK, workload.records - done)


def _times(workload: Workload, size_bytes: I64, generator: np.random.Generator) -> F64:
    if workload.process is ArrivalProcess.STEADY:
        return np.cumsum(size_bytes) / workload.bytes_per_s
    gaps = generator.standard_exponential(len(size_bytes))
    np.cumsum(gaps, out=gaps)
    gaps *= workload.sizes.mean_bytes / workload.bytes_per_s
    return gaps


def _cut(chunk: RecordBatch, left_bytes: int) -> RecordBatch:
    """Cut a chunk after the record that reaches the remaining bytes."""
    end = int(np.searchsorted(np.cumsum(chunk.size_bytes), left_bytes)) + 1
    return chunk[:end]
