"""A data set as a folder: a record a file, or several where files are split; the label is the first sub-folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import IO, Final

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.source_protocol import Headers, Part, Record, RecordSize

PATH_HEADER: Final = "path"
LABEL_HEADER: Final = "label"
CHECKSUM_HEADER: Final = "sha256"
CHUNK_HEADER: Final = "chunk"
KEYS: Final = ("path", "label")

_READ_BYTES = 1 << 20


class FolderSource:
    """All files below a folder, by name; links to folders are not followed.

    Every record carries the headers ``path`` (within the folder, with ``/``), ``label`` (first sub-folder, absent for
    files at the top), ``sha256`` (of the whole file, in hex) and, where a file is split, ``chunk`` (``2/5``).

    Parameters
    ----------
    key
        ``path``, ``label`` or None.
    chunk_bytes
        Larger files are split into records of so many bytes; None splits nothing.

    Raises
    ------
    UsageError
        If ``key`` is neither.
    """

    def __init__(self, root: Path, *, key: str | None = None, chunk_bytes: int | None = None) -> None:
        if key is not None and key not in KEYS:
            raise UsageError(f"files have no {key!r} to take as a key", hint=f"there are: {', '.join(KEYS)}")
        self._root = root
        self._key = key
        self._chunk_bytes = chunk_bytes

    @property
    def name(self) -> str:
        """See :attr:`Source.name`."""
        split = f" in chunks of {self._chunk_bytes}" if self._chunk_bytes else ""
        return f"folder {self._root.resolve()}{split}"

    @property
    def options(self) -> Mapping[str, str]:
        """See :attr:`Source.options`; the size of chunks is part of the name."""
        return {} if self._key is None else {"--key": self._key}

    @property
    def is_keyed(self) -> bool:
        """See :attr:`Source.is_keyed`."""
        return self._key is not None

    def parts(self) -> Sequence[Part]:
        """See :meth:`Source.parts`."""
        if not self._root.is_dir():
            raise InputFileError(self._root, "is no folder")
        try:
            found = sorted(map(self._part, files_below(self._root)), key=lambda part: part.name)
        except OSError as error:
            raise InputFileError(error.filename or self._root, f"cannot be read: {error.strerror or error}") from error
        if not found:
            raise InputFileError(self._root, "is empty: there is no file in it")
        return found

    def sizes(self, part: Part) -> Iterator[RecordSize]:
        """See :meth:`Source.sizes`."""
        largest = min(part.size_bytes, self._chunk_bytes or part.size_bytes)
        headers = self._headers(part, "0" * 64, part.records)
        around = sum(len(name) + len(value or b"") for name, value in headers) + len(self._key_of(part) or b"")
        yield RecordSize(str(self._root / part.name), largest + around, around)

    def records(self, part: Part, start: int) -> Iterator[Record]:
        """See :meth:`Source.records`."""
        path = self._root / part.name
        try:
            with path.open("rb") as file:
                _expect_unchanged(file, path, part)
                yield from self._whole(file, path, part) if part.records == 1 else self._chunks(file, path, part, start)
        except OSError as error:
            raise InputFileError(path, f"cannot be read: {error.strerror or error}") from error

    def _part(self, entry: os.DirEntry[str]) -> Part:
        if not os.access(entry.path, os.R_OK):
            raise InputFileError(entry.path, "cannot be read: permission denied")
        stat = entry.stat()
        chunk_bytes = self._chunk_bytes or stat.st_size
        return Part(
            name=Path(entry.path).relative_to(self._root).as_posix(),
            size_bytes=stat.st_size,
            mtime_ns=stat.st_mtime_ns,
            records=max(1, -(-stat.st_size // chunk_bytes)) if stat.st_size else 1,
        )

    def _whole(self, file: IO[bytes], path: Path, part: Part) -> Iterator[Record]:
        value = file.read()
        _expect_unchanged(file, path, part)
        headers = self._headers(part, sha256(value).hexdigest(), 1)
        yield Record(str(path), value, self._key_of(part), headers, part.size_bytes)

    def _chunks(self, file: IO[bytes], path: Path, part: Part, start: int) -> Iterator[Record]:
        assert self._chunk_bytes is not None
        checksum = _checksum(file)
        _expect_unchanged(file, path, part)
        file.seek(start * self._chunk_bytes)
        for number in range(start, part.records):
            value = file.read(self._chunk_bytes)
            _expect_unchanged(file, path, part)
            chunk = f"{number + 1}/{part.records}"
            headers = [*self._headers(part, checksum, 1), (CHUNK_HEADER, chunk.encode())]
            skipped = start * self._chunk_bytes if number == start else 0
            yield Record(f"{path}, chunk {chunk}", value, self._key_of(part), headers, len(value), skipped)

    def _headers(self, part: Part, checksum: str, records: int) -> Headers:
        headers = file_headers(part.name, checksum)
        if records > 1:
            headers.append((CHUNK_HEADER, f"{records}/{records}".encode()))
        return headers

    def _key_of(self, part: Part) -> bytes | None:
        if self._key is None:
            return None
        return os.fsencode(part.name) if self._key == "path" else _label(part.name)


def files_below(folder: Path | str) -> Iterator[os.DirEntry[str]]:
    """All files below a folder, in no order; links to folders are not followed, those to files are files.

    Raises
    ------
    OSError
        If a folder cannot be read.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from files_below(entry.path)
            elif entry.is_file():
                yield entry


def file_headers(name: str, checksum: str) -> Headers:
    """Of a file that is one record: its path within the data set, its checksum and, where it has one, its label."""
    headers: Headers = [(PATH_HEADER, os.fsencode(name)), (CHECKSUM_HEADER, checksum.encode())]
    if label := _label(name):
        headers.append((LABEL_HEADER, label))
    return headers


def _label(name: str) -> bytes | None:
    first, slash, _ = name.partition("/")
    return os.fsencode(first) if slash else None


def _checksum(file: IO[bytes]) -> str:
    digest = sha256()
    while data := file.read(_READ_BYTES):
        digest.update(data)
    return digest.hexdigest()


def _expect_unchanged(file: IO[bytes], path: Path, part: Part) -> None:
    stat = os.fstat(file.fileno())
    if (stat.st_size, stat.st_mtime_ns) != (part.size_bytes, part.mtime_ns):
        raise InputFileError(path, "changed while it was being sent")
