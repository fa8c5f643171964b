"""Files of data sets in stores, with fsspec's in-memory file system."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.local_files import LocalFolder
from kafkabal.sources.remote_files import RemoteFile, RemoteFolder
from kafkabal.sources.row_source import RowSource
from tests.unit.sources.records_of import records_of

fsspec = pytest.importorskip("fsspec")


@pytest.fixture
def url() -> Iterator[str]:
    """A data set of two labels in memory."""
    files = fsspec.filesystem("memory")
    files.pipe("/set/cat/a.jpg", b"a")
    files.pipe("/set/dog/b.jpg", b"bb")
    files.pipe("/set/rows.jsonl", b'{"k":1}\n{"k":2}\n')
    yield "memory://set"
    files.rm("/set", recursive=True)


@pytest.mark.parametrize("read_ahead", [0, 3])
def test_a_store_gives_the_records_that_a_folder_would(url: str, tmp_path: Path, read_ahead: int) -> None:
    """Names, values and headers equal those of the same files on a disk, prefetched or not."""
    for name, data in (("cat/a.jpg", b"a"), ("dog/b.jpg", b"bb"), ("rows.jsonl", b'{"k":1}\n{"k":2}\n')):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    local, remote = (FolderSource(store, read_ahead=read_ahead) for store in (LocalFolder(tmp_path), RemoteFolder(url)))
    found = [
        [(r.value, r.headers) for part in source.listing().parts for r in records_of(source, part)]
        for source in (local, remote)
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 3


def test_a_file_that_changes_in_a_store_is_not_sent(url: str) -> None:
    """A file that was replaced after it was listed is skipped, with the reason."""
    source = FolderSource(RemoteFolder(url))
    part = source.listing().parts[0]
    fsspec.filesystem("memory").pipe("/set/cat/a.jpg", b"another")
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        records_of(source, part)


def test_a_listing_without_sizes_asks_for_each_file(url: str) -> None:
    """A web server lists names alone: sizes come from its single files, and one that has gone is left out by name."""
    memory = fsspec.get_filesystem_class("memory")

    class WebServer(memory):  # type: ignore[misc, valid-type]
        protocol = "listed"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("listed:")))

        def find(self, path: str, **options: Any) -> dict[str, dict[str, Any]]:
            found: dict[str, dict[str, Any]] = super().find(path, **options)
            return {name: {**info, "size": None} for name, info in found.items()} | {
                "/set/gone.jpg": {"name": "/set/gone.jpg", "size": None, "type": "file"}
            }

    fsspec.register_implementation("listed", WebServer, clobber=True)
    source = FolderSource(RemoteFolder("listed://set"))
    listing = source.listing()
    assert [r.value for part in listing.parts for r in records_of(source, part)] == [b"a", b"bb", b'{"k":1}\n{"k":2}\n']
    assert listing.left_out == [("gone.jpg", "cannot read: no such file or folder")]


def test_rows_of_a_store(url: str) -> None:
    """A file of rows is read from a store as from a disk."""
    source = RowSource(RemoteFile(f"{url}/rows.jsonl"), key_field="k")
    (part,) = source.listing().parts
    assert [(r.key, r.name) for r in records_of(source, part)] == [
        (b"1", "memory://set/rows.jsonl, line 1"),
        (b"2", "memory://set/rows.jsonl, line 2"),
    ]


def test_a_store_that_cannot_be_read_is_one_error(url: str) -> None:
    """A missing folder, an unknown protocol and a missing package are each reported in one line."""
    with pytest.raises(InputFileError, match="memory://absent: "):
        FolderSource(RemoteFolder("memory://absent")).listing()
    with pytest.raises(UsageError, match="nonsense://x"):
        RemoteFolder("nonsense://x")
    with pytest.raises(InputFileError, match="no such file"):
        RowSource(RemoteFile(f"{url}/absent.jsonl")).listing()


def test_patterns_choose_files(url: str) -> None:
    """A file must match an included pattern and no excluded one; if no file is left, that is an error."""
    chosen = FolderSource(RemoteFolder(url), include=["*.jpg"], exclude=["dog/*"])
    assert [part.name for part in chosen.listing().parts] == ["cat/a.jpg"]
    chosen = FolderSource(RemoteFolder(url), include=["**/*.jpg", "./r**/*.jsonl"], exclude=["./cat/**/a.jpg"])
    assert [part.name for part in chosen.listing().parts] == ["dog/b.jpg", "rows.jsonl"]
    with pytest.raises(InputFileError, match="no file matches --include and --exclude"):
        FolderSource(RemoteFolder(url), include=["*.png"]).listing()
