"""Records that find no room in memory, in a temporary file that is mapped: the system can reclaim its pages."""

from __future__ import annotations

import mmap
import warnings
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from kafkabal.clusters.kafka import LazyRecords, RecordColumns
from kafkabal.model import I64
from kafkabal.reader.block_file import from_table, tabulated
from kafkabal.wording import system_fault


class BlockInTemporaryFile:
    """Records of a block, written as they arrive; a context manager, at whose end the file is closed.

    The file has no name, and stays as long as the records that are mapped from it.

    If it cannot be written, as on a full disk, records stay in memory, with a warning.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._size_bytes = 0
        self._tables: list[I64] = []
        self._damaged: list[I64] = []
        self._in_memory: list[RecordColumns] = []
        """What came after the file could not be written."""
        self._count = 0

    def __enter__(self) -> BlockInTemporaryFile:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def __len__(self) -> int:
        return self._count

    @property
    def damaged_rows(self) -> list[int]:
        """Rows of the records whose batch is damaged."""
        return [row for rows in self._damaged for row in rows.tolist()]

    @property
    def memory_bytes(self) -> int:
        """Memory that records take since the file could not be written; 0 if it could."""
        return sum(int(records.size_bytes.sum()) for records in self._in_memory)

    def add(self, records: LazyRecords) -> None:
        """Append records."""
        if records:
            self._damaged.append(records.damaged_rows() + self._count)
            self.add_columns(records.columns())

    def add_columns(self, records: RecordColumns) -> None:
        """Append records, at least one."""
        self._count += len(records)
        try:
            if not self._in_memory:
                self._write(records)
                return
        except OSError as error:
            warnings.warn(
                f"cannot write a temporary file: {system_fault(error)}; blocks beyond prefetch stay in memory",
                stacklevel=2,
            )
        self._in_memory.append(records)

    def columns(self) -> RecordColumns:
        """All records; none may be added afterwards."""
        return RecordColumns.joined([*self._mapped(), *self._in_memory])

    def _write(self, records: RecordColumns) -> None:
        if self._file is None:
            self._file = TemporaryFile(prefix="kafkabal-block-", buffering=0)  # noqa: SIM115 - closed at the end
        table, parts = tabulated(records, self._size_bytes)
        for part in parts:
            _write_all(self._file, part)
        self._tables.append(table)
        self._size_bytes += sum(map(len, parts))

    def _mapped(self) -> list[RecordColumns]:
        if self._file is None or not self._tables:
            return []
        table = np.concatenate(self._tables, axis=1)
        self._tables.clear()
        at = self._size_bytes + -self._size_bytes % table.itemsize
        with suppress(OSError):  # then the table stays in memory
            self._file.seek(at)
            _write_all(self._file, memoryview(table.tobytes()))
            mapped = memoryview(mmap.mmap(self._file.fileno(), 0, prot=mmap.PROT_READ))
            return [from_table(np.frombuffer(mapped[at:], table.dtype).reshape(table.shape), mapped)]
        return [from_table(table, memoryview(mmap.mmap(self._file.fileno(), self._size_bytes, prot=mmap.PROT_READ)))]


def _write_all(file: IO[bytes], packed: memoryview) -> None:
    written = 0
    while written < len(packed):
        written += file.write(packed[written:])
