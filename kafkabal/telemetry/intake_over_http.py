"""OTLP/HTTP: receives metrics that a forwarding plug-in or a collector posts, as OpenTelemetry specifies.

``POST /v1/metrics`` with ``Content-Type: application/x-protobuf``, plain or gzip. It listens on loopback by default and
does not support TLS: put a proxy before it if you need that.
"""

from __future__ import annotations

import socket
import sys
import zlib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Final

from kafkabal.closing_context import ClosingContext
from kafkabal.errors import UsageError
from kafkabal.telemetry.otlp_metrics import (
    MalformedPayloadError,
    MetricSample,
    PushReceiver,
    read_samples,
    require_extra,
)

PATH: Final = "/v1/metrics"
CONTENT_TYPE: Final = "application/x-protobuf"
DEFAULT_PORT: Final = 4318
"""The registered port of OTLP over HTTP."""

_MAX_BYTES: Final = 4 * 2**20
"""A hundred times the payload of a client with a thousand partitions; limits the memory that an endless body can
take."""
_SILENT_S: Final = 10.0
"""A client that connects and sends nothing holds a thread no longer than this."""
_NAMES_OF_CLIENT: Final = ("client_instance_id", "client.instance.id", "client_id", "client.id", "service.instance.id")
_CLOSING_S: Final = 10.0
"""Long enough to finish the requests being processed."""
_POLL_S: Final = 0.05
"""Closing waits for one poll."""


class HttpIntake(ClosingContext):
    """A server that stores what is posted to it in a table, until it is closed.

    Parameters
    ----------
    host
        A name, or an IPv4 or IPv6 address.
    port
        0 takes any free one, see :attr:`port`.

    Raises
    ------
    UsageError
        If it cannot listen on the address, or the extra ``telemetry`` is not installed.
    """

    def __init__(self, table: PushReceiver, *, host: str = "127.0.0.1", port: int = DEFAULT_PORT) -> None:
        require_extra()
        try:
            self._server = _Server((host, port), table)
        except (OSError, UnicodeError) as error:
            shown = f"[{host}]" if ":" in host else host
            reason = getattr(error, "strerror", None) or error
            raise UsageError(f"cannot listen on {shown}:{port}: {reason}") from error
        self._thread = Thread(target=self._server.serve_forever, args=(_POLL_S,), name="kafkabal-otlp", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Port that it listens on."""
        return int(self._server.server_address[1])

    @property
    def payloads(self) -> int:
        """Number of posts accepted."""
        return self._server.payloads

    @property
    def malformed(self) -> int:
        """Number of posts that were not metrics payloads."""
        return self._server.malformed

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._thread.join(_CLOSING_S)
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], table: PushReceiver) -> None:
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Handler)
        self.table = table
        self.payloads = 0
        self.malformed = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """Print no traceback for a client that resets its connection, as the health checks of load balancers do."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = _SILENT_S
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        status = self._refusal() or self._take()
        self.send_response(status)
        self.send_header("Content-Type", CONTENT_TYPE)
        self.send_header("Content-Length", "0")
        if status is not HTTPStatus.OK:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as in the base class
        """Log nothing: the client sees the status."""

    def _refusal(self) -> HTTPStatus | None:
        length = self.headers.get("Content-Length", "")
        if self.path != PATH:
            return HTTPStatus.NOT_FOUND
        if self.headers.get_content_type() != CONTENT_TYPE:
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if self.headers.get("Content-Encoding", "identity") not in ("identity", "gzip"):
            return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
        if not length.isdecimal():
            return HTTPStatus.LENGTH_REQUIRED
        is_too_large = len(length) > len(str(_MAX_BYTES)) or int(length) > _MAX_BYTES
        return HTTPStatus.REQUEST_ENTITY_TOO_LARGE if is_too_large else None

    def _take(self) -> HTTPStatus:
        length = int(self.headers["Content-Length"])
        body = self.rfile.read(length)
        try:
            if len(body) < length:
                raise EOFError
            samples = read_samples(_decoded(body, self.headers.get("Content-Encoding", "identity")))
        except (MalformedPayloadError, OSError, EOFError, zlib.error):
            self.server.malformed += 1
            return HTTPStatus.BAD_REQUEST
        for client, own in _by_client(samples).items():
            self.server.table.take(client, own)
        self.server.payloads += 1
        return HTTPStatus.OK


def _decoded(body: bytes, encoding: str) -> bytes:
    """The decoded message.

    Raises
    ------
    EOFError
        If it is cut off, or above the size limit.
    """
    if encoding == "identity":
        return body
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 16)
    message = unpacking.decompress(body, _MAX_BYTES)
    if not unpacking.eof:
        raise EOFError
    return message


def _by_client(samples: Iterable[MetricSample]) -> Mapping[str, list[MetricSample]]:
    """Samples by client; clients without an id are distinguished by their other attributes."""
    clients: dict[str, list[MetricSample]] = {}
    for sample in samples:
        clients.setdefault(_client(sample.attributes), []).append(sample)
    return clients


def _client(attributes: Mapping[str, str]) -> str:
    for name in _NAMES_OF_CLIENT:
        if attributes.get(name):
            return attributes[name]
    others = sorted((name, value) for name, value in attributes.items() if not name.startswith("node"))
    return sha256(repr(others).encode()).hexdigest()[:16]
