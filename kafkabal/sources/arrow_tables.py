"""Reads rows of Parquet and Arrow files with pyarrow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from importlib import import_module
from sys import getrefcount
from time import monotonic, sleep
from typing import IO, Any, Final

import msgspec

from kafkabal.errors import UsageError
from kafkabal.sources.row_reader_protocol import BadRowError, Fields, Rows, SelectedFields, check_columns, is_read_error

_ROWS_A_BATCH = 1024
"""A batch of rows of a few kB fits the cache; single rows would each cost an Arrow call."""
# a thread of pyarrow takes microseconds to free what it has read; longer only on a machine that is very busy
_FREED_WITHIN_S: Final = 1.0
_OWN_REFERENCES: Final = 2
"""The attribute, and the argument of ``getrefcount``."""


def parquet_rows(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:
    """Rows of a Parquet file; without a value field, each row is sent as a JSON object with bytes in base64.

    Raises
    ------
    UsageError
        If pyarrow is not installed.
    BadRowError
        If the file is not Parquet, or lacks a column.
    """
    _, _, parquet = _pyarrow("Parquet")

    def opened() -> tuple[list[str], int, Iterable[Any]]:
        table = parquet.ParquetFile(file)
        names = table.schema_arrow.names
        batches = table.iter_batches(_ROWS_A_BATCH, columns=selected.columns(names))
        return names, table.metadata.num_rows, batches

    yield from _rows("Parquet", opened, file, size_bytes, selected)


def arrow_rows(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:
    """Rows of an Arrow IPC file or stream; see :func:`parquet_rows`."""
    pyarrow, ipc, _ = _pyarrow("Arrow")
    footer = _WatchedFile(file)

    def opened() -> tuple[list[str], int, Iterable[Any]]:
        try:
            table = ipc.open_file(footer)
        except pyarrow.ArrowInvalid:  # a stream has no footer
            footer.await_freed()
            file.seek(0)
            stream = ipc.open_stream(file)
            return stream.schema.names, 0, _cut(stream, selected.columns(stream.schema.names))
        batches = (table.get_batch(number) for number in range(table.num_record_batches))
        return table.schema.names, 0, _cut(batches, selected.columns(table.schema.names))

    yield from _rows("Arrow", opened, file, size_bytes, selected)


class _WatchedFile:
    """A file that knows when pyarrow has freed what it read.

    pyarrow reads a footer in a thread of its own, which frees it after the caller has its error. If Python ends before
    that, it aborts the process.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self.seek, self.tell, self.closed = file.seek, file.tell, False
        self._file = file
        self._last = b""

    def read(self, n_bytes: int = -1) -> bytes:
        """As of the file."""
        self._last = self._file.read(n_bytes)
        return self._last

    def await_freed(self) -> None:
        """Wait until no other thread holds what was read last."""
        end_s = monotonic() + _FREED_WITHIN_S
        while self._last and getrefcount(self._last) > _OWN_REFERENCES and monotonic() < end_s:
            sleep(0)  # the thread needs Python's lock


def _rows(what: str, opened: Any, file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:
    from pyarrow import ArrowException

    is_open, number, done_bytes = False, 0, 0
    try:
        columns, n_rows, batches = opened()
        is_open = True
        check_columns(columns, selected)
        for batch in batches:
            fields = _python_rows(batch, number + 1)
            texts = [b""] * len(fields) if selected.value else _encoded(fields, number + 1)
            places = range(number + 1, number + len(fields) + 1)
            number += len(fields)
            read_bytes = max(done_bytes, size_bytes * number // n_rows if n_rows else file.tell())
            yield Rows(texts, fields, places, read_bytes - done_bytes)
            done_bytes = read_bytes
        if size_bytes > done_bytes:  # what comes after the last row, such as a footer
            yield Rows([], [], (), size_bytes - done_bytes)
    except (ArrowException, OSError) as error:
        if is_read_error(error):
            raise
        reason = str(error).partition("\n")[0]
        # a schema or footer that cannot be read belongs to no row
        raise BadRowError(number + 1 if is_open else None, f"is not {what}, or damaged: {reason}") from error


def _cut(batches: Iterable[Any], columns: list[str] | None) -> Iterator[Any]:
    """These columns, in batches of at most the given number of rows: those of an Arrow file can have any size.

    They are validated first: in a damaged file, pyarrow follows offsets wherever they point, and the process crashes.
    """
    for batch in batches:
        batch.validate(full=True)
        batch = batch if columns is None else batch.select(columns)
        for start in range(0, batch.num_rows, _ROWS_A_BATCH):
            yield batch.slice(start, _ROWS_A_BATCH)


def _python_rows(batch: Any, number: int) -> list[Fields]:
    try:
        rows: list[Fields] = batch.to_pylist()
    except (ValueError, OverflowError) as error:  # such as duplicate field names within a column
        if "Install pandas" in str(error):
            raise BadRowError(number, "times in nanoseconds require pandas", "pip install pandas") from error
        raise BadRowError(number, f"cannot read: {error}") from error
    return rows


def _encoded(rows: list[Fields], number: int) -> list[bytes]:
    texts: list[bytes] = []
    try:
        for row in rows:
            texts.append(msgspec.json.encode(row, enc_hook=_without_pandas))  # noqa: PERF401 - counts up to an error
    except TypeError as error:
        raise BadRowError(number + len(texts), f"cannot be sent as a JSON object: {error}") from error
    return texts


def _without_pandas(value: Any) -> Any:
    """A time or duration that pyarrow gives as pandas' type, if that is installed, as it would be without pandas; its
    text if Python's own types do not hold its nanoseconds."""
    if isinstance(value, datetime):
        exact: Any = value
        text = exact.isoformat()
        utc = text.endswith("+00:00")
        return exact.to_pydatetime() if not exact.nanosecond else text.removesuffix("+00:00") + "Z" * utc
    if isinstance(value, timedelta):
        exact = value
        return exact.to_pytimedelta() if not exact.nanoseconds else exact.isoformat()
    raise TypeError(f"no JSON for {type(value).__name__}")


def _pyarrow(what: str) -> Any:
    try:
        return import_module("pyarrow"), import_module("pyarrow.ipc"), import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError(f"reading {what} requires pyarrow", hint="pip install 'kafkabal[parquet]'") from None
