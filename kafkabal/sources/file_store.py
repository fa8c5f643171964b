"""Where the files of a data set are: a local folder, or a store that fsspec reaches (``s3://``, ``gs://``, ...)."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from hashlib import sha256
from io import BufferedReader
from pathlib import Path
from stat import S_ISBLK, S_ISCHR, S_ISFIFO, S_ISREG, S_ISSOCK
from typing import IO, Any, Final, NamedTuple, Protocol

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.source_protocol import printable

# a FIFO that took a file's place since must not be waited for
_OPEN_FLAGS: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
_READ_BYTES: Final = 1 << 18
"""What an object store sends in one go; smaller reads cost round trips."""
_LeftOut = Callable[[str, str], None]


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

    def files(self, left_out: _LeftOut, threads: int) -> Iterator[StoredFile]:
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


class LocalFolder:
    """All regular files below a folder; links to folders are not followed, those to files are files."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def name(self) -> str:
        """See :attr:`FileStore.name`."""
        return printable(f"folder {self._root.resolve()}")

    def path(self, name: str) -> str:
        """See :meth:`FileStore.path`."""
        return printable(f"{self._root}/{name}".removesuffix("/"))

    def files(self, left_out: _LeftOut, threads: int) -> Iterator[StoredFile]:
        """See :meth:`FileStore.files`; on a network file system each file takes a request of its own."""
        if not self._root.is_dir():
            raise InputFileError(printable(str(self._root)), "is not a folder")
        prefix = len(os.path.join(self._root, ""))  # noqa: PTH118 - the length of what scandir puts before names

        def described(entry: os.DirEntry[str]) -> StoredFile | tuple[str, str]:
            name = entry.path[prefix:]
            try:
                stat = entry.stat()
            except OSError as error:
                return name, why_unreadable(error)
            return StoredFile(name, FileVersion(stat.st_size, stat.st_mtime_ns))

        entries = files_below(self._root, lambda path, why: left_out(printable(path[prefix:]), why))
        for found in _mapped(described, entries, threads):
            if isinstance(found, StoredFile):
                yield found
            else:
                left_out(printable(found[0]), found[1])

    def open(self, name: str) -> _Descriptor:
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


class RemoteFolder:
    """All files below a URL that fsspec understands.

    Raises
    ------
    UsageError
        If fsspec, or the package for this kind of store, is not installed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._root = _filesystem(url)

    @property
    def name(self) -> str:
        """See :attr:`FileStore.name`."""
        return printable(f"store {self._url.rstrip('/')}")

    def path(self, name: str) -> str:
        """See :meth:`FileStore.path`."""
        return printable(f"{self._url.rstrip('/')}/{name}".removesuffix("/"))

    def files(self, left_out: _LeftOut, threads: int) -> Iterator[StoredFile]:  # noqa: ARG002 - one request lists many
        """See :meth:`FileStore.files`."""
        prefix = len(self._root.rstrip("/")) + 1
        with _plain_errors(self._url):
            found = self._files.find(self._root, detail=True)
        for path, info in found.items():
            if info.get("type") == "file":
                yield StoredFile(path[prefix:], _version(info))

    @contextmanager
    def open(self, name: str) -> Iterator[OpenFile]:
        """See :meth:`FileStore.open`."""
        path = f"{self._root.rstrip('/')}/{name}"
        with _as_os_errors(), self._files.open(path, "rb", cache_type="readahead") as file:
            yield _RemoteFile(file, lambda: _version(self._files.info(path)))


class _RemoteFile(NamedTuple):
    file: IO[bytes]
    current: Callable[[], FileVersion]

    def read(self, n_bytes: int) -> bytes:
        with _as_os_errors():
            return bytes(self.file.read(n_bytes))

    def seek(self, position: int) -> None:
        self.file.seek(position)

    def version(self) -> FileVersion:
        with _as_os_errors():
            return self.current()


class LocalFile:
    """One file of this machine, for its rows."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        """As the user named it."""
        return printable(str(self._path))

    @property
    def name(self) -> str:
        """The same in every run, and printable."""
        return printable(f"file {self._path.resolve()}")

    @property
    def file_name(self) -> str:
        """Without its folder."""
        return self._path.name

    def version(self) -> FileVersion:
        """As it is now.

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


