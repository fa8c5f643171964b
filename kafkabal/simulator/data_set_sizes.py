"""Sizes and keys of the records of a real data set: the files of a folder, rows, or the entries of a manifest."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from kafkabal.config import Range
from kafkabal.errors import InputFileError, UsageError
from kafkabal.input_files import ROWS, InputFile, open_input
from kafkabal.routing import KeyTable
from kafkabal.simulator.record_batch_format import stored_header_bytes
from kafkabal.simulator.workload import ListedKeys, ListedSizes
from kafkabal.sources import (
    RecordsToSend,
    RowSource,
    UnfinishedRowError,
    check_file_key,
    file_headers,
    file_key,
    files_below,
)
from kafkabal.wording import system_fault

_MANIFEST_KEY = "size_bytes"
# the largest file of ext4; the sum of a chunk's records still fits 64 bits
_SIZE = Range(0, 2**44)
# keys of lines in a `produce` manifest that have no size
_RUN_KEYS = frozenset({"kafkabal_manifest", "part", "through", "void", "state", "checksums", "touched"})
_LONGEST_KEY = 65_536
"""Bytes: a longer one is a mistaken field, not a key. All keys are padded to the longest and hashed at once, which
takes 0.2 s for a key of that length."""
_MOST_KEY_BYTES = 2**30
"""Bytes of the padded keys."""
_KEY_HINT = "name another field with --key"
_FORMAT_HINT = "give a file whose name ends with its format, such as .jsonl, .csv or .parquet, or a folder of files"
_SHOWN_CHARACTERS = 40
"""Characters of a line that an error shows, so that the message stays one line."""
# how `produce` names a record: the header, the manifest's id and the record's number
_NAME, _ID = "kafkabal-record", "0" * 16
_CHECKSUM = "0" * 64
_SAMPLE = 1000
"""Number of files whose headers represent all: paths have some dozens of bytes, so their mean is exact to about a
percent."""


def folder_sizes(folder: Path) -> ListedSizes:
    """Sizes of all files below a folder, as :func:`folder_records` finds them."""
    return folder_records(folder, None)[0]


def folder_records(folder: Path, key: str | None) -> tuple[ListedSizes, ListedKeys | None]:
    """Sizes of all files below a folder, in path order, and their keys if ``path`` or ``label`` is to be one.

    An empty file is a record too, and counts as one byte. The header size is the mean of what ``kafkabal produce``
    gives to such files.

    Raises
    ------
    UsageError
        If files have no such key.
    InputFileError
        If the folder cannot be read, or all its files are empty.
    """
    check_file_key(key)

    def leave_out(path: str, why: str) -> None:
        """Skip it, as ``kafkabal produce`` does, which reports it; fail only if the folder itself cannot be read."""
        if path == f"{folder}/":
            raise InputFileError(folder, why)

    try:
        found = sorted((entry.path, entry.stat().st_size) for entry in files_below(folder, leave_out))
    except OSError as error:
        raise InputFileError(folder, f"cannot read: {system_fault(error)}") from error
    names = [path.removeprefix(f"{folder}/") for path, _ in found]
    some = names[:: len(found) // _SAMPLE + 1]
    own_bytes = [stored_header_bytes(file_headers(name, _CHECKSUM)) for name in some]
    keys = [file_key(name, key) for name in names]
    sizes = [size + len(key or b"") for (_, size), key in zip(found, keys, strict=True)]
    listed = _listed(sizes, folder, sum(own_bytes) / max(len(some), 1))
    return listed, None if key is None else _listed_keys(keys, folder)


def row_records(path: Path, key_field: str | None) -> tuple[ListedSizes, ListedKeys | None]:
    """Sizes and keys of a file's rows, as ``kafkabal produce`` would send them; keys only if a field is named.

    Raises
    ------
    InputFileError
        If it cannot be read, holds no row, a row lacks the field, or keys are too long.
    UsageError
        If its name does not imply the format, or rows of that format have no fields.
    """
    try:
        source = RowSource(path, key_field=key_field)
    except InputFileError:
        raise
    except UsageError as error:  # its hint names options of produce
        if error.hint is None:
            raise
        raise UsageError(error.message, hint=_FORMAT_HINT) from None
    sizes: list[int] = []
    keys: list[bytes | None] = []
    with suppress(UnfinishedRowError):  # all rows before it are sent
        for block in source.blocks(RecordsToSend(index, 0, part) for index, part in enumerate(source.listing().parts)):
            sizes += block.sizes
            if block.keys is not None:
                for at, key in enumerate(block.keys):
                    if key is not None and len(key) > _LONGEST_KEY:
                        message = f"the key is longer than {_LONGEST_KEY:,} bytes ({len(key):,})"
                        raise UsageError(f"{block.name_of(at)}: {message}", hint=_KEY_HINT)
                keys += block.keys
    listed = _listed(sizes, path)
    return listed, _listed_keys(keys, path) if keys else None


def _listed_keys(keys: list[bytes | None], source: Path) -> ListedKeys:
    known: dict[bytes, int] = {}
    rows = [-1 if key is None else known.setdefault(key, len(known)) for key in keys]
    if len(known) * max(map(len, known), default=0) > _MOST_KEY_BYTES:
        message = f"{len(known):,} distinct keys of up to {max(map(len, known)):,} bytes are too many to simulate"
        raise InputFileError(source, message, hint=_KEY_HINT)
    return ListedKeys(np.array(rows, np.int32), KeyTable.of(list(known)))


def manifest_sizes(path: Path) -> ListedSizes:
    """Record sizes from a manifest: one number per line, or JSON objects with ``size_bytes``; 0 counts as 1.

    Other lines that ``kafkabal produce`` writes to its manifest are ignored. The only known header of its records is
    the name that ``kafkabal produce`` gives to each.

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
    # rules out true, which is an int, and 1e3
    if type(found) is int and found in _SIZE:
        yield found
    elif found is not None or not isinstance(content, dict) or not content.keys() & _RUN_KEYS:
        text = line.decode(errors="replace").strip()[:_SHOWN_CHARACTERS]
        raise file.error(f"no record size in {text}: expected a whole number from {_SIZE}")


def _size_in(content: Any) -> Any:
    """The size in a line of a manifest; None if the line has another purpose."""
    if not isinstance(content, dict):
        return content
    if _MANIFEST_KEY in content:
        return content[_MANIFEST_KEY]
    return next(
        (size for value in content.values() if isinstance(value, dict) and (size := _size_in(value)) is not None), None
    )


def _listed(sizes: list[int], source: Path, own_header_bytes: float = 0.0) -> ListedSizes:
    if not sizes:
        raise InputFileError(
            source, "contains no records", hint="name a folder or manifest that lists at least one file"
        )
    name_bytes = stored_header_bytes([(_NAME, f"{_ID}/{len(sizes)}".encode())])
    return ListedSizes(np.maximum(np.array(sizes, np.int64), 1), str(source), own_header_bytes + name_bytes)
