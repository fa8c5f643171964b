"""What is said of a server that speaks another protocol, or hangs up."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from kafkabal.connection_faults import connection_fault
from kafkabal.http_client import http_failure, open_http_client
from kafkabal.sources import RemoteFile


@contextmanager
def port_that_responds(response: bytes) -> Iterator[int]:
    """The port of a server that sends this to each client, whatever it asks for, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def respond() -> None:
            while True:
                try:
                    client, _ = listening.accept()
                except OSError:  # closed by the test
                    return
                with client:
                    client.recv(65536)
                    client.sendall(response)

        thread = threading.Thread(target=respond)
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize(
    ("scheme", "response", "words"),
    [
        ("https", b"HTTP/1.0 400 Bad Request\r\n\r\n", "the server does not use TLS on this port"),
        ("https", b"\x15\x03\x03\x00\x02\x02\x28", "the server aborted the TLS handshake: "),
        ("https", b"", "the server closed the connection"),
        ("http", b"\x00\x00\x00\x04abcd", "the server does not respond in HTTP"),
        ("http", b"", "the server closed the connection"),
    ],
)
def test_a_server_of_another_protocol_is_named_in_plain_words(scheme: str, response: bytes, words: str) -> None:
    """A web server, a store or a webhook gets the same words, and none of a library's."""
    with port_that_responds(response) as port:
        url = f"{scheme}://127.0.0.1:{port}/rows.jsonl"
        with pytest.raises(httpx.HTTPError) as over_httpx, open_http_client(5.0) as client:
            client.get(url)
        with pytest.raises(OSError, match=words) as of_store:
            RemoteFile(url).version()
    assert http_failure(over_httpx.value).startswith(words)
    assert (of_store.value.strerror or "").startswith(words)


def test_faults_that_are_not_of_the_connection_are_left_to_others() -> None:
    """An error of a library that is one of ssl without its attributes is not read, and its cause is."""

    class OfLibrary(ssl.SSLError):
        """As aiohttp derives its own: without a reason."""

    wrapped = OfLibrary()
    assert connection_fault(wrapped) is None
    wrapped.__cause__ = ConnectionRefusedError()
    assert connection_fault(wrapped) == "connection refused"
    assert connection_fault(ValueError("x")) is None
