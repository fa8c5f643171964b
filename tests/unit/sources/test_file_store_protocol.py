"""Files of data sets in stores, with fsspec's in-memory file system."""

from __future__ import annotations

import io
import socket
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, OperationError, UsageError
from kafkabal.sources import folder_source
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.local_files import LocalFolder
from kafkabal.sources.remote_files import RemoteFile, RemoteFolder
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import RecordsToSend
from tests.unit.sources.records_of import add_values, records_of

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


def test_a_file_of_a_store_that_could_not_be_restored_is_left_out() -> None:
    """Names of objects are any text: those that lead out of a folder are named with the reason, the others are sent."""

    class Objects(fsspec.implementations.memory.MemoryFileSystem):  # type: ignore[misc]
        def find(self, path: str, **_: Any) -> dict[str, Any]:
            names = ("a.jpg", "../b.jpg", "/c.jpg", ".kafkabal-pieces/1")
            return {f"{path}/{name}": {"type": "file", "size": 1} for name in names}

    store = RemoteFolder("memory://set")
    store._files = Objects()
    left_out: list[tuple[str, str]] = []
    found = [each.name for each in store.files(lambda name, why: left_out.append((name, why)), 0)]
    assert found == ["a.jpg"]
    out = "its path leads out of the folder"
    reserved = ".kafkabal-pieces is reserved for pieces of files"
    assert left_out == [("../b.jpg", out), ("/c.jpg", out), (".kafkabal-pieces/1", reserved)]


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


def registered(name: str, kind: type[Any]) -> None:
    """Make a store of this kind known to fsspec."""
    fsspec.register_implementation(name, kind, clobber=True)


def test_a_folder_that_cannot_be_listed_is_named(tmp_path: Path) -> None:
    """fsspec itself skips it silently, and the run would end as if its files had been sent."""
    for name in ("a.jpg", "sub/b.jpg", "closed/c.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(name.encode())
    local = fsspec.get_filesystem_class("file")

    class Closed(local):  # type: ignore[misc, valid-type]
        protocol = "closed"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("closed:")))

        def ls(self, path: str, detail: bool = False, **options: Any) -> Any:
            if "closed" in Path(path).name:
                raise PermissionError("Forbidden")
            return super().ls(path, detail=detail, **options)

    registered("closed", Closed)
    source = FolderSource(RemoteFolder(f"closed://{tmp_path}"), include=["*.jpg"])
    listing = source.listing()
    assert [part.name for part in listing.parts] == ["a.jpg", "sub/b.jpg"]
    assert listing.left_out == [("closed", "cannot read: PermissionError: Forbidden")]
    assert [r.value for part in listing.parts for r in records_of(source, part)] == [b"a.jpg", b"sub/b.jpg"]


def test_a_version_does_not_come_from_a_cached_listing(url: str) -> None:
    """Object stores answer from the last listing, in which a file that was replaced since is unchanged."""
    memory = fsspec.get_filesystem_class("memory")

    class Cached(memory):  # type: ignore[misc, valid-type]
        protocol = "cached"
        known: dict[str, Any] = {}  # noqa: RUF012 - shared like the store itself

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("cached:")))

        def info(self, path: str, **options: Any) -> Any:
            if path not in self.known:
                self.known[path] = {**super().info(path, **options), "ETag": self.cat_file(path)}
            return self.known[path]

        def invalidate_cache(self, path: str | None = None) -> None:
            self.known.clear()

    registered("cached", Cached)
    source = RowSource(RemoteFile("cached://set/rows.jsonl"))
    (part,) = source.listing().parts
    fsspec.filesystem("memory").pipe("/set/rows.jsonl", b'{"k":3}\n{"k":4}\n')
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        records_of(source, part)


