"""Rows of text files: lines, JSON Lines and CSV."""

from __future__ import annotations

import csv
import json
import sys
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import IO, Any, Final

import msgspec

from kafkabal.decoding_faults import json_fault
from kafkabal.json_decoders import json_decoder
from kafkabal.sources.row_reader_protocol import (
    MOST_RECORD_BYTES,
    BadRowError,
    Fields,
    Rows,
    SelectedFields,
    UnfinishedError,
    check_columns,
)

# bytes per read: its lines are sent as one block. 200,000 rows of 1 kB take 1.13 times as long as a bare loop with half
# of it, 1.00 times with this and 1.27 with twice as much (ten pairs in turn, mock brokers, 2026-11)
_READ_BYTES = 1 << 19
_MOST_BLOCK_BYTES: Final = 1 << 21
"""Where reads end within rows of several lines, a block this large is sent without waiting for one that does not."""
_PACKED: Final = (b"\x1f\x8b\x08", b"BZh91AY&SY", b"\xfd7zXZ\0", b"\x28\xb5\x2f\xfd")
"""How files of gzip, bzip2, xz and zstd begin."""
PACKED_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst")
"""How their names end."""
UNPACK_HINT: Final = "decompress it, for example: zcat FILE.gz > FILE"

_CONVERT_HINT: Final = "convert it, for example: iconv -f UTF-16 -t UTF-8 FILE > NEW_FILE"


