"""Writes the files of a folder that ``kafkabal produce`` sent back to disk, bit for bit.

A file that is one record is written when it arrives. The pieces of a split file (``produce --chunk``) may be in any
partition: they are kept in a folder beside the files until all are there. Every file is checked against its SHA-256 and
renamed into place, so that an interrupted run leaves only whole files, and the same command continues it. Records that
are not files are left out and counted; a topic that seems to have no files is refused.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Final

from kafkabal.atomic_files import make_folder_of, replacing
from kafkabal.errors import BusyError, OutputError, UsageError
from kafkabal.file_locks import acquire_file_lock
from kafkabal.reader.join_file_pieces import parse_chunk
from kafkabal.reader.sample import Sample
from kafkabal.sources import CHECKSUM_HEADER, CHUNK_HEADER, PATH_HEADER, PIECES_FOLDER, path_below
from kafkabal.wording import system_fault

if TYPE_CHECKING:
    from filelock import FileLock

_LOCK: Final = "lock"
_SHA256: Final = re.compile(rb"[0-9a-f]{64}")
_NAME_CONFLICTS: Final = (FileExistsError, IsADirectoryError, NotADirectoryError)
"""A file where a folder is needed, or the other way round."""
_SHOWN_BYTES: Final = 80
"""Length of a header in a message, which is one line."""
_SHOWN_REFUSALS: Final = 20
_MOST_WITHOUT_FILE: Final = 100
"""Records of a topic of rows are not all read to learn that none of them is a file."""


@dataclass(slots=True)
class RestoreResult:
    """The result for all files, each counted once."""

    written: int = 0
    already_there: int = 0
    size_bytes: int = 0
    """Of all files."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason of each file that was not restored as it was sent."""
    refused_records: int = 0
    """How many records are not files that can be restored."""
    refusals: list[tuple[str, str]] = field(default_factory=list)
    """Place and reason of the first 20 of these."""


@dataclass(slots=True)
class _Pieces:
    """The pieces of a file that have come so far."""

    folder: Path
    of: int
    """How many there are in all."""
    numbers: set[int] = field(default_factory=set)

    def path(self, number: int) -> Path:
        return self.folder / str(number)


@dataclass(slots=True)
class _FileVersion:
    """The latest version of a file among the records so far."""

    sent_ms: int
    """When it was last sent."""
    checksum: str
    is_restored: bool = False
    is_written: bool = False
    """False if the folder had it already."""
    size_bytes: int = 0
    fault: str = ""
    pieces: dict[int, _Pieces] = field(default_factory=dict)
    """By the number of all pieces: the same file may have been sent in chunks of several sizes."""

    @property
    def why_not_restored(self) -> str:
        """The damage, or how many pieces are missing."""
        fullest = max(self.pieces.values(), key=lambda each: len(each.numbers) / each.of, default=None)
        return self.fault if fullest is None else f"{len(fullest.numbers)} of {fullest.of} pieces are in the topic"


