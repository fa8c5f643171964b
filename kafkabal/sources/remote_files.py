"""Files of stores that fsspec reaches (``s3://``, ``gs://``, ...): all below a URL, or a single file read as rows."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from io import BufferedReader
from typing import IO, Any, Final, NamedTuple

from kafkabal.errors import InputFileError, UsageError, described
from kafkabal.sources.file_store_protocol import FileVersion, LeftOut, OpenFile, StoredFile
from kafkabal.sources.local_files import mapped, why_unreadable
from kafkabal.sources.source_protocol import escaped_name

_READ_BYTES: Final = 1 << 18
"""What an object store sends at once; smaller reads cost additional round trips."""


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
        return escaped_name(f"store {self._url.rstrip('/')}")

    def path(self, name: str) -> str:
        """See :meth:`FileStore.path`."""
        return escaped_name(f"{self._url.rstrip('/')}/{name}".removesuffix("/"))

    def files(self, left_out: LeftOut, threads: int) -> Iterator[StoredFile]:
        """See :meth:`FileStore.files`; one request lists many, but a web server reports sizes of single files only."""
        prefix = len(self._root.rstrip("/")) + 1

        def stored_file(entry: tuple[str, dict[str, Any]]) -> StoredFile | tuple[str, str]:
            path, info = entry
            try:
                with _as_os_errors():
                    return StoredFile(path[prefix:], _version(info if _has_size(info) else self._files.info(path)))
            except OSError as error:
                return path[prefix:], why_unreadable(error)

        with _plain_errors(self._url):
            found = self._files.find(self._root, detail=True)
        listed = ((path, info) for path, info in found.items() if info.get("type") == "file")
        for each in mapped(stored_file, listed, threads):
            if isinstance(each, StoredFile):
                yield each
            else:
                left_out(escaped_name(each[0]), each[1])

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


class RemoteFile:
    """One file of a store, read as rows; same methods as :class:`~kafkabal.sources.local_files.LocalFile`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._files, self._path = _filesystem(url)

    def __str__(self) -> str:
        """As the user named it."""
        return escaped_name(self._url)

    @property
    def name(self) -> str:
        """See :attr:`~kafkabal.sources.local_files.LocalFile.name`."""
        return f"file {self}"

    @property
    def file_name(self) -> str:
        """See :attr:`~kafkabal.sources.local_files.LocalFile.file_name`."""
        return self._path.rpartition("/")[2]

    def version(self) -> FileVersion:
        """See :meth:`~kafkabal.sources.local_files.LocalFile.version`."""
        with _as_os_errors():
            return _version(self._files.info(self._path))

    def open(self) -> IO[bytes]:
        """See :meth:`~kafkabal.sources.local_files.LocalFile.open`."""
        with _as_os_errors():
            return BufferedReader(self._files.open(self._path, "rb", cache_type="readahead"), _READ_BYTES)

    def is_folder(self) -> bool:
        """Whether there are files below it.

        Raises
        ------
        InputFileError
            If the store cannot tell.
        """
        with _plain_errors(self._url):
            return bool(self._files.isdir(self._path))


def is_url(name: str) -> bool:
    """Whether a source is in a remote store."""
    return "://" in name


def _filesystem(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError("reading from a store requires fsspec", hint="pip install 'kafkabal[stores]'") from None
    try:
        files, root = url_to_fs(url)
    except ImportError as error:  # fsspec names the package that this protocol needs
        raise UsageError(
            f"cannot read {escaped_name(url)}: {error}", hint="install the package that it names"
        ) from error
    except ValueError as error:
        raise UsageError(f"cannot read {escaped_name(url)}: {error}", hint="write it like s3://BUCKET/FOLDER") from None
    return files, root


def _has_size(info: dict[str, Any]) -> bool:
    return info.get("size") is not None


def _version(info: dict[str, Any]) -> FileVersion:
    """A file's version, from whichever key this store uses for it."""
    keys = ("ETag", "etag", "md5Hash", "md5", "LastModified", "Last-Modified", "last_modified", "mtime", "updated")
    stamp = sha256("\0".join(f"{key}={info[key]}" for key in keys if info.get(key)).encode()).digest()
    return FileVersion(int(info.get("size") or 0), int.from_bytes(stamp[:7], "big"))


@contextmanager
def _plain_errors(url: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise InputFileError(escaped_name(url), "no such file or folder") from None
    except Exception as error:  # stores raise exceptions of their own libraries
        raise InputFileError(escaped_name(url), f"cannot list: {described(error)}") from error


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Turn any error of the store's library into OSError, so that only the failing file is skipped."""
    try:
        yield
    except OSError as error:
        if error.strerror is not None:
            raise
        # fsspec gives these the path as their only text
        missing = isinstance(error, FileNotFoundError)
        code, reason = (errno.ENOENT, "no such file or folder") if missing else (errno.EIO, described(error))
        raise OSError(code, reason) from error
    except Exception as error:
        raise OSError(errno.EIO, described(error)) from error
