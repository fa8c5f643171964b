"""Files of a web server: right data or one plain error, whatever the server does."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import pytest

from kafkabal.cli.commands.produce import _source
from kafkabal.cli.commands.produce_command_options import SourceOptions
from kafkabal.cli.framework.command_context import CommandContext
from kafkabal.errors import InputFileError, UsageError
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.remote_files import RemoteFile, RemoteFolder
from kafkabal.sources.row_source import RowSource
from kafkabal.sources.source_protocol import RecordsToSend
from kafkabal.sources.web_index import escaped_path
from tests.unit.sources.records_of import records_of
from tests.unit.sources.served_here import served_here

aiohttp = pytest.importorskip("aiohttp")
fsspec = pytest.importorskip("fsspec")

LARGE = b"".join(b'{"n":"%01000d"}\n' % n for n in range(7000))
"""More than fsspec reads at once."""


class Site:
    """What a web server has, and how it behaves."""

    def __init__(self) -> None:
        self.files: dict[str, Any] = {}
        self.pages: dict[str, Any] = {}
        self.statuses: dict[str, int] = {}
        self.redirects: dict[str, str] = {}
        self.tag = "1"
        self.has_ranges = True
        self.announces_no_ranges = False
        self.has_lengths = True
        self.missing_bytes = 0
        self.while_sent: dict[str, Callable[[], None]] = {}
        self.stalled: set[str] = set()
        self.end = threading.Event()
        self.url = ""

    def index(self, path: str, links: list[str]) -> None:
        """Add an index page."""
        self.pages[path] = "".join(f'<a href="{link}">x</a>\n' for link in links)


class Handler(BaseHTTPRequestHandler):
    """Answers as the site of the server says."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        """Send what a GET would, without the body."""
        self._respond(is_get=False)

    def do_GET(self) -> None:
        """Send a page or a file."""
        self._respond(is_get=True)

    @property
    def _site(self) -> Site:
        site: Site = self.server.site  # type: ignore[attr-defined]
        return site

    def _respond(self, *, is_get: bool) -> None:
        site = self._site
        path = unquote(self.path.partition("?")[0], errors="surrogateescape")
        if is_get and path in site.stalled:
            site.end.wait(60)
        if path in site.redirects:
            self._head(302, [("Location", site.redirects[path])])
        elif path in site.statuses or path not in site.pages | site.files:
            self._head(site.statuses.get(path, 404), [("Content-Length", "0")])
        elif path in site.pages:
            page = site.pages[path].encode()
            self._head(200, [("Content-Type", "text/html; charset=utf-8"), ("Content-Length", str(len(page)))])
            self.wfile.write(page if is_get else b"")
        else:
            self._send(site.files[path], is_get=is_get, change=site.while_sent.pop(path, None) if is_get else None)

    def _send(self, data: bytes, *, is_get: bool, change: Callable[[], None] | None) -> None:
        site = self._site
        given = self.headers.get("Range") if site.has_ranges else None
        headers = [("ETag", site.tag), ("Content-Type", "application/octet-stream")]
        if site.announces_no_ranges:
            headers.append(("Accept-Ranges", "none"))
        status, body = 200, data
        if given:
            first, last = given.removeprefix("bytes=").split("-")
            status, body = 206, data[int(first) : int(last) + 1]
            headers.append(("Content-Range", f"bytes {first}-{int(first) + len(body) - 1}/{len(data)}"))
        if site.has_lengths:
            headers.append(("Content-Length", str(len(body))))
        self._head(status, headers)
        if change is not None:
            change()
        self.wfile.write(body[: len(body) - site.missing_bytes] if is_get else b"")

    def _head(self, status: int, headers: list[tuple[str, str]]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def site() -> Iterator[Site]:
    """A web server on this machine."""
    made = Site()
    with served_here(Handler, made.end) as server:
        server.site = made  # type: ignore[attr-defined]
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made


def sent(source: FolderSource) -> dict[str, bytes]:
    """Values of all files, by their paths."""
    parts = source.listing().parts
    return {part.name: record.value for part in parts for record in records_of(source, part)}


def rows(url: str, **fields: str) -> list[bytes]:
    """Values of all rows of a file."""
    source = RowSource(RemoteFile(url), **fields)  # type: ignore[arg-type]
    (part,) = source.listing().parts
    return [record.value for record in records_of(source, part)]


NAMES = ["plain.jpg", "a b.jpg", "100%.jpg", "50%25.jpg", "who?.jpg", "a#1.jpg", "é.jpg", "a&b+c.jpg", "\udcff.jpg"]


@pytest.mark.parametrize("read_ahead", [0, 4])
@pytest.mark.parametrize("folder", ["/set", "/my set"])
def test_index_pages_are_followed(site: Site, folder: str, read_ahead: int) -> None:
    """Names with any character come as on a disk; a file of one name in each of two folders is sent from both."""
    above = folder.rpartition("/")[0] + "/"
    sorted_by = ["?C=N;O=D", "?C=M;O=A", f"{quote(folder)}/?C=S", "#top", "mailto:a@b", "http://[", above, "../"]
    links = [
        *sorted_by,
        *map(escaped_path, NAMES),
        "x&amp;y.jpg",
        "./cat/",
        f"{quote(folder)}/dog/",
        "http://other.example/x.jpg",
    ]
    site.index(f"{folder}/", links)
    site.index(f"{folder}/cat/", ["plain.jpg", "deep/a.jpg"])
    site.index(f"{folder}/dog/", ["./plain.jpg"])
    expected = {
        name: os.fsencode(name) for name in [*NAMES, "x&y.jpg", "cat/plain.jpg", "cat/deep/a.jpg", "dog/plain.jpg"]
    }
    site.files = {f"{folder}/{name}": data for name, data in expected.items()}
    assert sent(FolderSource(RemoteFolder(site.url + folder), read_ahead=read_ahead)) == expected
    assert sent(FolderSource(RemoteFolder(f"{site.url}{quote(folder)}/"), read_ahead=read_ahead)) == expected


@pytest.mark.parametrize(
    ("status", "why"), [(403, "the server responded 403 Forbidden"), (500, "the server responded 500")]
)
def test_what_a_server_refuses_is_named_with_its_answer(site: Site, status: int, why: str) -> None:
    """A folder or file that is refused is not called missing, and not skipped silently either."""
    site.index("/set/", ["a.jpg", "b.jpg", "gone.jpg", "closed/"])
    site.files["/set/b.jpg"] = b"b"
    site.statuses = {"/set/a.jpg": status, "/set/closed/": status}
    source = FolderSource(RemoteFolder(f"{site.url}/set"))
    listing = source.listing()
    assert [part.name for part in listing.parts] == ["b.jpg"]
    assert [name for name, _ in listing.left_out] == ["a.jpg", "closed", "gone.jpg"]
    assert listing.left_out[0][1].startswith(f"cannot read: {why}")
    assert listing.left_out[1][1].startswith(f"cannot read: {why}")
    assert listing.left_out[2][1] == "cannot read: no such file or folder"
    site.statuses["/rows.jsonl"] = site.statuses["/set/"] = status
    with pytest.raises(InputFileError, match=f"/rows.jsonl: cannot read: {why}"):
        rows(f"{site.url}/rows.jsonl")
    with pytest.raises(InputFileError, match=f"/set: cannot list: {why}"):
        source.listing()


@pytest.mark.parametrize("name", ["absent.jsonl", "absent", "absent/"])
def test_what_a_server_does_not_have_is_missing(site: Site, name: str) -> None:
    """A file or folder that does not exist is one error."""
    with pytest.raises(InputFileError, match="no such file or folder"):
        _source(f"{site.url}/{name}", SourceOptions(), [], CommandContext(environ={})).listing()


def test_a_page_with_links_is_a_folder_and_a_file_is_not(site: Site) -> None:
    """A web server has no folders: those are its pages that link to something below them."""
    site.redirects["/set"] = "/set/"
    site.index("/set/", ["a.jpg"])
    site.index("/page", ["/set/"])
    site.files = {"/set/a.jpg": b"a", "/rows.jsonl": b"1\n"}

    def source(url: str) -> Any:
        return _source(site.url + url, SourceOptions(), [], CommandContext(environ={}))

    assert isinstance(source("/set"), FolderSource)
    assert isinstance(source("/set/"), FolderSource)
    assert isinstance(source("/rows.jsonl"), RowSource)
    with pytest.raises(UsageError, match="/page: unknown file format"):
        source("/page")
    assert rows(f"{site.url}/rows.jsonl?key=a/b") == [b"1"]


def test_redirects_are_followed(site: Site) -> None:
    """A file may have moved; one that leads back to itself is an error."""
    site.files["/new.jsonl"] = b"1\n2\n"
    site.redirects = {"/old.jsonl": "/new.jsonl", "/loop.jsonl": "/loop.jsonl"}
    assert rows(f"{site.url}/old.jsonl") == [b"1", b"2"]
    with pytest.raises(InputFileError, match="cannot read: "):
        rows(f"{site.url}/loop.jsonl")


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
@pytest.mark.parametrize("missing_bytes", [1, 3, 12])
def test_a_response_that_is_cut_off_ends_the_run_without_half_a_row(site: Site, name: str, missing_bytes: int) -> None:
    """The rows before are sent; part of a row is not, and neither is the file taken for whole."""
    site.files[f"/{name}"] = b"n\n" + b"1234567890\n" * 3
    site.missing_bytes = missing_bytes
    source = RowSource(RemoteFile(f"{site.url}/{name}"))
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match=f"{name}: cannot read: ClientPayloadError"):
        list(source.blocks([RecordsToSend(0, 0, part)]))


def test_a_file_that_is_cut_off_is_not_sent(site: Site) -> None:
    """It is named, and the others of its folder are sent."""
    site.index("/set/", ["a.jpg"])
    site.files["/set/a.jpg"] = b"123"
    site.missing_bytes = 1
    source = FolderSource(RemoteFolder(f"{site.url}/set"))
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="cannot read: ClientPayloadError"):
        records_of(source, part)


@pytest.mark.parametrize("fields", [{}, {"key_field": "n"}])
def test_a_large_file_comes_in_ranges(site: Site, fields: dict[str, str]) -> None:
    """Every row arrives once; a server without ranges is an error, after rows that were read anyway."""
    site.files["/a.jsonl"] = LARGE
    assert b"\n".join(rows(f"{site.url}/a.jsonl", **fields)) + b"\n" == LARGE
    site.has_ranges = False
    with pytest.raises(InputFileError, match="cannot read: the server sends no ranges of files"):
        rows(f"{site.url}/a.jsonl", **fields)
    site.announces_no_ranges = True
    assert b"\n".join(rows(f"{site.url}/a.jsonl", **fields)) + b"\n" == LARGE


def test_a_server_without_ranges_sends_whole_files(site: Site) -> None:
    """A stream gives what has arrived, which is not the whole file yet."""
    site.index("/set/", ["a.bin"])
    site.files["/set/a.bin"] = LARGE
    site.has_ranges, site.announces_no_ranges = False, True
    folder = RemoteFolder(f"{site.url}/set")
    assert sent(FolderSource(folder)) == {"a.bin": LARGE}
    chunks = FolderSource(folder, chunk_bytes=1_000_000)
    (part,) = chunks.listing().parts
    assert b"".join(record.value for record in records_of(chunks, part)) == LARGE


def test_a_table_is_read_from_its_end(site: Site, tmp_path: Path) -> None:
    """Parquet is read in the order of its columns, which takes ranges."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"n": [1, 2], "b": [b"x", b"y"]}), tmp_path / "a.parquet")
    site.files["/a.parquet"] = (tmp_path / "a.parquet").read_bytes()
    assert rows(f"{site.url}/a.parquet", value_field="b") == [b"x", b"y"]
    site.missing_bytes = 1
    with pytest.raises(InputFileError, match=r"a\.parquet: cannot read: ClientPayloadError"):
        rows(f"{site.url}/a.parquet", value_field="b")


