"""Writes the files of a folder that ``kafkabal produce`` sent back to disk, bit for bit.

A file that is one record is written when it arrives. The pieces of a split file (``produce --chunk``) may be in any
partition: they are kept in a folder beside the files until all are there. Every file is checked against its SHA-256 and
renamed into place, so that an interrupted run leaves only whole files, and the same command continues it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from typing import Final

from kafkabal.atomic_files import parse_path, replacing
from kafkabal.errors import OutputError, UsageError
from kafkabal.reader.join_file_pieces import parse_chunk
from kafkabal.reader.sample import Sample
from kafkabal.sources import CHECKSUM_HEADER, CHUNK_HEADER, PATH_HEADER

_PIECES: Final = ".kafkabal-pieces"
_SHA256: Final = re.compile(rb"[0-9a-f]{64}")
_SHOWN_BYTES: Final = 80
"""Length of a header in a message, which is one line."""


@dataclass(slots=True)
class RestoreResult:
    """The result for all files."""

    written: int = 0
    already_there: int = 0
    size_bytes: int = 0
    """Of all files."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Path and reason of each file that was not restored as it was sent."""


class FolderRestore:
    """Writes the files of samples to a folder; if nothing was restored, exiting removes the folder that it created.

    Raises
    ------
    OutputError
        If the folder cannot be created.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pieces = folder / _PIECES
        self._latest_versions: dict[str, tuple[int, str]] = {}
        """By path: when it was last sent, and the checksum of that version."""
        self.restored = RestoreResult()
        self._is_new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if self._pieces.exists():  # left by a killed run, the last one perhaps half written
                shutil.rmtree(self._pieces)
        except OSError as error:
            raise OutputError(f"{folder}: cannot be written: {error.strerror or error}") from error

    def write_all(self, samples: Iterable[Sample]) -> RestoreResult:
        """Write every file of these samples; of a file that was sent more than once, the last version.

        Raises
        ------
        UsageError
            If a record is not a file, or its path leads out of the folder.
        OutputError
            If a file cannot be written.
        """
        try:
            for sample in samples:
                self.add(sample)
        except OSError as error:
            raise OutputError(f"{self._folder}: cannot be written: {error.strerror or error}") from error
        return self.finish()

    def add(self, sample: Sample) -> None:
        """Write the file of a sample, or store the piece."""
        headers = {name: value or b"" for name, value in sample.headers}
        where = f"partition {sample.partition}, offset {sample.offset}"
        if PATH_HEADER not in headers:
            raise UsageError(
                f"{where}: a record without a path, so not a file that was sent from a folder",
                hint="--follow prints records of any kind",
            )
        path = os.fsdecode(headers[PATH_HEADER])
        chunk = headers.get(CHUNK_HEADER)
        checksum = _checksum_in(headers, where, is_needed=chunk is not None)
        target = self._target(path, where)
        latest_ms, latest = self._latest_versions.get(path, (-1, checksum))
        if latest != checksum and latest_ms > sample.timestamp:
            return
        self._latest_versions[path] = (max(latest_ms, sample.timestamp), checksum)
        if chunk is None:
            self._write_file(path, target, checksum, sample.value)
        else:
            number, of = parse_chunk(chunk, sample.partition, sample.offset)
            self._store_piece(path, target, checksum, number, of, sample)

    def finish(self) -> RestoreResult:
        """Report files with missing pieces, and remove all pieces."""
        if self._pieces.exists():
            for folder in sorted(self._pieces.iterdir()):
                there = len([piece for piece in folder.iterdir() if piece.name.isdigit()])
                path = (folder / "path").read_text(errors="surrogateescape")
                of = (folder / "of").read_text()
                if self._latest_versions.get(path, (0, ""))[1] == folder.name:
                    self.restored.failures.append((path, f"{there} of {of} pieces are in the topic"))
            shutil.rmtree(self._pieces)
        return self.restored

    def __enter__(self) -> FolderRestore:
        return self

    def __exit__(self, *error: object) -> None:
        if self._is_new:
            with suppress(OSError):  # it may not be empty
                self._folder.rmdir()

    def _target(self, path: str, where: str) -> Path:
        try:
            parts = parse_path(path).parts
        except UsageError as error:
            raise UsageError(f"{where}: {error.message}") from error
        if not parts or PurePosixPath(path).is_absolute() or ".." in parts or parts[0] == _PIECES:
            raise UsageError(f"{where}: its path leads out of the folder: {path!r}")
        return self._folder.joinpath(*parts)

    def _write_file(self, path: str, target: Path, checksum: str, value: bytes) -> None:
        if checksum and sha256(value).hexdigest() != checksum:
            self.restored.failures.append((path, "its SHA-256 is not that of the file that was sent"))
            return
        self.restored.size_bytes += len(value)
        if target.is_file() and target.stat().st_size == len(value) and target.read_bytes() == value:
            self.restored.already_there += 1
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, flush=False) as file:
            file.write(value)
        self.restored.written += 1

    def _store_piece(self, path: str, target: Path, checksum: str, number: int, of: int, sample: Sample) -> None:
        folder = self._pieces / checksum
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "path").write_text(path, errors="surrogateescape")
        (folder / "of").write_text(str(of))
        (folder / str(number)).write_bytes(sample.value)
        if all((folder / str(n)).exists() for n in range(of, 0, -1)):
            self._join_pieces(path, target, checksum, [folder / str(n) for n in range(1, of + 1)])
            shutil.rmtree(folder)

    def _join_pieces(self, path: str, target: Path, checksum: str, pieces: list[Path]) -> None:
        digest = sha256()
        for piece in pieces:
            digest.update(piece.read_bytes())
        if digest.hexdigest() != checksum:
            self.restored.failures.append((path, "the SHA-256 of its pieces is not that of the file that was sent"))
            return
        self.restored.size_bytes += sum(piece.stat().st_size for piece in pieces)
        if target.is_file() and _checksum(target) == checksum:
            self.restored.already_there += 1
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, flush=False) as file:
            for piece in pieces:
                file.write(piece.read_bytes())
        self.restored.written += 1


def _checksum_in(headers: Mapping[str, bytes], where: str, *, is_needed: bool) -> str:
    """The SHA-256 of the file; empty if it has none. It names the folder of the pieces, so it must be nothing else."""
    given = headers.get(CHECKSUM_HEADER, b"")
    if not (_SHA256.fullmatch(given) or (not given and not is_needed)):
        raise UsageError(f"{where}: malformed header {CHECKSUM_HEADER}: {given[:_SHOWN_BYTES]!r}")
    return given.decode()


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()