class FolderRestore:
    """Writes the files of samples to a folder; if nothing was restored, exiting removes the folder that it created.

    Raises
    ------
    OutputError
        If the folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces = folder / PIECES_FOLDER / token_hex(4)
        """A folder of this run, since several topics may be restored into one folder at once."""
        self._lock: FileLock | None = None
        """Held while it exists."""
        self._pieced_versions = 0
        self._versions: dict[str, _FileVersion] = {}
        """By path."""
        self._refused_records = 0
        self._refusals: list[tuple[str, str]] = []
        try:
            self._is_new = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            self._remove_leftovers()
        except FileExistsError as error:
            raise OutputError(f"{folder}: cannot write: not a folder") from error
        except OSError as error:
            raise OutputError(f"{folder}: cannot write: {system_fault(error)}") from error

    def write_all(self, samples: Iterable[Sample]) -> RestoreResult:
        """Write every file of these samples; of a file that was sent more than once, the last version.

        Raises
        ------
        UsageError
            If none of the first 100 records, or of all, is a file whose path stays in the folder.
        OutputError
            If a file cannot be written.
        """
        try:
            for sample in samples:
                self._add_or_refuse(sample)
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot write: {system_fault(error)}") from error
        finally:
            self._remove_pieces()
        self._refuse_topic_without_files()
        return self._result()

    def __enter__(self) -> FolderRestore:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_new:
            _remove_if_empty(self._folder)

    def _remove_leftovers(self) -> None:
        """Remove the pieces of killed runs, the last one perhaps half written."""
        for left in [*self._pieces.parent.glob("*")]:
            with suppress(BusyError, OutputError):  # of a run that is alive, or on a file system without locks
                acquire_file_lock(left / _LOCK, lambda: BusyError(f"{self._folder}: is being restored to")).release()
                shutil.rmtree(left, ignore_errors=True)
        _remove_if_empty(self._pieces.parent)

    def _remove_pieces(self) -> None:
        if self._lock is not None:
            self._lock.release()
        shutil.rmtree(self._pieces, ignore_errors=True)
        _remove_if_empty(self._pieces.parent)

    def _add_or_refuse(self, sample: Sample) -> None:
        try:
            self._add(sample)
        except UsageError as refusal:
            self._refused_records += 1
            if len(self._refusals) < _SHOWN_REFUSALS:
                where = f"partition {sample.partition}, offset {sample.offset}"
                self._refusals.append((where, refusal.message))
            if self._refused_records >= _MOST_WITHOUT_FILE:
                self._refuse_topic_without_files()

    def _refuse_topic_without_files(self) -> None:
        if self._refusals and not self._versions:
            where, why = self._refusals[0]
            raise UsageError(f"{where}: {why}", hint="--follow prints records of any kind")

    def _add(self, sample: Sample) -> None:
        """Write the file of a sample, or store the piece."""
        headers = {name: value or b"" for name, value in sample.headers}
        if PATH_HEADER not in headers:
            raise UsageError("a record without a path, so not a file that was sent from a folder")
        piece = _piece_in(headers)
        checksum = _checksum_in(headers, is_needed=piece is not None) or sha256(sample.value).hexdigest()
        path = _path_in_folder(os.fsdecode(headers[PATH_HEADER]))
        target = self._folder / path
        version = self._latest_version(str(path), checksum, sample.timestamp)
        if version is None or version.is_restored:
            return
        if piece is None:
            self._write_file(version, target, sample.value)
        else:
            self._store_piece(version, target, *piece, sample.value)

    def _latest_version(self, path: str, checksum: str, sent_ms: int) -> _FileVersion | None:
        """The version with this checksum; None if a later one has come."""
        known = self._versions.get(path)
        if known is not None and known.checksum == checksum:
            known.sent_ms = max(known.sent_ms, sent_ms)
            return known
        if known is not None and known.sent_ms > sent_ms:
            return None
        self._versions[path] = _FileVersion(sent_ms, checksum)
        return self._versions[path]

    def _result(self) -> RestoreResult:
        restored = [each for each in self._versions.values() if each.is_restored]
        written = sum(each.is_written for each in restored)
        return RestoreResult(
            written=written,
            already_there=len(restored) - written,
            size_bytes=sum(each.size_bytes for each in restored),
            failures=[(path, each.why_not_restored) for path, each in self._versions.items() if not each.is_restored],
            refused_records=self._refused_records,
            refusals=self._refusals,
        )

    def _write_file(self, version: _FileVersion, target: Path, value: bytes) -> None:
        if sha256(value).hexdigest() != version.checksum:
            version.fault = "its SHA-256 is not that of the file that was sent"
            return
        is_there = target.is_file() and target.stat().st_size == len(value) and target.read_bytes() == value
        self._restore(version, target, [value], len(value), is_there=is_there)

    def _store_piece(self, version: _FileVersion, target: Path, number: int, of: int, value: bytes) -> None:
        pieces = version.pieces.get(of)
        if pieces is None:
            if self._lock is None:
                with suppress(OutputError):  # a file system without locks
                    self._lock = acquire_file_lock(self._pieces / _LOCK)
            self._pieced_versions += 1
            pieces = version.pieces[of] = _Pieces(self._pieces / str(self._pieced_versions), of)
            pieces.folder.mkdir(parents=True)
        pieces.path(number).write_bytes(value)
        pieces.numbers.add(number)
        if len(pieces.numbers) == of:
            self._join_pieces(version, target, pieces)
            shutil.rmtree(pieces.folder)
            del version.pieces[of]

    def _join_pieces(self, version: _FileVersion, target: Path, pieces: _Pieces) -> None:
        paths = [pieces.path(number) for number in range(1, pieces.of + 1)]
        digest = sha256()
        for path in paths:
            digest.update(path.read_bytes())
        if digest.hexdigest() != version.checksum:
            version.fault = "the SHA-256 of its pieces is not that of the file that was sent"
            return
        is_there = target.is_file() and _checksum(target) == version.checksum
        size_bytes = sum(path.stat().st_size for path in paths)
        self._restore(version, target, (path.read_bytes() for path in paths), size_bytes, is_there=is_there)

    def _restore(
        self, version: _FileVersion, target: Path, values: Iterable[bytes], size_bytes: int, *, is_there: bool
    ) -> None:
        """Write a file unless the folder has it."""
        try:
            if not is_there:
                make_folder_of(target)
                with replacing(target, flush=False) as file:
                    file.writelines(values)
        except OutputError as error:
            if not isinstance(error.__cause__, _NAME_CONFLICTS):
                raise
            # a folder of the data set was a file once: no other file depends on it
            version.fault = error.message.removeprefix(f"{target}: ")
            return
        version.is_restored, version.is_written, version.size_bytes = True, not is_there, size_bytes


def _remove_if_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()


def _path_in_folder(path: str) -> Path:
    try:
        return path_below(path)
    except UsageError as error:
        raise UsageError(f"{error.message}: {path[:_SHOWN_BYTES]!r}") from error


def _checksum_in(headers: Mapping[str, bytes], *, is_needed: bool) -> str:
    """The SHA-256 of the file; empty if it has none. It names the folder of the pieces, so it must be nothing else."""
    given = headers.get(CHECKSUM_HEADER, b"")
    if not (_SHA256.fullmatch(given) or (not given and not is_needed)):
        raise UsageError(f"malformed header {CHECKSUM_HEADER}: {given[:_SHOWN_BYTES]!r}")
    return given.decode()


def _piece_in(headers: Mapping[str, bytes]) -> tuple[int, int] | None:
    """The number of the piece, from 1 on, and that of all pieces; None if the record is a whole file."""
    given = headers.get(CHUNK_HEADER)
    if given is None:
        return None
    piece = parse_chunk(given)
    if piece is None:
        raise UsageError(f"malformed header {CHUNK_HEADER}: {given[:_SHOWN_BYTES]!r}")
    return piece


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