class RemoteFile:
    """One file of a store, for its rows; methods as those of :class:`LocalFile`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._path = _filesystem(url)

    def __str__(self) -> str:
        """As the user named it."""
        return printable(self._url)

    @property
    def name(self) -> str:
        """See :attr:`LocalFile.name`."""
        return f"file {self}"

    @property
    def file_name(self) -> str:
        """See :attr:`LocalFile.file_name`."""
        return self._path.rpartition("/")[2]

    def version(self) -> FileVersion:
        """See :meth:`LocalFile.version`."""
        with _as_os_errors():
            return _version(self._files.info(self._path))

    def open(self) -> IO[bytes]:
        """See :meth:`LocalFile.open`."""
        with _as_os_errors():
            return BufferedReader(self._files.open(self._path, "rb", cache_type="readahead"), _READ_BYTES)

    def is_folder(self) -> bool:
        """Whether files are below it.

        Raises
        ------
        InputFileError
            If the store cannot say.
        """
        with _plain_errors(self._url):
            return bool(self._files.isdir(self._path))


def is_url(name: str) -> bool:
    """Whether a source is in a store and not on this machine's disks."""
    return "://" in name


def files_below(folder: Path | str, left_out: _LeftOut = lambda _path, _why: None) -> Iterator[os.DirEntry[str]]:
    """All regular files below a folder, in no order; links to folders are not followed, those to files are files.

    Parameters
    ----------
    left_out
        Called with the path of whatever cannot be read or is neither file nor folder, and why.
    """
    try:
        entries = os.scandir(folder)
    except OSError as error:
        left_out(str(folder), why_unreadable(error))
        return
    with entries:
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    yield from files_below(entry.path, left_out)
                elif entry.is_file():
                    yield entry
                elif not entry.is_dir():
                    left_out(entry.path, _kind_of(entry))
            except OSError as error:
                left_out(entry.path, why_unreadable(error))


def why_unreadable(error: OSError) -> str:
    """Why a file cannot be read, for the list of those that were left out."""
    if error.errno == errno.ELOOP:
        return "is a link that leads back to itself"
    return f"cannot read: {(error.strerror or str(error)).lower()}"


def _mapped(function: Callable[[Any], Any], items: Iterator[Any], threads: int) -> Iterator[Any]:
    if not threads:
        yield from map(function, items)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="kafkabal-list") as pool:
        yield from pool.map(function, items)


def _kind_of(entry: os.DirEntry[str]) -> str:
    """What something is that is neither a file nor a folder."""
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


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError("reading from a store requires fsspec", hint="pip install 'kafkabal[stores]'") from None
    try:
        files, root = url_to_fs(url)
    except ImportError as error:  # fsspec names the package that this protocol needs
        raise UsageError(f"cannot read {printable(url)}: {error}", hint="install the package that it names") from error
    except ValueError as error:
        raise UsageError(f"cannot read {printable(url)}: {error}", hint="write it like s3://BUCKET/FOLDER") from None
    return files, root


def _version(info: dict[str, Any]) -> FileVersion:
    """Stores say by different keys what changes with the content of a file."""
    keys = ("ETag", "etag", "md5Hash", "md5", "LastModified", "last_modified", "mtime", "updated")
    stamp = sha256("\0".join(f"{key}={info[key]}" for key in keys if info.get(key)).encode()).digest()
    return FileVersion(int(info.get("size") or 0), int.from_bytes(stamp[:7], "big"))


@contextmanager
def _plain_errors(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputFileError(printable(url), "no such file or folder") from None
    except Exception as error:  # stores raise the errors of their own libraries
        raise InputFileError(printable(url), f"cannot list: {_in_one_line(error)}") from error


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """One file that fails is left out, whatever its library raises."""
    try:
        yield
    except OSError as error:
        if error.strerror is not None:
            raise
        # fsspec raises these with the path alone
        missing = isinstance(error, FileNotFoundError)
        code, reason = (errno.ENOENT, "no such file or folder") if missing else (errno.EIO, _in_one_line(error))
        raise OSError(code, reason) from error
    except Exception as error:
        raise OSError(errno.EIO, _in_one_line(error)) from error


def _in_one_line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())
