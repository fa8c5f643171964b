"""Lists all files below a folder of a store that fsspec reaches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias

from kafkabal.sources.file_store_protocol import LeftOut
from kafkabal.sources.source_protocol import escaped_name
from kafkabal.sources.store_errors import as_os_errors, why_unreadable

Entry: TypeAlias = "tuple[str, dict[str, Any]]"
"""Name below the root, and what the store reports about it."""

_MOST_FOLDERS: Final = 64
"""In one path: links that lead back, or a server that answers every path with the same page, would never end."""


def lists_all_at_once(files: Any) -> bool:
    """Whether a store has a listing of its own, such as object stores have: a request for a thousand files."""
    from fsspec import AbstractFileSystem
    from fsspec.asyn import AsyncFileSystem

    kind = type(files)
    if isinstance(files, AsyncFileSystem):
        return bool(kind._find is not AsyncFileSystem._find)  # noqa: SLF001 - stores of that kind override this one
    return bool(kind.find is not AbstractFileSystem.find)


def sends_ranges_at_once(files: Any) -> bool:
    """Whether a store sends the first bytes of a file in one request, as object stores do; others look up its size."""
    from fsspec.asyn import AsyncFileSystem

    return isinstance(files, AsyncFileSystem) and lists_all_at_once(files)


def walked_entries(entries_of: Callable[[str], Iterable[Entry]], left_out: LeftOut) -> Iterator[Entry]:
    """All files, folder by folder. fsspec's own walk silently skips folders that cannot be listed.

    Parameters
    ----------
    entries_of
        The content of a folder, given its name with ``/`` at its end; that of the root is empty.

    Raises
    ------
    OSError
        If the root cannot be listed.
    """
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with as_os_errors():
                entries = list(entries_of(folder))
        except OSError as error:
            if not folder:
                raise
            left_out(escaped_name(folder), why_unreadable(error))
            continue
        for name, info in entries:
            if info["type"] == "file":
                yield name, info
            elif info["type"] != "directory":
                left_out(escaped_name(name), "is not a regular file")
            elif name.count("/") < _MOST_FOLDERS:
                folders.append(f"{name}/")
            else:
                left_out(escaped_name(f"{name}/"), f"is more than {_MOST_FOLDERS} folders deep")
