"""HTTP responses that never end, or are larger than any real one."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from time import sleep

import httpx
import pytest

from kafkabal.http_client import http_failure, open_http_client

Respond = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def server(respond: Respond, protocol: str = "HTTP/1.0") -> Iterator[str]:
    """The URL of a server that responds in this way after its status."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = protocol

        def do_GET(self) -> None:
            self.send_response(200)
            with suppress(OSError):  # the client has gone
                respond(self)

        def log_message(self, *words: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as made:
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{made.server_port}/"
        finally:
            made.shutdown()
            thread.join()


def endless(handler: BaseHTTPRequestHandler) -> None:
    """As fast as it can."""
    handler.end_headers()
    while True:
        handler.wfile.write(bytes(1 << 20))


def dripping_body(handler: BaseHTTPRequestHandler) -> None:
    """A byte before each timeout."""
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        sleep(0.05)


def dripping_headers(handler: BaseHTTPRequestHandler) -> None:
    """A byte of a header before each timeout."""
    handler.flush_headers()
    while True:
        handler.wfile.write(b"x")
        sleep(0.05)


def compressed(handler: BaseHTTPRequestHandler) -> None:
    """A small body that unpacks to a large one."""
    handler.send_header("Content-Encoding", "gzip")
    handler.end_headers()
    handler.wfile.write(gzip.compress(bytes(1 << 20)))


@pytest.mark.parametrize(
    ("respond", "timeout_s", "kind", "message"),
    [
        (endless, 60.0, httpx.ReadError, "the response exceeds 64 MiB"),
        (dripping_body, 0.5, httpx.ReadTimeout, "the response has not ended after 0.5 s"),
        (dripping_headers, 0.5, httpx.ReadTimeout, "the response has not ended after 0.5 s"),
        (compressed, 5.0, httpx.DecodingError, "the response is compressed"),
    ],
)
def test_responses_without_end(respond: Respond, timeout_s: float, kind: type[httpx.HTTPError], message: str) -> None:
    """Each ends with an error that its caller reports as any other fault of the server, and fills no memory."""
    with server(respond) as url, open_http_client(timeout_s) as client, pytest.raises(kind, match=message):
        client.get(url)


def test_usual_responses_are_read() -> None:
    """The body of a response, with and without its length."""

    def respond(handler: BaseHTTPRequestHandler) -> None:
        handler.end_headers()
        handler.wfile.write(b"text")

    with server(respond) as url, open_http_client(5.0) as client:
        assert client.get(url).text == "text"


def test_every_exchange_of_a_client_has_its_deadline() -> None:
    """A later request to a server that keeps connections open ends in time too."""
    asked: list[str] = []

    def respond(handler: BaseHTTPRequestHandler) -> None:
        asked.append(handler.path)
        if len(asked) > 1:
            dripping_headers(handler)
        handler.send_header("Content-Length", "4")
        handler.end_headers()
        handler.wfile.write(b"text")

    with server(respond, protocol="HTTP/1.1") as url, open_http_client(0.5) as client:
        assert client.get(url).text == "text"
        with pytest.raises(httpx.ReadTimeout, match="has not ended after"):
            client.get(url)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "connection refused"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "name or service not known"),
        (httpx.ReadTimeout("timed out"), "timed out"),
        (httpx.ReadError(""), "ReadError"),
    ],
)
def test_a_failure_is_said_in_words(error: httpx.HTTPError, words: str) -> None:
    """Numbers of the operating system's errors are left out, and no failure is without a reason."""
    assert http_failure(error) == words
