"""Blocks in memory, and the samples made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from kafkabal.clusters.kafka import RecordColumns
from kafkabal.errors import UsageError
from kafkabal.model import I64
from kafkabal.reader.join_file_pieces import first_piece
from kafkabal.reader.sample import Sample


@dataclass(slots=True)
class LoadedBlock:
    """Records of a block as received or mapped, ascending by offset."""

    records: RecordColumns
    size_bytes: int
    """Memory it takes."""
    bytes_by_broker: Mapping[int, int] = field(default_factory=dict)
    """Bytes fetched over the network for it."""
    seconds_by_broker: Mapping[int, float] = field(default_factory=dict)
    """Time taken by those fetches."""
    is_cached: bool = False
    """Whether it came from the cache on disk."""
    is_mapped: bool = False
    """Whether its bytes are in a mapped file, as those of the cache are."""
    faults: Mapping[int, str] = field(default_factory=dict)
    """By the row of a record, why its value is not what was sent."""
    whole_files_of: str | None = None
    """The topic, if a record that is a piece of a file is an error."""


class SampleBlock:
    """The samples of a loaded block, in epoch order; created by the thread that loads it.

    Those of a received block are copied at once, so that its buffer receives the next one, and each frees its
    memory when it is yielded. Kept in their buffers until the last one was yielded, they would take twice the
    memory, and memory that a process touches for the first time is the largest cost of reading 600 MB: 2.0 s of
    processor time, and 1.1 s copied at once (two virtual processors, records of 10 kB, 2026-11). Those of a mapped
    block, which needs no memory of its own, are copied when they are yielded.

    Parameters
    ----------
    order
        int64, shape (n,): places of the records, in the order in which they are yielded. Samples created in this
        order are neighbours in memory, and quicker to yield.

    Raises
    ------
    UsageError
        If a record is a piece of a file, where whole files are expected.
    """

    def __init__(self, loaded: LoadedBlock, order: I64) -> None:
        self.size_bytes = loaded.size_bytes
        self.bytes_by_broker = loaded.bytes_by_broker
        self.seconds_by_broker = loaded.seconds_by_broker
        self.is_cached = loaded.is_cached
        self.is_damaged = bool(loaded.faults)
        self.sample_bytes = loaded.records.size_bytes[order]
        """int64, shape (n,): size of each sample when it is yielded."""
        self._order = order
        if loaded.whole_files_of is not None:
            _refuse_pieces(loaded.records, loaded.whole_files_of)
        self._mapped = loaded.records if loaded.is_mapped else None
        self._copied: dict[int, Sample] = {}
        """By number in epoch order; each is removed when it is yielded."""
        if not loaded.is_mapped:
            self._copied = dict(enumerate(_samples(loaded.records, order, at_once=True)))
        self._faults = {
            number: fault for row, fault in loaded.faults.items() for number in np.flatnonzero(order == row).tolist()
        }

    def __len__(self) -> int:
        return len(self._order)

    def samples(self, numbers: I64) -> Iterator[Sample]:
        """The samples with these numbers, each of which can be yielded once."""
        found: Iterator[Sample] = map(self._copied.pop, numbers.tolist())
        if self._mapped is not None:
            found = _samples(self._mapped, self._order[numbers], at_once=False)
        return map(self._with_fault, found, numbers.tolist()) if self._faults else found

    def _with_fault(self, sample: Sample, number: int) -> Sample:
        if (fault := self._faults.get(number)) is not None:
            sample.decoded = ValueError(fault)
        return sample


def _samples(columns: RecordColumns, places: I64, *, at_once: bool) -> Iterator[Sample]:
    """Samples of these records, whose bytes are copied at once, or each when it is yielded.

    Runs in C, because interpreted steps would take as long as the copy.
    """
    return map(
        Sample,
        columns.partition[places].tolist(),
        columns.offset[places].tolist(),
        columns.timestamp[places].tolist(),
        columns.copied_keys(places) if at_once else columns.optional(columns.key, places),
        columns.copied_values(places) if at_once else columns.values(places),
        columns.copied_headers(places) if at_once else columns.packed_headers(places),
    )


def _refuse_pieces(columns: RecordColumns, topic: str) -> None:
    row = first_piece(columns)
    if row is not None:
        where = f"{topic}-{columns.partition[row]}: offset {columns.offset[row]}"
        raise UsageError(
            f"{where} is a piece of a file that was split",
            hint="pin the topic with count=True to get whole files, or with join=False to get the pieces",
        )
