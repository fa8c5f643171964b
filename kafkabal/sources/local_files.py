"""Files on this machine's disks: all files of a folder, or a single file read as rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISFIFO, S_ISREG, S_ISSOCK
from typing import IO, Final, NamedTuple

from kafkabal.errors import InputFileError
from kafkabal.input_files import exists
from kafkabal.sources.file_store_protocol import FileVersion, LeftOut, OpenFile, StoredFile
from kafkabal.sources.map_in_threads import map_in_threads
from kafkabal.sources.record_headers import PIECES_FOLDER
from kafkabal.sources.source_protocol import escaped_name
from kafkabal.sources.store_errors import why_unreadable

# do not block if a FIFO has since replaced the file
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK


class LocalFolder:
    """All regular files below a folder; links to files are followed, links to folders are not."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """See :attr:`FileStore.name`."""
        return escaped_name(f"folder {self._root.resolve()}")

    def path(self, name: str) -> str:
        """See :meth:`FileStore.path`."""
        return escaped_name(f"{self._root}/{name}".removesuffix("/"))

    def files(self, left_out: LeftOut, threads: int) -> Iterator[StoredFile]:
        """See :meth:`FileStore.files`; on a network file system each file costs a request."""
        if not (exists(self._root) and self._root.is_dir()):
            raise InputFileError(escaped_name(str(self._root)), "is not a folder")
        prefix = len(os.path.join(self._root, ""))  # noqa: PTH118 - the length of what scandir puts before names

        def described(entry: os.DirEntry[str]) -> StoredFile | tuple[str, str]:
            name = entry.path[prefix:]
            if name.startswith(f"{PIECES_FOLDER}/"):  # any other path below a folder can be restored
                return name, "is a piece of a file, left by a restore that was interrupted"
            try:
                stat = entry.stat()
            except OSError as error:
                return name, why_unreadable(error)
            return StoredFile(name, FileVersion(stat.st_size, stat.st_mtime_ns))

        entries = files_below(self._root, lambda path, why: left_out(escaped_name(path[prefix:]), why))
        for found in map_in_threads(described, entries, threads):
            if isinstance(found, StoredFile):
                yield found
            else:
                left_out(escaped_name(found[0]), found[1])

    def read(self, name: str, size_bytes: int) -> tuple[bytes, FileVersion]:
        """See :meth:`FileStore.read`."""
        with self.open(name) as file:
            # if a file claims to be empty, ask for one byte, because files in /proc do
            return file.read(max(size_bytes, 1)), file.version()

    def open(self, name: str) -> AbstractContextManager[OpenFile]:
        """See :meth:`FileStore.open`."""
        return _Descriptor(os.open(f"{self._root}/{name}", _OPEN_FLAGS))


class _Descriptor(NamedTuple):
    descriptor: int

    def __enter__(self) -> _Descriptor:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.descriptor)

    def read(self, n_bytes: int) -> bytes:
        data = os.read(self.descriptor, n_bytes)
        while data and len(data) < n_bytes and (more := os.read(self.descriptor, n_bytes - len(data))):
            data += more
        return data

    def seek(self, position: int) -> None:
        os.lseek(self.descriptor, position, os.SEEK_SET)

    def version(self) -> FileVersion:
        stat = os.fstat(self.descriptor)
        return FileVersion(stat.st_size, stat.st_mtime_ns)


class LocalFile:
    """One local file, read as rows."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        """As the user named it."""
        return escaped_name(str(self._path))

    @property
    def name(self) -> str:
        """Its name as it is shown, the same in every run."""
        return escaped_name(f"file {self._path.resolve()}")

    @property
    def file_name(self) -> str:
        """Its name without the folder."""
        return self._path.name

    def version(self) -> FileVersion:
        """Its current version.

        Raises
        ------
        OSError
            If it cannot be examined.
        InputFileError
            If it is not a regular file.
        """
        stat = self._path.stat()
        if not S_ISREG(stat.st_mode):
            raise InputFileError(str(self), "is not a regular file", hint="read it from standard input: - < FILE")
        return FileVersion(stat.st_size, stat.st_mtime_ns)

    def open(self) -> IO[bytes]:
        """Open it for reading.

        Raises
        ------
        OSError
            If it cannot be opened.
        """
        return self._path.open("rb")


def files_below(folder: Path | str, left_out: LeftOut = lambda _path, _why: None) -> Iterator[os.DirEntry[str]]:
    """All regular files below a folder, in no particular order; links to files are followed, links to folders are not.

    Parameters
    ----------
    left_out
        Called with the path of anything that cannot be read, is a link to a folder, or is neither file nor folder, and
        why; that of a folder ends with ``/``.
    """
    folders = [os.fspath(folder)]
    while folders:
        current = folders.pop()
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    try:
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                        elif entry.is_file():
                            yield entry
                        elif entry.is_dir():  # it may lead back, or hold the same files again
                            left_out(f"{entry.path}/", "is a link to a folder")
                        else:
                            left_out(entry.path, _kind_of(entry))
                    except OSError as error:
                        left_out(entry.path, why_unreadable(error))
        except OSError as error:  # also amid its entries, as on a network file system
            left_out(f"{current}/", why_unreadable(error))


def _kind_of(entry: os.DirEntry[str]) -> str:
    """The kind of something that is neither a file nor a folder."""
    if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - a name that may be no text
        return "is a broken link"
    mode = entry.stat().st_mode
    kinds: Sequence[tuple[Callable[[int], bool], str]] = (
        (S_ISFIFO, "is a named pipe"),
        (S_ISSOCK, "is a socket"),
        (S_ISCHR, "is a device"),
        (S_ISBLK, "is a device"),
    )
    return next((kind for matches, kind in kinds if matches(mode)), "is not a regular file")
