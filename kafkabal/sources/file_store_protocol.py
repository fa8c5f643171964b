"""What the files of a data set are asked, be they in a local folder or in a store that fsspec reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

LeftOut = Callable[[str, str], None]
"""Gets the name of what cannot be read, and why."""


class FileVersion(NamedTuple):
    """What shows that a file changed."""

    size_bytes: int
    stamp: int
    """Nanoseconds of its last change, or a hash of what a store says of its content."""


class StoredFile(NamedTuple):
    """A file of a data set."""

    name: str
    """Path within the data set, with ``/``."""
    version: FileVersion


class OpenFile(Protocol):
    """A file that is being read."""

    def read(self, n_bytes: int) -> bytes:
        """The next bytes, empty at the end; fewer than asked for only there.

        Raises
        ------
        OSError
            If they cannot be read.
        """

    def seek(self, position: int) -> None:
        """Continue from here."""

    def version(self) -> FileVersion:
        """As it is now."""


class FileStore(Protocol):
    """The files of a data set."""

    @property
    def name(self) -> str:
        """What to call it, the same in every run, and printable."""

    def path(self, name: str) -> str:
        """A file as messages name it, and the folder itself where the name is empty."""

    def files(self, left_out: LeftOut, threads: int) -> Iterator[StoredFile]:
        """All files in no order.

        Parameters
        ----------
        left_out
            Called with the name of whatever cannot be read or is neither file nor folder, and why.
        threads
            How many may ask the store at the same time; 0 asks in this one.

        Raises
        ------
        InputFileError
            If it cannot be listed at all.
        """

    def open(self, name: str) -> AbstractContextManager[OpenFile]:
        """Open a file for as long as a ``with`` block lasts.

        Raises
        ------
        OSError
            If it cannot be opened.
        """
