"""Blocks as they are in memory, and the samples that are made of them."""

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
    """Records of a block, ascending by offset, as they were received; each is copied when it is given out."""

    records: LazyRecords
    size_bytes: int
    """Memory that it takes."""
    bytes_by_broker: Mapping[int, int] = field(default_factory=dict)
    """What came over the network for it."""
    seconds_by_broker: Mapping[int, float] = field(default_factory=dict)
    """How long that took."""
    is_cached: bool = False
    """Whether it came from the cache on disk."""
    whole_files_of: str | None = None
    """The topic, where a record that is a piece of a file is an error."""


class SampleBlock:
    """A loaded block whose records have been looked through; samples are made of them when they are given out.

    Raises
    ------
    RefusedByClusterError
        If the bytes of a record are not those of one.
    UsageError
        If one is a piece of a file, where whole files are wanted.
    """

    def __init__(self, loaded: LoadedBlock) -> None:
        self.loaded = loaded
        self._columns = loaded.records.columns()
        self.sample_bytes = self._columns.size_bytes
        """int64, shape (n,): of each sample, as it is given out."""
        if loaded.whole_files_of is not None:
            self._refuse_pieces(loaded.whole_files_of)

    def __len__(self) -> int:
        return len(self._columns)

    def samples(self, places: I64) -> Iterator[Sample]:
        """The records at these places; no step of it runs in the interpreter, which would take as long as the copy."""
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
        rows = np.flatnonzero(columns.has_headers)  # nearly all topics have none
        for row, headers in zip(rows.tolist(), columns.packed_headers(rows), strict=False):
            if is_piece(headers):
                where = f"{topic}-{columns.partition[row]}: offset {columns.offset[row]}"
                raise UsageError(
                    f"{where} is a piece of a file that was split",
                    hint="pin the topic with count=True to get whole files, or with join=False to get the pieces",
                )
