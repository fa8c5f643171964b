"""Files of stores that fsspec reaches (``s3://``, ``gs://``, ...): all below a URL, or a single file read as rows."""

from __future__ import annotations

import errno
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from time import monotonic
from typing import IO, Any, Final, NamedTuple
from urllib.parse import unquote, urlsplit

from kafkabal.errors import InputFileError, OperationError, UsageError
from kafkabal.sources.file_store_protocol import FileVersion, LeftOut, OpenFile, StoredFile
from kafkabal.sources.map_in_threads import map_in_threads
from kafkabal.sources.record_headers import path_below
from kafkabal.sources.source_protocol import escaped_name
from kafkabal.sources.source_url import is_web_page, shown_url
from kafkabal.sources.store_clients import client_options, prepare_client
from kafkabal.sources.store_errors import as_os_errors, why_unreadable
from kafkabal.sources.store_listing import Entry, lists_all_at_once, sends_ranges_at_once, walked_entries
from kafkabal.sources.web_index import escaped_path, linked_names

_READ_BYTES: Final = 1 << 18
"""What an object store sends at once; smaller reads cost additional round trips."""
_VERSION_KEYS: Final = (
    *("ETag", "etag", "md5Hash", "md5"),
    *("LastModified", "Last-Modified", "last_modified", "mtime", "updated", "modificationTime", "modify"),
)
_SLOW_S: Final = 10.0
"""A store that refuses a file says so sooner. One that does not respond is asked again by its library: by s3fs, for
minutes."""
_MOST_SLOW: Final = 3
"""Files in a row that a store may fail to send this slowly. To ask for thousands of others would take days."""


class RemoteFolder:
    """All files below a URL that fsspec understands.

    Parameters
    ----------
    clock
        Seconds.

    Raises
    ------
    UsageError
        If fsspec, or the package for this kind of store, is not installed.
    InputFileError
        If the store cannot be opened.
    """

    def __init__(self, url: str, clock: Callable[[], float] = monotonic) -> None:
        self._url = url
        self._clock = clock
        self._files, root = _filesystem(url)
        self._root = root.rstrip("/")
        self._slow_in_a_row = 0

    @property
    def name(self) -> str:
        """See :attr:`FileStore.name`."""
        return f"store {shown_url(self._url).rstrip('/')}"

    def path(self, name: str) -> str:
        """See :meth:`FileStore.path`."""
        return escaped_name(f"{shown_url(self._url).rstrip('/')}/{name}".removesuffix("/"))

    def files(self, left_out: LeftOut, threads: int) -> Iterator[StoredFile]:
        """See :meth:`FileStore.files`; one request lists many, but a web server reports sizes of single files only."""

        def stored_file(entry: Entry) -> StoredFile | tuple[str, str]:
            name, info = entry
            try:
                path_below(name)
                with as_os_errors():
                    return StoredFile(name, _version(info) if _has_size(info) else self._version(name))
            except UsageError as error:
                return name, error.message
            except OSError as error:
                return name, why_unreadable(error)

        for each in map_in_threads(stored_file, self._entries(left_out), threads):
            if isinstance(each, StoredFile):
                yield each
            else:
                left_out(escaped_name(each[0]), each[1])

    def read(self, name: str, size_bytes: int) -> tuple[bytes, FileVersion]:
        """See :meth:`FileStore.read`.

        Raises
        ------
        OperationError
            If the store no longer responds.
        """
        began_s = self._clock()
        try:
            found = self._data_and_version(name, size_bytes)
        except OSError as error:
            self._slow_in_a_row = self._slow_in_a_row + 1 if self._clock() - began_s >= _SLOW_S else 0
            if self._slow_in_a_row >= _MOST_SLOW:
                raise OperationError(
                    f"{self.path('')}: does not respond: {error.strerror}",
                    hint="check that the store is up",
                ) from error
            raise
        self._slow_in_a_row = 0
        return found

    def _data_and_version(self, name: str, size_bytes: int) -> tuple[bytes, FileVersion]:
        """An object store sends a file without being asked for its size first."""
        if not sends_ranges_at_once(self._files):
            with self.open(name) as opened:
                return opened.read(size_bytes), opened.version()
        with as_os_errors():
            data = bytes(self._files.cat_file(self._path(name), start=0, end=size_bytes)) if size_bytes else b""
            return data, self._version(name)

    @contextmanager
    def open(self, name: str) -> Iterator[OpenFile]:
        """See :meth:`FileStore.open`."""
        with as_os_errors(), self._files.open(self._path(name), "rb", cache_type="readahead") as file:
            yield _OpenRemoteFile(file, lambda: self._version(name))

    def _version(self, name: str) -> FileVersion:
        return _current_version(self._files, self._path(name))

    def _path(self, name: str) -> str:
        """The path of a file as the store knows it."""
        return f"{self._root}/{escaped_path(name) if is_web_page(self._url) else name}"

    def _entries(self, left_out: LeftOut) -> Iterator[Entry]:
        with _plain_errors(self._url):
            if is_web_page(self._url):
                yield from walked_entries(self._linked, left_out)
            elif lists_all_at_once(self._files):
                yield from self._found(left_out)
            else:
                yield from walked_entries(self._listed, left_out)

    def _found(self, left_out: LeftOut) -> Iterator[Entry]:
        for path, info in self._files.find(self._root, detail=True).items():
            name = self._name(path)
            if info.get("type") != "file":
                continue
            if name and not name.endswith("/"):
                yield name, info
            elif info.get("size"):  # an empty one only marks a folder, as consoles of object stores create them
                left_out(escaped_name(name), "is named like a folder")

    def _listed(self, folder: str) -> Iterator[Entry]:
        path = f"{self._root}/{folder}"
        for info in self._files.ls(path, detail=True):
            if info["name"].rstrip("/") != path.rstrip("/"):
                yield self._name(info["name"].rstrip("/")), info

    def _linked(self, folder: str) -> Iterator[Entry]:
        url = self._path(folder)
        for name in linked_names(self._files.cat_file(url), url):
            kind = "directory" if name.endswith("/") else "file"
            yield folder + name.removesuffix("/"), {"type": kind}

    def _name(self, path: str) -> str:
        return path[len(self._root) + 1 :]


