"""Rows as records, from a file of any format or from standard input."""

from __future__ import annotations

import io
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import msgspec

from kafkabal.errors import InputFileError, UsageError
from kafkabal.input_files import empty_file
from kafkabal.sources.file_store_protocol import FileVersion
from kafkabal.sources.local_files import LocalFile
from kafkabal.sources.record_headers import with_label
from kafkabal.sources.record_parts import RecordParts
from kafkabal.sources.remote_files import RemoteFile
from kafkabal.sources.row_formats import RowFormat, format_by_last_suffix, format_by_name, reader_of
from kafkabal.sources.row_reader_protocol import BadRowError, Fields, Rows, SelectedFields, UnfinishedError, field_of
from kafkabal.sources.source_protocol import (
    Block,
    ChangedRowsError,
    Headers,
    Listing,
    Part,
    RecordSize,
    RecordsToSend,
    RowChecksum,
    UnfinishedRowError,
)
from kafkabal.sources.text_rows import PACKED_SUFFIXES, UNPACK_HINT
from kafkabal.sources.transform import Transform, transform_block
from kafkabal.sources.unclosed_stream import UnclosedStream
from kafkabal.wording import counted_noun, system_fault


@dataclass(slots=True)
class _Read:
    """What has been read of a file of rows."""

    rows: int = 0
    digest: Any = field(default_factory=sha256)
    skipped_bytes: int = 0
    """Since the last block."""

    def add(self, parts: RecordParts) -> None:
        """Add the next rows."""
        parts.add_to(self.digest)
        self.rows += len(parts.values)

    def checksum(self) -> RowChecksum:
        """Of all rows."""
        return RowChecksum(rows=self.rows, sha256=self.digest.hexdigest())


