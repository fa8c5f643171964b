"""Files of HDFS through its REST interface: right data or one plain error, whatever the data nodes do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

import pytest

from kafkabal.errors import InputFileError
from kafkabal.sources import store_clients
from kafkabal.sources.folder_source import FolderSource
from kafkabal.sources.remote_files import RemoteFile, RemoteFolder
from kafkabal.sources.row_source import RowSource
from tests.unit.sources.records_of import records_of
from tests.unit.sources.served_here import served_here

fsspec = pytest.importorskip("fsspec")
pytest.importorskip("requests")

LOST = "Could not obtain block: BP-1 file=/set/a.jsonl"


class Nodes:
    """What a name node and its data node have, and how they behave."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.refusal: tuple[int, bytes] | None = None
        self.is_name_node_down = False
        self.stalled = ""
        self.end = threading.Event()
        self.url = ""


class Handler(BaseHTTPRequestHandler):
    """Answers for the name node, and below /data for a data node."""

    def log_message(self, *_: object) -> None:
        """Print nothing."""

    def do_GET(self) -> None:
        """Send what the operation asks for."""
        nodes: Nodes = self.server.nodes  # type: ignore[attr-defined]
        whole = urlsplit(self.path)
        operation = {name: values[0] for name, values in parse_qs(whole.query).items()}
        path = unquote(whole.path)
        if nodes.stalled and path.startswith(nodes.stalled):
            nodes.end.wait(60)
        if path.startswith("/data"):
            self._send(*(nodes.refusal or (200, self._range(nodes.files[path.removeprefix("/data")], operation))))
            return
        name = path.removeprefix("/webhdfs/v1")
        if nodes.is_name_node_down:
            self._send(503, b"")
            return
        if operation["op"] == "OPEN":
            self._send(307, b"", f"{nodes.url}/data{quote(name)}?{whole.query}")
        elif operation["op"] == "GETFILESTATUS" and (name in nodes.files or name == "/set"):
            self._send(200, json.dumps({"FileStatus": self._status(name)}).encode())
        elif operation["op"] == "LISTSTATUS" and name == "/set/":
            found = [{**self._status(each), "pathSuffix": each.removeprefix("/set/")} for each in nodes.files]
            self._send(200, json.dumps({"FileStatuses": {"FileStatus": found}}).encode())
        else:
            self._send(404, refusal("FileNotFoundException", f"File {name} does not exist."))

    def _status(self, name: str) -> dict[str, Any]:
        files = self.server.nodes.files  # type: ignore[attr-defined]
        kind = "FILE" if name in files else "DIRECTORY"
        return {"type": kind, "length": len(files.get(name, b"")), "modificationTime": 1}

    def _range(self, data: bytes, operation: dict[str, str]) -> bytes:
        first = int(operation["offset"])
        return data[first : first + int(operation["length"])]

    def _send(self, status: int, body: bytes, location: str = "") -> None:
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def refusal(kind: str, message: str) -> bytes:
    """What a node responds with an error."""
    return json.dumps({"RemoteException": {"exception": kind, "message": message}}).encode()


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    """Both nodes, on this machine."""
    made = Nodes()
    with served_here(Handler, made.end) as server:
        server.nodes = made  # type: ignore[attr-defined]
        made.url = f"http://127.0.0.1:{server.server_port}"
        yield made


def url(nodes: Nodes, path: str) -> str:
    """The URL of a file or folder."""
    return f"webhdfs{nodes.url.removeprefix('http')}{path}"


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        (403, refusal("BlockMissingException", LOST), "could not obtain block: BP-1 file=/set/a.jsonl"),
        (502, b"<html>" + b"Bad Gateway " * 20, "the server responded 502 Bad Gateway"),
        (500, b'{"RemoteException": null}', "the server responded 500 Internal Server Error"),
    ],
)
def test_the_error_of_a_data_node_is_not_taken_for_data(nodes: Nodes, status: int, body: bytes, why: str) -> None:
    """A file or a row that a data node refuses is named with the reason, and never sent with the text of the error."""
    nodes.files = {"/set/a.jsonl": b"1234567890\n" * 3}
    nodes.refusal = status, body
    folder = FolderSource(RemoteFolder(url(nodes, "/set")))
    (part,) = folder.listing().parts
    with pytest.raises(InputFileError, match=f"cannot read: {why}"):
        records_of(folder, part)
    rows = RowSource(RemoteFile(url(nodes, "/set/a.jsonl")))
    with pytest.raises(InputFileError, match="cannot read: "):
        [record for part in rows.listing().parts for record in records_of(rows, part)]
    nodes.refusal = None
    assert records_of(folder, part)[0].value == nodes.files["/set/a.jsonl"]


def test_names_of_hdfs_come_as_they_are(nodes: Nodes) -> None:
    """No character of a name is taken for a part of the URL."""
    names = ["a b.jpg", "100%.jpg", "50%25.jpg", "who?.jpg", "a#1.jpg", "é.jpg", "a&b+c=d.jpg"]
    nodes.files = {f"/set/{name}": name.encode() for name in names}
    folder = FolderSource(RemoteFolder(url(nodes, "/set")))
    found = {part.name: records_of(folder, part)[0].value for part in folder.listing().parts}
    assert found == {name: name.encode() for name in names}


@pytest.mark.parametrize("stalled", ["/webhdfs", "/data"])
def test_a_node_that_does_not_respond_is_given_up(nodes: Nodes, stalled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client waits for either node only so long; the file is named with that reason."""
    monkeypatch.setattr(store_clients, "_TIMEOUTS_S", (0.3, 0.3))
    nodes.files = {"/set/a.jpg": b"a"}
    folder = FolderSource(RemoteFolder(url(nodes, "/set")))
    (part,) = folder.listing().parts
    nodes.stalled = stalled
    with pytest.raises(InputFileError, match=r"cannot read: .*timed out"):
        records_of(folder, part)


def test_a_delegation_token_is_not_shown(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in every URL, which the library would name in its errors; the reason is shown instead."""
    monkeypatch.setitem(fsspec.config.conf, "webhdfs", {"token": "SECRET"})
    nodes.is_name_node_down = True
    with pytest.raises(
        InputFileError, match=r"/set: cannot list: the server responded 503 Service Unavailable$"
    ) as shown:
        FolderSource(RemoteFolder(url(nodes, "/set"))).listing()
    assert "SECRET" not in str(shown.value)
    with pytest.raises(InputFileError, match=r"/set: cannot list: [Cc]onnection refused$"):
        FolderSource(RemoteFolder("webhdfs://127.0.0.1:1/set")).listing()