class _OpenRemoteFile(NamedTuple):
    file: IO[bytes]
    current: Callable[[], FileVersion]

    def read(self, n_bytes: int) -> bytes:
        with as_os_errors():
            pieces: list[bytes] = []
            while n_bytes and (piece := _next_bytes(self.file, n_bytes)):
                pieces.append(piece)
                n_bytes -= len(piece)
            return b"".join(pieces)

    def seek(self, position: int) -> None:
        with as_os_errors():
            self.file.seek(position)

    def version(self) -> FileVersion:
        with as_os_errors():
            return self.current()


class _RemoteStream(io.RawIOBase):
    """A file of a store as the stream below a buffer: every fault is an OSError."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with as_os_errors():
            data = _next_bytes(self._file, len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, position: int, whence: int = io.SEEK_SET) -> int:
        with as_os_errors():
            self._file.seek(position, whence)
            return self.tell()

    def tell(self) -> int:
        return self._file.tell()

    def close(self) -> None:
        self._file.close()
        super().close()


def _next_bytes(file: IO[bytes], n_bytes: int) -> bytes:
    """Some of the next bytes; none at the end only."""
    data = bytes(file.read(n_bytes))
    if data or not n_bytes:
        return data
    size_bytes = getattr(file, "size", None)  # for pyarrow, a request
    if isinstance(size_bytes, int) and file.tell() < size_bytes:
        raise OSError(errno.EIO, f"ended after {file.tell():,} of {size_bytes:,} bytes")
    return data


class RemoteFile:
    """One file of a store, read as rows; same methods as :class:`~kafkabal.sources.local_files.LocalFile`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._path = _filesystem(url)

    def __str__(self) -> str:
        """As the user named it."""
        return shown_url(self._url)

    @property
    def name(self) -> str:
        """See :attr:`~kafkabal.sources.local_files.LocalFile.name`."""
        return f"file {self}"

    @property
    def file_name(self) -> str:
        """See :attr:`~kafkabal.sources.local_files.LocalFile.file_name`."""
        path = unquote(urlsplit(self._url).path) if is_web_page(self._url) else self._path
        return path.rpartition("/")[2]

    def version(self) -> FileVersion:
        """See :meth:`~kafkabal.sources.local_files.LocalFile.version`."""
        with as_os_errors():
            return _current_version(self._files, self._path)

    def open(self) -> IO[bytes]:
        """See :meth:`~kafkabal.sources.local_files.LocalFile.open`."""
        with as_os_errors():
            file = self._files.open(self._path, "rb", cache_type="readahead")
            return io.BufferedReader(_RemoteStream(file), _READ_BYTES)

    def is_folder(self) -> bool:
        """Whether there are files below it.

        Raises
        ------
        InputFileError
            If the store cannot tell.
        """
        with _plain_errors(self._url):
            return self._is_index_page() if is_web_page(self._url) else bool(self._files.isdir(self._path))

    def _is_index_page(self) -> bool:
        """Whether a page of a web server links to anything below it; it alone is read, and no file of rows."""
        if self._url.endswith("/"):
            return True
        try:
            info = self._files.info(self._path)
        except FileNotFoundError:  # reported, with its cause, when the file is read
            return False
        return info.get("mimetype") == "text/html" and bool(
            linked_names(self._files.cat_file(self._path), f"{self._path}/")
        )


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError("reading from a store requires fsspec", hint="pip install 'kafkabal[stores]'") from None
    try:
        if is_web_page(url):
            urlsplit(url)  # fsspec accepts one that is none
        files, root = url_to_fs(url, **client_options(url))
        prepare_client(files)
    except ImportError as error:  # fsspec names the package that this protocol needs
        raise UsageError(f"cannot read {shown_url(url)}: {error}", hint="install the package that it names") from error
    except ValueError as error:
        raise UsageError(f"cannot read {shown_url(url)}: {error}", hint="write it like s3://BUCKET/FOLDER") from None
    except Exception as error:  # some stores connect at once, such as hdfs:// and ftp://
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0] or type(error).__name__
        raise InputFileError(shown_url(url), f"cannot open: {reason}") from error
    return files, root


def _has_size(info: dict[str, Any]) -> bool:
    return info.get("size") is not None


def _current_version(files: Any, path: str) -> FileVersion:
    """The version that the store reports now: some stores would answer from the listing."""
    files.invalidate_cache(path)
    return _version(files.info(path))


def _version(info: dict[str, Any]) -> FileVersion:
    """A file's version, from whichever key this store uses for it.

    A hash of the content goes before a time, which some stores give in milliseconds when they list files, and in
    seconds for a single one.

    Raises
    ------
    OSError
        If the store does not report its size.
    """
    if not _has_size(info):
        raise OSError(errno.EIO, "the store does not report its size")
    known = next((str(info[key]).strip('"') for key in _VERSION_KEYS if info.get(key)), "")
    return FileVersion(int(info["size"]), int.from_bytes(sha256(known.encode()).digest()[:7], "big"))


@contextmanager
def _plain_errors(url: str) -> Iterator[None]:
    try:
        with as_os_errors():
            yield
    except OSError as error:
        missing = error.errno == errno.ENOENT
        what = "no such file or folder" if missing else f"cannot list: {error.strerror}"
        raise InputFileError(shown_url(url), what) from error