def test_a_size_that_is_not_reported_is_an_error(site: Site) -> None:
    """Such a file is not called empty."""
    site.index("/set/", ["a.jsonl"])
    site.files["/set/a.jsonl"] = b"1\n"
    site.has_lengths = False
    with pytest.raises(InputFileError, match=r"a\.jsonl: cannot read: the store does not report its size"):
        rows(f"{site.url}/set/a.jsonl")
    listing = FolderSource(RemoteFolder(f"{site.url}/set")).listing()
    assert listing.left_out == [("a.jsonl", "cannot read: the store does not report its size")]


def test_a_server_that_does_not_respond_is_given_up(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time limit of the client ends it; the file is named with that reason."""
    limits = {"client_kwargs": {"timeout": aiohttp.ClientTimeout(total=0.2)}}
    monkeypatch.setitem(fsspec.config.conf, "http", limits)
    site.index("/set/", ["a.jsonl"])
    site.files["/set/a.jsonl"] = b"1\n"
    site.stalled.add("/set/a.jsonl")
    with pytest.raises(InputFileError, match=r"a\.jsonl: cannot read: timed out"):
        rows(f"{site.url}/set/a.jsonl")
    source = FolderSource(RemoteFolder(f"{site.url}/set"))
    (part,) = source.listing().parts
    with pytest.raises(InputFileError, match="cannot read: timed out"):
        records_of(source, part)
    site.stalled.add("/set/")
    with pytest.raises(InputFileError, match="cannot list: timed out"):
        source.listing()


@pytest.mark.parametrize("has_new_tag", [True, False])
def test_a_file_that_changes_while_it_is_read_is_not_sent(site: Site, has_new_tag: bool) -> None:
    """Its ETag or its size shows that."""
    site.index("/set/", ["a.jpg"])
    site.files["/set/a.jpg"] = b"123"
    source = FolderSource(RemoteFolder(f"{site.url}/set"))
    (part,) = source.listing().parts

    def change() -> None:
        site.tag = "2" if has_new_tag else "1"
        site.files["/set/a.jpg"] = b"456" if has_new_tag else b"4567"

    site.while_sent["/set/a.jpg"] = change
    with pytest.raises(InputFileError, match="changed while it was being sent"):
        records_of(source, part)
    (part,) = source.listing().parts
    assert records_of(source, part)[0].value == site.files["/set/a.jpg"]


def test_a_port_that_nobody_serves_is_one_error() -> None:
    """The reason is named for a file and for a folder."""
    for url in ("http://127.0.0.1:1/rows.jsonl", "http://127.0.0.1:1/set/"):
        with pytest.raises(InputFileError, match=f"{url}: cannot .*: connection refused"):
            _source(url, SourceOptions(), [], CommandContext(environ={})).listing()
