"""Sizes and keys of the records of a real data set: the files of a folder, rows, or what a manifest lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kafkabal.config import Range
from kafkabal.errors import InputFileError
from kafkabal.input_files import ROWS, InputFile, open_input
from kafkabal.routing import KeyTable
from kafkabal.simulator.record_batch_format import headers_bytes
from kafkabal.simulator.workload import ListedKeys, ListedSizes
from kafkabal.sources import RowSource, WantedRecords, file_headers, files_below

_MANIFEST_KEY = "size_bytes"
# the largest file of ext4; the records of a chunk still add up in 64 bits
_SIZE = Range(0, 2**44)
# what lines of a manifest of produce have that have no size
_OF_A_RUN = frozenset({"kafkabal_manifest", "part", "through", "void", "state", "checksums", "touched"})
_SHOWN = 40
"""Characters of a line that an error shows, so that the message stays one line."""
# what produce names a record with: header, and id of the manifest and number of the record
_NAME, _ID = "kafkabal-record", "0" * 16
_CHECKSUM = "0" * 64
_SAMPLE = 1000
"""Files whose headers stand for those of all: paths are some dozens of bytes, of which the mean of so many is right to
a percent or so."""


def folder_sizes(folder: Path) -> ListedSizes:
    """Bytes of all files below a folder, in the order of their paths; an empty one is a record, and counts as a byte.

    Headers are those that ``kafkabal produce`` gives to such files, on average.

    Raises
    ------
    InputFileError
        If it cannot be read or holds no file with anything in it.
    """

    def leave_out(path: str, why: str) -> None:
        """As ``kafkabal produce`` does, which names it; without the folder itself nothing can be said."""
        if path == str(folder):
            raise InputFileError(folder, why)

    try:
        found = sorted((entry.path, entry.stat().st_size) for entry in files_below(folder, leave_out))
    except OSError as error:
        raise InputFileError(folder, f"cannot read: {error.strerror or error}") from error
    some = [path.removeprefix(f"{folder}/") for path, _ in found[:: len(found) // _SAMPLE + 1]]
    own_bytes = [headers_bytes(file_headers(name, _CHECKSUM)) for name in some]
    return _listed([size for _, size in found], folder, sum(own_bytes) / max(len(some), 1))


def row_records(path: Path, key_field: str | None) -> tuple[ListedSizes, ListedKeys | None]:
    """Sizes and keys of the rows of a file, as ``kafkabal produce`` would send them; keys if a field is named.

    Raises
    ------
    InputFileError
        If it cannot be read, holds no row, or a row lacks the field.
    UsageError
        If its name does not show the format, or rows of that format have no fields.
    """
    source = RowSource(path, key_field=key_field)
    sizes: list[int] = []
    rows: list[int] = []
    known: dict[bytes, int] = {}
    for block in source.blocks(WantedRecords(index, 0, part) for index, part in enumerate(source.listing().parts)):
        sizes += block.sizes
        if block.keys is not None:
            rows += [-1 if key is None else known.setdefault(key, len(known)) for key in block.keys]
    keys = ListedKeys(np.array(rows, np.int32), KeyTable.of(list(known))) if rows else None
    return _listed(sizes, path), keys


def manifest_sizes(path: Path) -> ListedSizes:
    """Bytes of the records of a manifest: a number a line, or JSON objects in which ``size_bytes`` stands; 0 is 1.

    What else ``kafkabal produce`` notes of a run in its manifest is ignored.

    The only header that is known of its records is the name that ``kafkabal produce`` gives to each.

    Raises
    ------
    InputFileError
        If it cannot be read, a line has no valid record size, or it lists nothing.
    """
    decoder = msgspec.json.Decoder()
    with open_input(path, ROWS) as file:
        sizes = [size for line in file.lines() if line.strip() for size in _line_sizes(file, decoder, line)]
    return _listed(sizes, path)


def _line_sizes(file: InputFile, decoder: msgspec.json.Decoder[Any], line: bytes) -> Iterator[int]:
    content = file.decode(decoder, line, "neither a number nor JSON")
    found = _size_in(content)
    # neither true, which is an int, nor 1e3
    if type(found) is int and found in _SIZE:
        yield found
    elif found is not None or not isinstance(content, dict) or not content.keys() & _OF_A_RUN:
        text = line.decode(errors="replace").strip()[:_SHOWN]
        raise file.error(f"no record size in {text}: expected a whole number from {_SIZE}")


def _size_in(content: Any) -> Any:
    """What a line of a manifest gives as a size; None if it is about something else."""
    if not isinstance(content, dict):
        return content
    if _MANIFEST_KEY in content:
        return content[_MANIFEST_KEY]
    return next(
        (size for value in content.values() if isinstance(value, dict) and (size := _size_in(value)) is not None), None
    )


def _listed(sizes: list[int], source: Path, own_header_bytes: float = 0.0) -> ListedSizes:
    if not sizes:
        raise InputFileError(source, "contains nothing to send")
    name_bytes = headers_bytes([(_NAME, f"{_ID}/{len(sizes)}".encode())])
    return ListedSizes(np.maximum(np.array(sizes, np.int64), 1), str(source), own_header_bytes + name_bytes)