class RowSource:
    """One record per row.

    A line is sent as it is, without its line break; empty lines are skipped. A row of CSV, Parquet or Arrow is sent as
    a JSON object. With ``value_field`` only that field is sent: text as UTF-8, bytes as they are.

    Parameters
    ----------
    file
        None reads ``stream``.
    key_field
        Field to use as the key. Every row must have it; if it is null, the record has no key.
    label_field
        Field to send as the header ``label``; the same rules apply.
    transform
        Makes the value and headers of each record.

    Raises
    ------
    UsageError
        If the name does not imply a format, or a field of plain text is requested.
    """

    def __init__(
        self,
        file: Path | RemoteFile | None,
        *,
        stream: io.BufferedIOBase | None = None,
        row_format: RowFormat | None = None,
        key_field: str | None = None,
        value_field: str | None = None,
        label_field: str | None = None,
        transform: Transform | None = None,
    ) -> None:
        assert (file is None) != (stream is None)
        self._file = LocalFile(file) if isinstance(file, Path) else file
        self._stream = stream
        self._format = row_format or _format_of(self._file)
        self._selected = SelectedFields(key=key_field, value=value_field, label=label_field)
        self._transform = transform
        if self._selected.needs_fields and not self._format.has_fields:
            what = "lines of plain text" if self._format is RowFormat.TEXT else "TFRecord files"
            hint = "use --format jsonl if they are JSON" if self._format is RowFormat.TEXT else None
            raise UsageError(f"{what} have no fields", hint=hint)
        if self._format.needs_seek and file is None:
            what = self._format.value.capitalize()
            raise UsageError(f"cannot read {what} from standard input", hint="give the file name")

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        return self._file.name if self._file else "standard input"

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; a format implied by the name is not included."""
        # of compressed archives the format is part of a manifest, because earlier versions had to be given it
        named = format_by_last_suffix(self._file.file_name if self._file else None)
        given = {
            "--format": None if self._format is named else self._format.value,
            "--key": self._selected.key,
            "--value": self._selected.value,
            "--label": self._selected.label,
            "--transform": self._transform.name if self._transform else None,
        }
        return {option: value for option, value in given.items() if value is not None}

    @property
    def is_keyed(self) -> bool:
        """See :attr:`Source.is_keyed`."""
        return self._selected.key is not None

    @property
    def is_stream(self) -> bool:
        """See :attr:`Source.is_stream`."""
        return self._file is None

    def listing(self) -> Listing:
        """See :meth:`Source.listing`."""
        if self._file is None:
            return Listing([Part(name="-")])
        try:
            version = self._file.version()
        except InputFileError:
            raise
        except OSError as error:
            raise self._unreadable(error) from error
        if not version.size_bytes:
            raise empty_file(self._title)
        return Listing([Part(name=self._file.file_name, size_bytes=version.size_bytes, mtime_ns=version.stamp)])

    def find_too_large(
        self, parts: Iterable[Part], limit_bytes: int, each_block: Callable[[], None]
    ) -> Iterator[RecordSize]:
        """See :meth:`Source.find_too_large`; also finds rows that cannot be sent."""
        if self._file is None:
            return
        for part in parts:
            if not self._needs_reading(part, limit_bytes):
                continue
            with suppress(UnfinishedRowError):  # named once the rows before it are sent
                for block in self._read_blocks([RecordsToSend(0, 0, part)]):
                    each_block()
                    if self._transform is None:  # of other records, the size is known only when they are sent
                        yield from _too_large(block, limit_bytes)

    def _needs_reading(self, part: Part, limit_bytes: int) -> bool:
        """Whether a row may be too large, or one that cannot be sent."""
        if self._selected.needs_fields or not self._format.is_sent_as_read:
            return True
        return self._transform is None and part.size_bytes > limit_bytes and self._has_long_lines(part, limit_bytes)

    def _has_long_lines(self, part: Part, limit_bytes: int) -> bool:
        """Whether a line may exceed the limit; fast, because it only looks for one line break in every half of the
        limit.

        A line above the limit covers at least one such half completely.
        """
        try:
            with self._opened(part) as file:
                while piece := file.read(max(1, limit_bytes // 2)):
                    if b"\n" not in piece:
                        return True
        except OSError as error:
            raise self._unreadable(error) from error
        return False

    def checksum(self, part: Part) -> str | None:  # noqa: ARG002
        """See :meth:`Source.checksum`."""
        return None

    def begins_with(self, part: Part, rows: RowChecksum) -> bool:
        """See :meth:`Source.begins_with`."""
        try:
            # up to the first block after these rows, which comes only if they are unchanged
            with closing(self._read_blocks([RecordsToSend(0, 0, part, rows.rows, rows)])) as blocks:
                next(blocks, None)
        except ChangedRowsError:
            return False
        except UnfinishedRowError:
            return True
        return True

    def blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
        """See :meth:`Source.blocks`; rows that are appended meanwhile are included."""
        with closing(self._read_blocks(to_send)) as blocks:
            for block in blocks:
                yield block if self._transform is None else transform_block(block, self._transform)

    def _read_blocks(self, to_send: Iterable[RecordsToSend]) -> Generator[Block, None, None]:
        """The blocks before their transform, which sees each row only once, when it is sent."""
        for each in to_send:
            with self._opened(each.part) as file:
                sent = yield from self._blocks(each, file)
                self._check_begins_with_sent(each.part, sent)

    def _blocks(self, to_send: RecordsToSend, file: IO[bytes]) -> Generator[Block, None, RowChecksum]:
        """Rows as blocks; skipped rows are compared with their checksum, as far as it goes."""
        read = _Read()
        known = to_send.rows or read.checksum()
        try:
            for rows in self._rows(file, to_send.part.size_bytes):
                left = self._skip_sent(rows, to_send.start, known, read)
                if not left.texts:
                    continue
                block, fault = self._block(left, to_send.first, read)
                if block.values:
                    yield block
                if fault is not None:
                    raise fault
        except UnfinishedRowError:
            if read.rows >= known.rows:
                raise
        if read.rows < known.rows:
            raise self._changed_rows_error(known, read.rows)
        if read.skipped_bytes:
            yield Block(numbers=(), values=[], sizes=[], name_of=str, skipped_bytes=read.skipped_bytes)
        return read.checksum()

    def _skip_sent(self, rows: Rows, start: int, known: RowChecksum, read: _Read) -> Rows:
        """Those of some rows that are not before ``start``."""
        for end in (known.rows, start):
            if read.rows < end and rows.texts:
                before, rows = rows.cut(end - read.rows)
                parts, fault = self._parts(before)
                if fault is not None:
                    raise fault
                read.add(parts)
                read.skipped_bytes += before.n_bytes
            if read.rows == end == known.rows and read.checksum() != known:
                raise self._changed_rows_error(known)
        if not rows.texts:
            read.skipped_bytes += rows.n_bytes
        return rows

    def _block(self, rows: Rows, first_number: int, read: _Read) -> tuple[Block, InputFileError | None]:
        """A block of the rows up to the first one that cannot be sent, and the reason."""
        parts, fault = self._parts(rows)
        places = rows.places  # the rows themselves may be freed once they are sent
        first, rows_before = read.rows, _checksums_within(parts, read.digest.copy(), read.rows)
        read.add(parts)
        block = Block(
            numbers=range(first_number + first, first_number + read.rows),
            values=parts.values,
            sizes=parts.sizes(),
            keys=parts.keys,
            headers=parts.headers,
            name_of=lambda at: self._row_name(places[at]),
            progress_bytes=rows.n_bytes,
            skipped_bytes=read.skipped_bytes,
            rows=read.checksum(),
            rows_before=rows_before,
        )
        read.skipped_bytes = 0
        return block, fault

    def _parts(self, rows: Rows) -> tuple[RecordParts, InputFileError | None]:
        """Parts of the records up to the first row that cannot be sent, and the reason."""
        if rows.fields is None or not self._selected.needs_fields:
            return RecordParts(rows.texts, None, rows.headers, rows.joined), None
        key, value, label = self._selected.key, self._selected.value, self._selected.label
        keys: list[bytes | None] = []
        values: list[bytes] = []
        headers: list[Headers] = []
        fault = None
        try:
            for at, (text, fields) in enumerate(zip(rows.texts, rows.fields, strict=True)):
                place = rows.places[at]
                row_key = None if key is None else self._optional_field(fields, key, "key field", place)
                row_value = text if value is None else self._required_field(fields, value, place)
                row_headers = [] if rows.headers is None else rows.headers[at]
                if label is not None:
                    row_headers = with_label(row_headers, self._optional_field(fields, label, "label field", place))
                keys.append(row_key)
                values.append(row_value)
                headers.append(row_headers)
        except InputFileError as error:
            fault = error
        has_headers = label is not None or rows.headers is not None
        return RecordParts(values, None if key is None else keys, headers if has_headers else None), fault

    def _changed_rows_error(self, known: RowChecksum, found: int | None = None) -> ChangedRowsError:
        if found is None:
            what = f"rows 1 to {known.rows} are not the rows that were sent before"
        else:
            what = f"it ends after {counted_noun(found, 'row')}; {known.rows} were sent before"
        again = "" if self._file is None else "add --resend to send the whole file again, or "
        return ChangedRowsError(
            self._title,
            what,
            hint=f"{again}send the same rows, or start a new manifest with --manifest FILE",
        )

    def _opened(self, part: Part) -> IO[bytes]:
        if self._stream is not None:
            return io.BufferedReader(UnclosedStream(self._stream))
        assert self._file is not None
        try:
            file = self._file.open()
        except OSError as error:
            raise self._unreadable(error) from error
        if not self._has_grown(part):
            self._check_unchanged(part)
        return file

    def _has_grown(self, part: Part) -> bool:
        """Whether a file that can be appended to has become longer; that its beginning is the same is checked later."""
        return not self._format.needs_seek and self._version().size_bytes > part.size_bytes

    def _check_unchanged(self, part: Part) -> None:
        if self._file is not None and self._version() != (part.size_bytes, part.mtime_ns):
            raise self._error("changed while it was being sent")

    def _check_begins_with_sent(self, part: Part, sent: RowChecksum) -> None:
        """Check that the file still begins with what was sent; appended rows do not count as a change."""
        try:
            self._check_unchanged(part)
        except InputFileError:
            if not self._has_grown(part):
                raise
            size_bytes, stamp = self._version()
            if not self.begins_with(Part(name=part.name, size_bytes=size_bytes, mtime_ns=stamp), sent):
                raise

    def _version(self) -> FileVersion:
        assert self._file is not None
        try:
            return self._file.version()
        except OSError as error:
            raise self._unreadable(error) from error

    def _rows(self, file: IO[bytes], size_bytes: int) -> Iterator[Rows]:
        try:
            yield from reader_of(self._format)(file, size_bytes, self._selected)
        except BadRowError as error:
            if error.place is None:
                raise self._error(error.message, hint=error.hint) from error
            kind = UnfinishedRowError if isinstance(error, UnfinishedError) else InputFileError
            raise self._row_error(error.place, error.message, hint=error.hint, kind=kind) from error
        except OSError as error:
            raise self._unreadable(error) from error

    def _optional_field(self, fields: Fields, name: str, what: str, number: int) -> bytes | None:
        try:
            found = field_of(fields, name)
        except KeyError:
            hint = f"use null for rows without a {what.partition(' ')[0]}"
            raise self._row_error(number, f"missing {what} {name!r}", hint=hint) from None
        return None if found is None else self._as_bytes(found, name, number)

    def _required_field(self, fields: Fields, name: str, number: int) -> bytes:
        try:
            found = field_of(fields, name)
        except KeyError:
            raise self._row_error(number, f"missing field {name!r}") from None
        if found is None:
            raise self._row_error(number, f"field {name!r} is null, and cannot be the value of a record")
        return self._as_bytes(found, name, number)

    def _as_bytes(self, value: Any, field: str, number: int) -> bytes:
        if isinstance(value, bytes):
            return value
        if isinstance(value, str):
            return value.encode("utf-8", "surrogateescape")  # a name in an archive need not be UTF-8
        if isinstance(value, bool):
            return msgspec.json.encode(value)
        if isinstance(value, int | float | Decimal):
            return str(value).encode()
        raise self._row_error(number, f"field {field!r} must be text, a number or bytes")

    @property
    def _title(self) -> str:
        return str(self._file or "standard input")

    def _row_name(self, number: int) -> str:
        return f"{self._title}, {self._format.unit} {number}"

    def _unreadable(self, error: OSError) -> InputFileError:
        return self._error(f"cannot read: {system_fault(error)}")

    def _error(self, message: str, *, hint: str | None = None) -> InputFileError:
        return InputFileError(self._title, message, hint=hint)

    def _row_error(
        self, number: int, message: str, *, hint: str | None = None, kind: type[InputFileError] = InputFileError
    ) -> InputFileError:
        if self._format.unit != "line":
            return kind(self._title, f"{self._format.unit} {number}: {message}", hint=hint)
        return kind(self._title, message, line=number, hint=hint)


def _checksums_within(parts: RecordParts, before: Any, first: int) -> Callable[[int], RowChecksum]:
    """Checksums of all rows before any of some parts, made when they are asked for; ``before`` covers those before the
    first part, which has this number."""

    def rows_before(number: int) -> RowChecksum:
        digest = before.copy()
        parts.first(number - first).add_to(digest)
        return RowChecksum(rows=number, sha256=digest.hexdigest())

    return rows_before


def _too_large(block: Block, limit_bytes: int) -> Iterator[RecordSize]:
    if max(block.sizes, default=0) > limit_bytes:
        for at, size_bytes in enumerate(block.sizes):
            if size_bytes > limit_bytes:
                yield RecordSize(block.name_of(at), size_bytes)


def _format_of(file: LocalFile | RemoteFile | None) -> RowFormat:
    found = format_by_name(file.file_name if file else None)
    if found is None:
        _check_readable(file)
        if str(file).lower().endswith(PACKED_SUFFIXES):
            raise InputFileError(str(file), "is compressed", hint=UNPACK_HINT)
        known = ", ".join(f.value for f in RowFormat)
        raise UsageError(
            f"{file}: unknown file format",
            hint=f"add --format, one of {known}; to send whole files as records, name their folder",
        )
    return found


def _check_readable(file: LocalFile | RemoteFile | None) -> None:
    """Check that there is a file, before its name is blamed.

    Raises
    ------
    InputFileError
        If it cannot be read, or is not a regular file.
    """
    try:
        if file is not None:
            file.version()
    except OSError as error:
        raise InputFileError(str(file), f"cannot read: {system_fault(error)}") from error
