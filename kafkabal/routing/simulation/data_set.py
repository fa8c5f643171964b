"""Sizes of the records of a real data set: the files of a folder, or what a manifest lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from kafkabal.errors import InputFileError
from kafkabal.routing.producer.sources.folder import file_headers, files_below
from kafkabal.routing.simulation.log_format import headers_bytes
from kafkabal.routing.simulation.workload import ListedSizes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_MANIFEST_KEY = "size_bytes"
# what produce names a record with: header, and id of the manifest and number of the record
_NAME, _ID = "kafkabal-record", "0" * 16
_CHECKSUM = "0" * 64
# files whose headers stand for those of all
_SAMPLE = 1000


def folder_sizes(folder: Path) -> ListedSizes:
    """Bytes of all files below a folder, in the order of their paths; an empty one is a record, and counts as a byte.

    Headers are those that ``kafkabal produce`` gives to such files, on average.

    Raises
    ------
    InputFileError
        If it cannot be read or holds no file with anything in it.
    """
    try:
        found = sorted((entry.path, entry.stat().st_size) for entry in files_below(folder))
    except OSError as error:
        raise InputFileError(folder, f"cannot be read: {error.strerror or error}") from error
    some = [path.removeprefix(f"{folder}/") for path, _ in found[:: len(found) // _SAMPLE + 1]]
    own_bytes = [headers_bytes(file_headers(name, _CHECKSUM)) for name in some]
    return _listed([size for _, size in found], folder, sum(own_bytes) / max(len(some), 1))


def manifest_sizes(path: Path) -> ListedSizes:
    """Bytes of the records of a manifest: a number a line, or JSON objects in which ``size_bytes`` stands; 0 is 1.

    The only header that is known of its records is the name that ``kafkabal produce`` gives to each.

    Raises
    ------
    InputFileError
        If it cannot be read, a line is neither, or it lists nothing.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise InputFileError(path, f"cannot be read: {error.strerror or error}") from error
    sizes = [size for number, line in enumerate(lines, 1) if line.strip() for size in _line_sizes(path, number, line)]
    return _listed(sizes, path)


def _line_sizes(path: Path, number: int, line: bytes) -> Iterator[int]:
    try:
        content = msgspec.json.decode(line)
    except msgspec.DecodeError:
        raise InputFileError(path, "is neither a number nor JSON", line=number) from None
    found = _size_in(content)
    if found is not None and found >= 0:
        yield found


def _size_in(content: Any) -> int | None:
    """The size in a line of a manifest; None in one that tells of something else."""
    if isinstance(content, int):
        return content
    if not isinstance(content, dict):
        return None
    if isinstance(content.get(_MANIFEST_KEY), int):
        return int(content[_MANIFEST_KEY])
    return next(
        (size for value in content.values() if isinstance(value, dict) and (size := _size_in(value)) is not None), None
    )


def _listed(sizes: list[int], source: Path, own_header_bytes: float = 0.0) -> ListedSizes:
    if not sizes:
        raise InputFileError(source, "holds nothing to send")
    name_bytes = headers_bytes([(_NAME, f"{_ID}/{len(sizes)}".encode())])
    return ListedSizes(np.maximum(np.array(sizes, np.int64), 1), str(source), own_header_bytes + name_bytes)
