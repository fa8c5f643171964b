"""The interface to the files of a data set, in a local folder or in a store that fsspec reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

LeftOut = Callable[[str, str], None]
"""Receives the name of something that cannot be read, with ``/`` at the end of a folder's, and why."""


class FileVersion(NamedTuple):
    """Detects whether a file has changed."""

    size_bytes: int
    stamp: int
    """Time of the last change in nanoseconds, or a hash of what the store reports about the content."""


class StoredFile(NamedTuple):
    """A file of a data set."""

    name: str
    """Path within the data set, with ``/``."""
    version: FileVersion


class OpenFile(Protocol):
    """A file opened for reading."""

    def read(self, n_bytes: int) -> bytes:
        """The next bytes; fewer than requested only at the end, and none after it.

        Raises
        ------
        OSError
            If they cannot be read.
        """

    def seek(self, position: int) -> None:
        """Continue reading from this position."""

    def version(self) -> FileVersion:
        """Its current version."""


class FileStore(Protocol):
    """The files of a data set."""

    @property
    def name(self) -> str:
        """Its printable name, the same in every run."""

    def path(self, name: str) -> str:
        """A file as messages name it; the folder itself if the name is empty."""

    def files(self, left_out: LeftOut, threads: int) -> Iterator[StoredFile]:
        """All files, in no particular order.

        Parameters
        ----------
        left_out
            Called with the name of anything that cannot be read, or is neither file nor folder, and why.
        threads
            How many threads may query the store at once; 0 uses the calling thread.

        Raises
        ------
        InputFileError
            If it cannot be listed at all.
        """

    def read(self, name: str, size_bytes: int) -> tuple[bytes, FileVersion]:
        """The first bytes of a file, at least as many as it should have if it has them, and its version after that.

        Raises
        ------
        OSError
            If it cannot be read.
        """

    def open(self, name: str) -> AbstractContextManager[OpenFile]:
        """Open a file for the duration of a ``with`` block.

        Raises
        ------
        OSError
            If it cannot be opened.
        """