def object_store(objects: dict[str, bytes]) -> list[str]:
    """Make ``objects://`` known, which works like the stores of Amazon and Google; returns its requests."""
    requests: list[str] = []

    class ObjectStore(fsspec.asyn.AsyncFileSystem):  # type: ignore[misc]
        protocol = "objects"
        cachable = False

        async def _find(self, path: str, **options: Any) -> Any:
            requests.append("list")
            return {name: self._described(name) for name in objects if name.startswith(f"{path}/")}

        async def _info(self, path: str, **options: Any) -> Any:
            requests.append(f"head {path}")
            return self._described(path)

        async def _cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
            requests.append(f"get {path}")
            return objects[path][start:end]

        def _open(self, path: str, mode: str = "rb", **options: Any) -> Any:
            class File(fsspec.spec.AbstractBufferedFile):  # type: ignore[misc]
                def _fetch_range(self, start: int, end: int) -> bytes:
                    return bytes(self.fs.cat_file(self.path, start, end))

            return File(self, path, mode, **options)

        def _described(self, name: str) -> dict[str, Any]:
            return {"name": name, "type": "file", "size": len(objects[name]), "ETag": str(hash(objects[name]))}

    registered("objects", ObjectStore)
    return requests


@pytest.mark.parametrize("read_ahead", [0, 3])
def test_a_file_of_an_object_store_takes_two_requests(read_ahead: int) -> None:
    """One for its content, and one to see that it has not changed since it was listed."""
    objects = {"set/a": b"123", "set/empty": b"", "set/b": b"4567"}
    requests = object_store(objects)
    source = FolderSource(RemoteFolder("objects://set"), read_ahead=read_ahead)
    parts = source.listing().parts
    to_send = [RecordsToSend(number, number, part) for number, part in enumerate(parts)]
    assert [value for block in source.blocks(to_send) for value in block.values] == [b"123", b"4567", b""]
    assert sorted(requests) == ["get set/a", "get set/b", "head set/a", "head set/b", "head set/empty", "list"]
    for changed in (b"12", b"1234", b"124"):
        objects["set/a"] = changed
        with pytest.raises(InputFileError, match="changed while it was being sent"):
            records_of(source, parts[0])
    objects["set/empty"] = b"1"
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        records_of(source, parts[2])
    del objects["set/a"]
    with pytest.raises(InputFileError, match="a: cannot read: KeyError"):
        records_of(source, parts[0])


def test_a_store_that_no_longer_responds_ends_the_run() -> None:
    """Three files in a row that fail slowly; a store that refuses files at once is asked for the others."""
    object_store(objects := {f"set/{n}": b"123" for n in range(10)})
    times = iter(range(0, 10_000, 70))
    source = FolderSource(RemoteFolder("objects://set", clock=lambda: next(times)))
    parts = source.listing().parts
    for n in (1, 2, 4, 5, 6):
        del objects[f"set/{n}"]
    records_of(source, parts[0])
    for n in (1, 2, 3, 4, 5):
        with nullcontext() if n == 3 else pytest.raises(InputFileError, match=f"{n}: cannot read: KeyError"):
            records_of(source, parts[n])
    with pytest.raises(OperationError, match="objects://set: does not respond: KeyError"):
        records_of(source, parts[6])
    refusing = FolderSource(RemoteFolder("objects://set", clock=lambda: 0.0))
    for n in (1, 2, 4, 5, 6):
        with pytest.raises(InputFileError, match="cannot read"):
            records_of(refusing, parts[n])


@pytest.mark.parametrize("key", ["ETag", "mtime", "modificationTime", "modify"])
def test_a_file_that_changed_at_the_same_size_is_noticed(key: str) -> None:
    """By what each kind of store reports of it: object stores, SFTP, WebHDFS and FTP."""
    memory = fsspec.get_filesystem_class("memory")
    stamps = iter((1, 1, 2))

    class Store(memory):  # type: ignore[misc, valid-type]
        protocol = "stamped"
        cachable = False

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("stamped:")))

        def info(self, path: str, **options: Any) -> Any:
            found = super().info(path, **options)
            return {"name": found["name"], "type": "file", "size": found["size"], key: next(stamps)}

    registered("stamped", Store)
    fsspec.filesystem("memory").pipe("/stamped/x", b"123")
    file = RemoteFile("stamped://stamped/x")
    first, second, third = (file.version() for _ in range(3))
    assert first == second != third


