"""Blocks that find no room in memory, in temporary files."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kafkabal.clusters.kafka import LazyRecords, RawRecord
from kafkabal.reader import block_in_temporary_file
from kafkabal.reader.block_in_temporary_file import BlockInTemporaryFile

STEPS: list[list[tuple[int, RawRecord]]] = [
    [(4, (7, 1000, b"k", b"value", b"\0")), (4, (9, 1001, None, None, b"\0"))],
    [],
    [(4, (10, 1002, b"", b"", b"\0")), (5, (11, 1003, None, b"x" * 100, b"\0"))],
]
RECORDS = [record for step in STEPS for record in step]


def _fill(file: BlockInTemporaryFile) -> None:
    for step in STEPS:
        file.add(LazyRecords.of(step))


def _content(file: BlockInTemporaryFile) -> list[tuple[int, RawRecord]]:
    columns = file.columns()
    return list(zip(columns.partition.tolist(), columns, strict=True))


def test_records_come_back_as_they_were(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps in their order, absent keys and values distinct from empty ones; no file is left in the folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with BlockInTemporaryFile() as file:
        _fill(file)
        assert (len(file), file.memory_bytes) == (4, 0)
        content = _content(file)
    assert content == RECORDS
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("written", [0, 1, 4])
def test_records_stay_in_memory_if_the_disk_is_full(monkeypatch: pytest.MonkeyPatch, written: int) -> None:
    """From the first write on, after some records, or when only the table is left: all are there, with a warning."""
    write_all, left = block_in_temporary_file._write_all, iter([True] * written)

    def write(*given: object) -> None:
        if not next(left, False):
            raise OSError(errno.ENOSPC, "No space left on device")
        write_all(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(block_in_temporary_file, "_write_all", write)
    with BlockInTemporaryFile() as file:
        if written == len(RECORDS):
            _fill(file)
        else:
            with pytest.warns(UserWarning, match="cannot write a temporary file: No space left on device; blocks beyo"):
                _fill(file)
        assert bool(file.memory_bytes) == (written < len(RECORDS))
        assert _content(file) == RECORDS
