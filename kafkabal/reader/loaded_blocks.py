"""Blocks in memory, and the samples made from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from kafkabal.clusters.kafka import LazyRecords
from kafkabal.errors import UsageError
from kafkabal.model import I64
from kafkabal.reader.join_file_pieces import is_piece
from kafkabal.reader.sample import Sample


@dataclass(slots=True)
class LoadedBlock:
    """Records of a block as received, ascending by offset; each is copied when it is given out."""

    records: LazyRecords
    size_bytes: int
    """Memory it takes."""
    bytes_by_broker: Mapping[int, int] = field(default_factory=dict)
    """Bytes fetched over the network for it."""
    seconds_by_broker: Mapping[int, float] = field(default_factory=dict)
    """Time taken by those fetches."""
    is_cached: bool = False
    """Whether it came from the cache on disk."""
    whole_files_of: str | None = None
    """The topic, if a record that is a piece of a file is an error."""


class SampleBlock:
    """A loaded block whose records were parsed; samples are made when they are given out.

    Raises
    ------
    RefusedByClusterError
        If the bytes of a record are malformed.
    UsageError
        If a record is a piece of a file, where whole files are expected.
    """

    def __init__(self, loaded: LoadedBlock) -> None:
        self.loaded = loaded
        self._columns = loaded.records.columns()
        self.sample_bytes = self._columns.size_bytes
        """int64, shape (n,): size of each sample when it is given out."""
        if loaded.whole_files_of is not None:
            self._refuse_pieces(loaded.whole_files_of)

    def __len__(self) -> int:
        return len(self._columns)

    def samples(self, places: I64) -> Iterator[Sample]:
        """The records at these places; runs entirely in C, because interpreted steps would take as long as the copy."""
        columns = self._columns
        return map(
            Sample,
            columns.partition[places].tolist(),
            columns.offset[places].tolist(),
            columns.timestamp[places].tolist(),
            columns.optional(columns.key, places),
            columns.values(places),
            columns.packed_headers(places),
        )

    def _refuse_pieces(self, topic: str) -> None:
        columns = self._columns
        rows = np.flatnonzero(columns.has_headers)  # nearly no topic has any
        for row, headers in zip(rows.tolist(), columns.packed_headers(rows), strict=False):
            if is_piece(headers):
                where = f"{topic}-{columns.partition[row]}: offset {columns.offset[row]}"
                raise UsageError(
                    f"{where} is a piece of a file that was split",
                    hint="pin the topic with count=True to get whole files, or with join=False to get the pieces",
                )