def test_objects_that_mark_folders_are_no_files() -> None:
    """Consoles of object stores create them; no library can read them, and each run ended as if a file had changed."""
    object_store({"set/": b"", "set/a": b"1", "set/dir/": b"", "set/dir/b": b"2", "set/odd/": b"3"})
    listing = FolderSource(RemoteFolder("objects://set")).listing()
    assert [part.name for part in listing.parts] == ["a", "dir/b"]
    assert listing.left_out == [("odd", "is named like a folder")]


def test_objects_that_would_be_restored_as_one_file_are_sent_once() -> None:
    """``a//b`` and ``a/b`` are two objects, but one file on a disk; one that is alone is sent."""
    object_store(
        {"set/a//b": b"1", "set/a/b": b"2", "set/./c": b"3", "set//./c": b"4", "set/a.b/./d": b"5", "set/e": b""}
    )
    listing = FolderSource(RemoteFolder("objects://set")).listing()
    assert [part.name for part in listing.parts] == ["./c", "a.b/./d", "a/b", "e"]
    assert listing.left_out == [
        ("/./c", "its path leads out of the folder"),
        ("a//b", "would be restored in place of a/b"),
    ]


def test_a_large_file_of_an_object_store_is_not_asked_for_with_every_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of many chunks would take as many requests, each of which takes longer than to send the chunk."""
    monkeypatch.setattr(folder_source, "_WHOLE_BYTES", 1000)
    monkeypatch.setattr(folder_source, "_STREAMED_BYTES", 500)
    data = bytes(range(250)) * 10
    objects = {"set/large": data}
    requests = object_store(objects)
    source = FolderSource(RemoteFolder("objects://set"), chunk_bytes=7)
    (part,) = source.listing().parts
    blocks = source.blocks([RecordsToSend(0, 0, part, 3)])
    found = next(blocks).values
    assert b"".join(found + [value for block in blocks for value in block.values]) == data[21:]
    assert len([request for request in requests if request.startswith("head")]) <= 7
    blocks = source.blocks([RecordsToSend(0, 0, part)])
    assert next(blocks).values[0] == data[:7]
    objects["set/large"] = data[::-1]
    assert [[why for _, why in block.failures] for block in blocks] == [["changed while it was being sent"]]


@pytest.mark.parametrize(
    "signed",
    [
        "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AK%2F1&X-Amz-Date=1&X-Amz-Expires=9&X-Amz-Signature=secret",
        "X-Goog-Credential=a%40b&X-Goog-Signature=secret",
        "Expires=9&Signature=secret&Key-Pair-Id=K",
        "sv=2022&st=1&se=2&sr=b&sp=r&spr=https&sig=secret",
    ],
)
def test_a_signature_is_neither_shown_nor_recorded(signed: str) -> None:
    """All who have it can read the file; and a file with a new signature is the same one."""
    url = "https://host/set/rows.jsonl"
    assert str(RemoteFile(f"{url}?{signed}")) == url
    assert str(RemoteFile(f"{url}?part=2&{signed}")) == f"{url}?part=2"


def test_a_query_without_a_signature_names_the_file() -> None:
    """What a server calls expires or sp need not belong to a signature."""
    url = "https://host/export?id=5&expires=never&sp=1"
    assert str(RemoteFile(url)) == url


@pytest.mark.parametrize("password", ["secret", "se@cr:et", ""])
def test_a_password_is_neither_shown_nor_recorded(password: str) -> None:
    """It is part of the URLs of some stores; a run with a new one continues the manifest of the old one."""
    url = f"memory://user:{password}@host:80/set@a:b"
    file, folder = RemoteFile(url), RemoteFolder(url)
    shown = "memory://user@host:80/set@a:b"
    assert (str(file), file.name, folder.name) == (shown, f"file {shown}", f"store {shown}")
    assert folder.path("a:@.jpg") == f"{shown}/a:@.jpg"
    with pytest.raises(InputFileError, match=f"^{shown}: is empty"):
        FolderSource(folder).listing()


def test_a_version_is_the_same_in_a_listing_and_for_a_file(url: str) -> None:
    """Some stores give milliseconds and quotes in one of them only; by that no file has changed."""
    memory = fsspec.get_filesystem_class("memory")

    class Precise(memory):  # type: ignore[misc, valid-type]
        protocol = "precise"

        @classmethod
        def _strip_protocol(cls, path: str) -> str:
            return str(super()._strip_protocol(path.removeprefix("precise:")))

        def find(self, path: str, **options: Any) -> dict[str, dict[str, Any]]:
            found: dict[str, dict[str, Any]] = super().find(path, **options)
            return {name: {**info, "ETag": '"7"', "LastModified": "12:00:00.123"} for name, info in found.items()}

        def info(self, path: str, **options: Any) -> Any:
            return {**super().info(path, **options), "ETag": "7", "LastModified": "12:00:00"}

    registered("precise", Precise)
    source = FolderSource(RemoteFolder("precise://set"))
    assert [len(records_of(source, part)) for part in source.listing().parts] == [1, 1, 1]


class Unsteady(io.BytesIO):
    """A file that gives a byte at a time and, after the first ``ends_after``, either nothing or an error."""

    def __init__(self, data: bytes, ends_after: int, error: Exception | None) -> None:
        super().__init__(data)
        self.size = len(data)
        self._ends_after = ends_after
        self._error = error

    def read(self, size: int | None = -1) -> bytes:
        """At most one byte."""
        if self.tell() < self._ends_after:
            return super().read(1)
        if self._error is not None and self.tell() < self.size:
            raise self._error
        return b""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (None, "ended after 12 of 16 bytes"),
        (RuntimeError("connection lost"), "RuntimeError: connection lost"),
        (TimeoutError(), "timed out"),
    ],
)
def test_a_file_that_cannot_be_read_to_its_end_is_one_error(
    url: str, monkeypatch: pytest.MonkeyPatch, error: Exception | None, message: str
) -> None:
    """The rest of a file is neither sent nor taken as sent, whatever a store's library raises."""
    memory = fsspec.get_filesystem_class("memory")
    data = b'{"k":1}\n{"k":2}\n'
    ends_after = 12
    monkeypatch.setattr(memory, "_open", lambda *_, **__: Unsteady(data, ends_after, error))
    source = RowSource(RemoteFile(f"{url}/rows.jsonl"))
    (part,) = source.listing().parts
    found: list[bytes] = []
    with pytest.raises(InputFileError, match=f"rows.jsonl: cannot read: {message}"):
        add_values(found, source, part)
    assert found == [b'{"k":1}']
    folder = FolderSource(RemoteFolder(url))
    *_, part = folder.listing().parts
    with pytest.raises(InputFileError, match=f"rows.jsonl: cannot read: {message}"):
        records_of(folder, part)
    ends_after = len(data)
    assert records_of(folder, part)[0].value == data
    assert [record.value for record in records_of(source, source.listing().parts[0])] == data.splitlines()


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


