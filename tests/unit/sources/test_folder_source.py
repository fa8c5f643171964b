"""A folder as a source: names, labels, checksums, chunks, and files that change."""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from hashlib import sha256
from operator import length_hint
from pathlib import Path
from typing import Any

import pytest

from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.local_files import LocalFolder
from kafkabal.sources.map_in_threads import map_in_threads
from kafkabal.sources.source_protocol import RecordsToSend
from tests.unit.sources.records_of import Record, records_of


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two labels with an image each, and a file at the top."""
    for name, content in {"cat/1.jpg": b"meow", "dog/deep/2.jpg": b"woof!", "readme": b""}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content)
    return tmp_path


def all_records(source: FolderSource) -> list[Record]:
    """Every record of every part."""
    return [record for part in source.listing().parts for record in records_of(source, part)]


def test_a_record_a_file_by_name(data: Path) -> None:
    """Files are sorted by path and carry path, checksum and first sub-folder as label; empty files are records too."""
    records = all_records(FolderSource(data))
    assert [record.value for record in records] == [b"meow", b"woof!", b""]
    assert [dict(record.headers) for record in records] == [
        {"path": b"cat/1.jpg", "sha256": sha256(b"meow").hexdigest().encode(), "label": b"cat"},
        {"path": b"dog/deep/2.jpg", "sha256": sha256(b"woof!").hexdigest().encode(), "label": b"dog"},
        {"path": b"readme", "sha256": sha256(b"").hexdigest().encode()},
    ]
    assert [
        block.progress_bytes
        for part in FolderSource(data).listing().parts
        for block in FolderSource(data).blocks([RecordsToSend(0, 0, part)])
    ] == [4, 5, 0]


@pytest.mark.parametrize(
    ("key", "keys"),
    [
        (None, [None, None, None]),
        ("label", [b"cat", b"dog", None]),
        ("path", [b"cat/1.jpg", b"dog/deep/2.jpg", b"readme"]),
    ],
)
def test_keys(data: Path, key: str | None, keys: list[bytes | None]) -> None:
    """The key is the path, the label, or absent."""
    source = FolderSource(data, key=key)
    assert [record.key for record in all_records(source)] == keys
    assert source.is_keyed is (key is not None)


def test_unknown_key_is_refused(data: Path) -> None:
    """An unknown key is refused, and the error lists the known ones."""
    with pytest.raises(UsageError, match="invalid key for files: 'name'") as caught:
        FolderSource(data, key="name")
    assert caught.value.hint == "choose from: path, label"


def test_large_files_are_split(data: Path) -> None:
    """Chunks carry their position and the checksum of the whole file, and reading can start in the middle."""
    source = FolderSource(data, chunk_bytes=2)
    part = source.listing().parts[1]
    assert part.records == 3
    records = list(records_of(source, part, 0))
    assert [record.value for record in records] == [b"wo", b"of", b"!"]
    assert [dict(record.headers)["chunk"] for record in records] == [b"1/3", b"2/3", b"3/3"]
    assert {dict(record.headers)["sha256"] for record in records} == {sha256(b"woof!").hexdigest().encode()}
    assert [record.value for record in records_of(source, part, 2)] == [b"!"]
    assert "chunk" not in dict(next(iter(records_of(source, source.listing().parts[2]))).headers)


@pytest.mark.parametrize("chunk_bytes", [None, 3])
@pytest.mark.parametrize("key", [None, "path"])
def test_sizes_are_those_of_the_largest_record(data: Path, key: str | None, chunk_bytes: int | None) -> None:
    """The size that is checked beforehand is never below that of a record of the part."""
    source = FolderSource(data, key=key, chunk_bytes=chunk_bytes)
    for part in source.listing().parts:
        (announced,) = source.find_too_large([part], 0, lambda: None)
        for record in records_of(source, part, 0):
            headers = sum(len(name) + len(value or b"") for name, value in record.headers)
            assert len(record.value) + len(record.key or b"") + headers <= announced.size_bytes


@pytest.mark.parametrize("chunk_bytes", [None, 2])
def test_a_file_that_changed_is_not_sent(data: Path, chunk_bytes: int | None) -> None:
    """A file that changed since it was listed is refused by name."""
    source = FolderSource(data, chunk_bytes=chunk_bytes)
    part = source.listing().parts[0]
    os.utime(data / "cat/1.jpg", ns=(1, 1))
    with pytest.raises(InputFileError, match=r"cat/1.jpg: changed while it was being sent"):
        list(records_of(source, part, 0))


def test_a_deleted_file_is_refused(data: Path) -> None:
    """A file that was deleted after it was listed is refused by name."""
    source = FolderSource(data)
    part = source.listing().parts[0]
    (data / "cat/1.jpg").unlink()
    with pytest.raises(InputFileError, match=r"cat/1.jpg: cannot read: no such file"):
        list(records_of(source, part, 0))


@pytest.mark.parametrize("name", ["empty", "absent", "file"])
def test_nothing_to_send_is_an_error(tmp_path: Path, name: str) -> None:
    """An empty folder, a missing folder and a file are each an error of its own."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(InputFileError, match=r"is empty|is not a folder"):
        FolderSource(tmp_path / name).listing()