def text_lines(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:  # noqa: ARG001
    """One row per line."""
    yield from _lines(file, size_bytes)


def json_lines(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:
    """One JSON object per line, which is parsed only if fields are selected.

    Raises
    ------
    UnfinishedError
        If a file ends with a line without line break that is not JSON.
    """
    if not selected.needs_fields:
        yield from _lines(file, size_bytes, is_whole=_is_json)
        return
    decode = json_decoder(dict[str, Any]).decode
    for rows in _lines(file, size_bytes, is_whole=_is_json):
        fields: list[Fields] = []
        try:
            for text in rows.texts:
                fields.append(decode(text))  # noqa: PERF401 - its length at an error gives the line
        except (ValueError, RecursionError) as error:  # includes the errors of msgspec and of UTF-8
            done = len(fields)
            if done:
                yield Rows(rows.texts[:done], fields, rows.places[:done], 0)
            fault = json_fault(error, rows.texts[done])
            raise BadRowError(rows.places[done], f"is not a JSON object: {fault}") from error
        yield rows._replace(fields=fields)


def _is_json(line: bytes) -> bool:
    """Whether a line is a JSON value for any reader: one that is only unusual will not become longer."""
    try:
        json.loads(line.decode("utf-8", "surrogateescape"), strict=False)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def csv_rows(file: IO[bytes], size_bytes: int, selected: SelectedFields) -> Iterator[Rows]:
    """Each CSV row as a JSON object; the first line names the fields.

    Raises
    ------
    UnfinishedError
        If a file ends within quotes, or with a line without line break that has too few fields.
    """
    csv.field_size_limit(min(sys.maxsize, 1 << 30))
    lines = _CsvLines(file, size_bytes)
    reader = csv.DictReader(lines, strict=True)
    texts: list[bytes] = []
    fields: list[Fields] = []
    places: list[int] = []
    counted_bytes = ended_lines = 0
    fault = None
    try:
        check_columns(reader.fieldnames or (), selected)
        ended_lines = reader.line_num
        for row in reader:
            if None in row or None in row.values():
                is_cut = None not in row and lines.is_cut
                differs = BadRowError(reader.line_num, "number of fields differs from the first line")
                fault = UnfinishedError(ended_lines + 1) if is_cut else differs
                break
            ended_lines = reader.line_num
            texts.append(msgspec.json.encode(row))
            fields.append(row)
            places.append(ended_lines)
            # more input may take long to arrive; and where most lines end within quotes, so do most reads
            if not lines.waiting or lines.read_bytes - counted_bytes > _MOST_BLOCK_BYTES:
                yield Rows(texts, fields, places, lines.read_bytes - counted_bytes)
                counted_bytes, texts, fields, places = lines.read_bytes, [], [], []
    except csv.Error as error:
        if not lines.has_ended or not size_bytes:
            fault = BadRowError(lines.number, f"is not CSV: {error}")
        elif not lines.has_grown:  # else the next run reads the row within which the quotes are open
            fault = UnfinishedError(ended_lines + 1)
    except UnicodeDecodeError:
        fault = BadRowError(lines.number, "is not CSV: it is not in UTF-8")
    if texts or lines.read_bytes > counted_bytes:
        yield Rows(texts, fields, places, lines.read_bytes - counted_bytes)
    if fault is not None:
        raise fault


class _CsvLines:
    """Lines of a file, decoded one by one: decoding ahead of the rows could not tell which line is not UTF-8."""

    def __init__(self, file: IO[bytes], size_bytes: int) -> None:
        self._pieces = _whole_lines(file, size_bytes)
        self._is_file = size_bytes > 0
        self._lines: list[bytes] = []
        self._last = b""
        self.number = 0
        self.read_bytes = 0
        self.has_ended = self.has_grown = False

    @property
    def waiting(self) -> int:
        """Lines that were read but not requested yet."""
        return len(self._lines)

    @property
    def is_cut(self) -> bool:
        """Whether the last line requested has no line break, so that the writer of the file may add to it."""
        return self._is_file and not self._last.endswith((b"\n", b"\r"))

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        while not self._lines:
            try:
                piece = next(self._pieces)
            except StopIteration as end:
                self.has_ended, self.has_grown = True, bool(end.value)
                raise
            self.read_bytes += len(piece)
            self._lines = piece.splitlines(keepends=True)[::-1]
        self.number += 1
        self._last = self._lines.pop()
        return self._last.decode("utf-8-sig" if self.number == 1 else "utf-8")


def _whole_lines(file: IO[bytes], size_bytes: int) -> Generator[bytes, None, bool]:
    """Yield the whole lines of each read; a partial line is prepended to the next. Returns whether the file has grown
    beyond its given size.

    The last line needs no line break, unless the file has grown: then its writer may not have finished the line, and a
    later run reads all of it.

    Raises
    ------
    BadRowError
        If the file is compressed or in UTF-16: its bytes between line breaks would be sent as if they were rows. If it
        ends before its size: part of a line would be sent as a row. If a line is longer than any record, and perhaps
        than memory.
    """
    pieces: list[bytes] = []
    read_bytes = ended_bytes = 0
    start: bytes = file.peek(1)  # type: ignore[attr-defined]
    if start.startswith(_PACKED):
        raise BadRowError(None, "is compressed", UNPACK_HINT)
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        raise BadRowError(None, "is in UTF-16", _CONVERT_HINT)
    while data := file.read1(_READ_BYTES):  # type: ignore[attr-defined]
        read_bytes += len(data)
        end = data.rfind(b"\n") + 1
        if end:
            yield b"".join([*pieces, memoryview(data)[:end]])  # a slice of bytes would be another copy
            pieces = [data[end:]] if end < len(data) else []
            ended_bytes = read_bytes - len(data) + end
        else:
            pieces.append(data)
        if read_bytes - ended_bytes > MOST_RECORD_BYTES:
            raise BadRowError(None, f"the line after {ended_bytes:,} bytes is longer than any record may be")
    if read_bytes < size_bytes:
        raise BadRowError(None, f"ended after {read_bytes:,} of {size_bytes:,} bytes")
    has_grown = read_bytes > size_bytes > 0
    if pieces and not has_grown:
        yield b"".join(pieces)
    return has_grown


def _lines(file: IO[bytes], size_bytes: int, is_whole: Callable[[bytes], bool] = lambda _line: True) -> Iterator[Rows]:
    """One row per line; a last line without line break must be whole if it is that of a file."""
    number = 1
    for piece in _whole_lines(file, size_bytes):
        n_bytes = len(piece)
        if number == 1:
            piece = piece.removeprefix(BOM_UTF8)
        lines = piece.split(b"\n")
        if size_bytes and lines[-1] and not is_whole(lines[-1]):
            raise UnfinishedError(number)
        joined = None if lines[-1] else piece
        if not lines[-1]:
            lines.pop()
        if b"\r" in piece:
            lines, joined = [line.removesuffix(b"\r") for line in lines], None
        places: Sequence[int] = range(number, number + len(lines))
        number += len(lines)
        if b"" in lines:
            places = [place for place, line in zip(places, lines, strict=True) if line]
            lines, joined = [line for line in lines if line], None
        yield Rows(lines, None, places, n_bytes, joined=joined)