def test_a_store_that_connects_when_it_is_opened_is_one_error() -> None:
    """That of ftp://, hdfs:// and others: every error of their libraries was called a bug of ours."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        where = f"ftp://me:secret@127.0.0.1:{closed.getsockname()[1]}/x"
        for open_store in (RemoteFolder, RemoteFile):
            with pytest.raises(InputFileError, match="cannot open: Connection refused") as caught:
                open_store(where)
            assert "secret" not in str(caught.value)
    with pytest.raises(UsageError, match="Invalid IPv6 URL"):
        RemoteFile("http://[::1/x")


def test_patterns_choose_files(url: str) -> None:
    """A file must match an included pattern and no excluded one; if no file is left, that is an error."""
    chosen = FolderSource(RemoteFolder(url), include=["*.jpg"], exclude=["dog/*"])
    assert [part.name for part in chosen.listing().parts] == ["cat/a.jpg"]
    chosen = FolderSource(RemoteFolder(url), include=["**/*.jpg", "./r**/*.jsonl"], exclude=["./cat/**/a.jpg"])
    assert [part.name for part in chosen.listing().parts] == ["dog/b.jpg", "rows.jsonl"]
    with pytest.raises(InputFileError, match=r"no file is left after --include$"):
        FolderSource(RemoteFolder(url), include=["*.png"]).listing()
    with pytest.raises(InputFileError, match=r"no file is left after --include and --exclude$"):
        FolderSource(RemoteFolder(url), include=["*.jpg"], exclude=["*.jpg"]).listing()
