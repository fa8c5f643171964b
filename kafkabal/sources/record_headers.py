"""Headers of the records of data sets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kafkabal.atomic_files import parse_path
from kafkabal.errors import UsageError
from kafkabal.sources.source_protocol import Headers

PATH_HEADER: Final = "path"
LABEL_HEADER: Final = "label"
CHECKSUM_HEADER: Final = "sha256"
CHUNK_HEADER: Final = "chunk"
PIECES_FOLDER: Final = ".kafkabal-pieces"
"""Where files are restored, the folder of pieces of files that are not complete yet."""
FILE_KEYS: Final = ("path", "label")
"""What can be the key of the record of a file."""


def file_headers(name: str, checksum: str) -> Headers:
    """Headers of a file that is one record: its path within the data set, its checksum and, if it has one, its
    label."""
    headers: Headers = [(PATH_HEADER, os.fsencode(name)), (CHECKSUM_HEADER, checksum.encode())]
    if label := label_of(name):
        headers.append((LABEL_HEADER, label))
    return headers


def path_below(name: str) -> Path:
    """The path below a folder that a file of this name is restored to; ``a/b`` and ``./a//b`` are one file.

    Raises
    ------
    UsageError
        If there is none. Such a file is not sent either, because it could not be restored.
    """
    path = parse_path(name)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        raise UsageError("its path leads out of the folder")
    if path.parts[0] == PIECES_FOLDER:
        raise UsageError(f"{PIECES_FOLDER} is reserved for pieces of files")
    return path


def label_of(name: str) -> bytes | None:
    """The first sub-folder; None for files at the top."""
    first, slash, _ = name.partition("/")
    return os.fsencode(first) if slash else None


def file_key(name: str, key: str | None) -> bytes | None:
    """The key of the record of a file, by its path below the folder: one of :data:`FILE_KEYS`, None for none."""
    if key is None:
        return None
    return os.fsencode(name) if key == "path" else label_of(name)


def check_file_key(key: str | None) -> None:
    """Check that files have such a key.

    Raises
    ------
    UsageError
        If they have not.
    """
    if key is not None and key not in FILE_KEYS:
        raise UsageError(f"invalid key for files: {key!r}", hint=f"choose from: {', '.join(FILE_KEYS)}")


def header_bytes(headers: Headers) -> int:
    """Bytes of the header names and values of one record."""
    n_bytes = 0
    for name, value in headers:
        n_bytes += len(name) + len(value or b"")
    return n_bytes


def is_utf8(text: str) -> bool:
    """Whether a text can be the name or value of a header: given another one, confluent-kafka crashes the process."""
    return text.encode("utf-8", "replace").decode() == text


def with_label(headers: Headers, label: bytes | None) -> Headers:
    """Replace or add the label."""
    others = [header for header in headers if header[0] != LABEL_HEADER]
    return others if label is None else [*others, (LABEL_HEADER, label)]