def test_an_unreadable_file_is_left_out_and_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreadable file is skipped and named, and all others are sent."""
    real = os.open

    def refuse(path: str, *flags: int) -> int:
        if str(path).endswith("2.jpg"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path, *flags)

    monkeypatch.setattr(os, "open", refuse)
    source = FolderSource(data)
    to_send = [RecordsToSend(i, i, part) for i, part in enumerate(source.listing().parts)]
    blocks = list(source.blocks(to_send))
    assert [value for block in blocks for value in block.values] == [b"meow", b""]
    assert [failure for block in blocks for failure in block.failures] == [
        (to_send[1], "cannot read: permission denied")
    ]


def test_unsendable_files_are_skipped_and_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Dangling and circular links, pipes, sockets and unreadable folders are skipped and named; all else is sent.

    What an unreadable folder has may match ``--include``, so it is named unless it is excluded.
    """
    (data / "loop").symlink_to(data / "loop")
    (data / "broken").symlink_to(data / "nothing")
    os.mkfifo(data / "cat" / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(data)  # the path of a socket must be short
        listening.bind("socket")
    (data / "closed").mkdir()
    real = os.scandir

    def refuse(path: str) -> Any:
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    chosen = FolderSource(data, include=["*.jpg"])
    assert chosen.listing().left_out == [("closed", "cannot read: permission denied")]
    assert FolderSource(data, include=["*.jpg"], exclude=["closed/*"]).listing().left_out == []
    listing = FolderSource(data).listing()
    assert [part.name for part in listing.parts] == ["cat/1.jpg", "dog/deep/2.jpg", "readme"]
    assert listing.left_out == [
        ("broken", "is a broken link"),
        ("cat/pipe", "is a named pipe"),
        ("closed", "cannot read: permission denied"),
        ("loop", "is a link that leads back to itself"),
        ("socket", "is a socket"),
    ]


def test_a_folder_that_cannot_be_read_at_all_is_an_error(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the folder itself cannot be read, there is nothing to send."""

    def refuse(path: str) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(InputFileError, match=f"^{data}: cannot read: permission denied"):
        FolderSource(data).listing()


@pytest.mark.parametrize("chunk_bytes", [None, 3])
def test_reading_ahead_changes_nothing(tmp_path: Path, chunk_bytes: int | None) -> None:
    """The same records come in the same order with and without prefetching; a vanished file is named in its turn."""
    for i in range(300):
        (tmp_path / f"{i:03}").write_bytes(b"content %d" % i)
    source = FolderSource(tmp_path, chunk_bytes=chunk_bytes)
    to_send, first = [], 0
    for index, part in enumerate(source.listing().parts):
        to_send.append(RecordsToSend(index, first, part))
        first += part.records
    (tmp_path / "100").unlink()

    def read(read_ahead: int) -> list[tuple[int, bytes, object]]:
        found: list[tuple[int, bytes, object]] = []
        for block in FolderSource(tmp_path, chunk_bytes=chunk_bytes, read_ahead=read_ahead).blocks(to_send):
            found += zip(block.numbers, block.values, block.headers or (), strict=True)
            found += [(failed.first, b"", why) for failed, why in block.failures]
        return sorted(found, key=lambda row: row[0])

    assert read(0) == read(1) == read(8)
    assert len(read(0)) == (300 if chunk_bytes is None else first - to_send[100].part.records + 1)


def test_reading_ahead_stops_with_its_reader(tmp_path: Path) -> None:
    """A reader that stops early leaves no thread behind."""
    for i in range(1000):
        (tmp_path / f"{i:03}").write_bytes(b"x")
    source = FolderSource(tmp_path, read_ahead=4)
    blocks = source.blocks([RecordsToSend(i, i, part) for i, part in enumerate(source.listing().parts)])
    next(blocks)
    blocks.close()
    for thread in threading.enumerate():
        if thread.name.startswith("kafkabal-reader"):
            thread.join(5)
            assert not thread.is_alive()


@pytest.mark.parametrize("stalled", ["listing", "reading"])
def test_a_store_that_does_not_respond_delays_no_end(tmp_path: Path, stalled: str) -> None:
    """A run that is interrupted waits neither for the read that a thread is in, nor at the end of the program."""
    for name in "abc":
        (tmp_path / name).write_bytes(name.encode() * 600_000)
    entered, end = threading.Event(), threading.Event()

    class Stalled(LocalFolder):
        def open(self, name: str) -> Any:
            if name == "b":
                entered.set()
                end.wait(60)
            return super().open(name)

    def list_item(item: str) -> str:
        if item == "b":
            entered.set()
            end.wait(60)
        return item

    source = FolderSource(Stalled(tmp_path), read_ahead=1)
    to_send = [RecordsToSend(i, i, part) for i, part in enumerate(source.listing().parts)]
    running: Any = map_in_threads(list_item, iter("abc"), 1) if stalled == "listing" else source.blocks(to_send)
    next(running)
    assert entered.wait(10)
    closing = threading.Thread(target=running.close)
    closing.start()
    closing.join(10)
    readers = [thread for thread in threading.enumerate() if thread.name in ("kafkabal-reader", "kafkabal-list")]
    has_ended = not closing.is_alive()
    end.set()
    closing.join()
    assert has_ended
    assert readers
    assert all(thread.daemon for thread in readers)


def test_links_to_folders_are_named_and_not_followed(data: Path) -> None:
    """A link back to the top does not send the data set forever, and no file is missing in silence; a link to a file is
    a file."""
    (data / "loop").symlink_to(data, target_is_directory=True)
    (data / "link").symlink_to(data / "cat/1.jpg")
    listing = FolderSource(data).listing()
    assert [part.name for part in listing.parts] == ["cat/1.jpg", "dog/deep/2.jpg", "link", "readme"]
    assert listing.left_out == [("loop", "is a link to a folder")]
    assert FolderSource(data, exclude=["loop/*"]).listing().left_out == []


def test_folders_may_be_deep(tmp_path: Path) -> None:
    """Deeper than Python's functions may call each other; one that is too deep for the system is named."""
    data, depth = tmp_path / "data", 2100
    data.mkdir()
    (data / "a.bin").write_bytes(b"a")
    folder = os.open(data, os.O_RDONLY)
    try:
        for level in range(depth):
            os.mkdir("d", dir_fd=folder)
            folder, above = os.open("d", os.O_RDONLY, dir_fd=folder), folder
            os.close(above)
            if level == 1500:
                os.close(os.open("b.bin", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    finally:
        os.close(folder)
    try:
        listing = FolderSource(data).listing()
        assert [part.name for part in listing.parts] == ["a.bin", "d/" * 1501 + "b.bin"]
        assert [why for _, why in listing.left_out] == ["cannot read: file name too long"]
    finally:
        subprocess.run(["rm", "-rf", data], check=True)


def test_a_folder_whose_listing_breaks_off_is_named(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network file system may fail amid a folder; the others are sent."""
    real = os.scandir

    def failing(path: str) -> Any:
        def entries() -> Iterator[os.DirEntry[str]]:
            with real(path) as found:
                yield from found
            raise OSError(errno.EIO, "Input/output error")

        return contextlib.closing(entries()) if str(path).endswith("cat") else real(path)

    names = [part.name for part in FolderSource(data).listing().parts]
    monkeypatch.setattr(os, "scandir", failing)
    listing = FolderSource(data).listing()
    assert [part.name for part in listing.parts] == names
    assert listing.left_out == [("cat", "cannot read: input/output error")]


@pytest.mark.parametrize("pattern", ["sub/", "./sub/", "**/sub/"])
def test_a_pattern_that_ends_with_a_slash_means_all_in_the_folder(tmp_path: Path, pattern: str) -> None:
    """No name ends so: what was to be left out was sent."""
    for name in ("a", "sub/b", "sub/deep/c", "subway"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    assert [part.name for part in FolderSource(tmp_path, exclude=[pattern]).listing().parts] == ["a", "subway"]
    assert [part.name for part in FolderSource(tmp_path, include=[pattern]).listing().parts] == ["sub/b", "sub/deep/c"]


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("drafts", ["a/drafts/b", "drafts/a", "drafts/deep/b"]),
        ("drafts/", ["a/drafts/b", "drafts/a", "drafts/deep/b"]),
        ("./drafts", ["drafts/a", "drafts/deep/b"]),
        ("a/drafts", ["a/drafts/b"]),
        ("**/deep", ["drafts/deep/b"]),
        (".git*", [".git/config", ".gitignore", "a/.gitkeep"]),
        ("b", ["a/drafts/b", "b", "drafts/deep/b"]),
        ("./b", ["b"]),
        ("b/", []),
    ],
)
def test_a_pattern_means_what_it_means_in_a_gitignore(tmp_path: Path, pattern: str, matched: list[str]) -> None:
    """The name of a folder matched nothing, so that all that it was to keep out of the topic was sent."""
    names = [".git/config", ".gitignore", "a/.gitkeep", "a/drafts/b", "b", "drafts/a", "drafts/deep/b", "mydrafts"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    sent = [part.name for part in FolderSource(tmp_path, exclude=[pattern]).listing().parts]
    assert sent == [name for name in names if name not in matched]
    if matched:
        assert [part.name for part in FolderSource(tmp_path, include=[pattern]).listing().parts] == matched


def test_names_that_are_no_text_survive(tmp_path: Path) -> None:
    """A file name that is not UTF-8 reaches the header as its raw bytes."""
    path = os.fsencode(tmp_path) + b"/\xff.jpg"
    with open(path, "wb") as file:  # noqa: PTH123 - a name of bytes
        file.write(b"x")
    (record,) = all_records(FolderSource(tmp_path))
    assert dict(record.headers)["path"] == b"\xff.jpg"


def test_pieces_of_an_interrupted_restore_are_left_out(data: Path) -> None:
    """'kafkabal read --to' would refuse them; the folder of that name further below is one like any other."""
    for folder in (".kafkabal-pieces/0badcafe", "cat/.kafkabal-pieces"):
        (data / folder).mkdir(parents=True)
        (data / folder / "1").write_bytes(b"x")
    listing = FolderSource(data).listing()
    why = "is a piece of a file, left by a restore that was interrupted"
    assert listing.left_out == [(".kafkabal-pieces/0badcafe/1", why)]
    assert "cat/.kafkabal-pieces/1" in [part.name for part in listing.parts]
    assert FolderSource(data, exclude=[".kafkabal-pieces"]).listing().left_out == []


def test_options_that_make_other_records_are_reported(data: Path) -> None:
    """The key appears under its option, the size of chunks in the name."""
    assert FolderSource(data).options == {}
    assert FolderSource(data, key="label").options == {"--key": "label"}
    assert FolderSource(data, chunk_bytes=5).name == f"{FolderSource(data).name} in chunks of 5"


def test_files_are_listed_a_few_at_a_time() -> None:
    """With threads, results come in order, and at most some dozens of a million files wait for one: a task for each
    would take 1.6 GB of memory."""
    items = iter(range(1000))
    ahead = []
    for number, found in enumerate(map_in_threads(lambda item: -item, items, 2)):
        assert found == -number
        ahead.append(1000 - length_hint(items) - number)
    assert len(ahead) == 1000
    assert max(ahead) <= 33
