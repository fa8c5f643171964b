"""HTTP requests with the proxies and certificates that the environment names, whose responses always end."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from kafkabal.config import PORTS, is_host_name
from kafkabal.connection_faults import connection_fault
from kafkabal.errors import ConfigError

if TYPE_CHECKING:
    import httpx

_MOST_BYTES: Final = 2**26
"""Ten times the current value of a metric for each of 100,000 brokers."""
_IDENTITY: Final = "identity"
_SHOWN: Final = 200
"""Characters of an invalid URL in a message."""


def open_http_client(timeout_s: float, transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Open a client; use it in a ``with`` block, or close it.

    A response raises an ``httpx.HTTPError`` if it exceeds 64 MiB, if its body takes longer than the timeout, or if it
    is compressed. Otherwise a server that never ends its response would fill all memory. A request to a port that does
    not exist raises an ``httpx.InvalidURL``.

    Parameters
    ----------
    timeout_s
        For each of these: to connect, to send, to receive some bytes, to receive the body of a response.
    transport
        None opens connections.

    Raises
    ------
    ConfigError
        If what the environment names cannot be used.
    """
    import httpx  # costs a tenth of a second, and few need it

    class BoundedBody(httpx.SyncByteStream):
        """The body of a response, up to a size and a time."""

        def __init__(self, response: httpx.Response) -> None:
            assert isinstance(response.stream, httpx.SyncByteStream)
            self._stream = response.stream
            self._ends_s = time.monotonic() + timeout_s

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in self._stream:
                size += len(part)
                if size > _MOST_BYTES:
                    raise httpx.ReadError(f"the response exceeds {_MOST_BYTES >> 20} MiB")
                if time.monotonic() > self._ends_s:
                    raise httpx.ReadTimeout(f"the response has not ended after {timeout_s:g} s")
                yield part

        def close(self) -> None:
            self._stream.close()

    def bound(response: httpx.Response) -> None:
        if response.headers.get("content-encoding", _IDENTITY) != _IDENTITY:
            raise httpx.DecodingError("the response is compressed")
        response.stream = BoundedBody(response)

    try:
        return httpx.Client(
            timeout=timeout_s,
            transport=transport,
            headers={"accept-encoding": _IDENTITY},
            event_hooks={"request": [_check_port], "response": [bound]},
        )
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"HTTP requests are impossible: {error}",
            hint="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from error


def parsed_url(url: str) -> httpx.URL:
    """Read an http or https URL.

    Raises
    ------
    ConfigError
        If it is none, or no host can have such a name or port; credentials in it are not shown.
    """
    from httpx import URL, InvalidURL

    shown = without_credentials(url)[:_SHOWN]
    try:
        parsed = URL(url)
    except InvalidURL as error:
        raise ConfigError(f"invalid URL: {shown}: {error}") from error
    is_host = bool(parsed.host) and is_host_name(parsed.host) and has_possible_port(parsed)
    if parsed.scheme not in {"http", "https"} or not is_host:
        raise ConfigError(f"invalid URL: {shown}", hint="write it like https://host/path")
    return parsed


def _check_port(request: httpx.Request) -> None:
    from httpx import InvalidURL

    if not has_possible_port(request.url):
        raise InvalidURL(f"port {request.url.port} is not from 1 to 65535")


def has_possible_port(url: httpx.URL) -> bool:
    """Whether a server can be reached at the port; sockets would take another one modulo 65,536."""
    return url.port is None or url.port in PORTS


def without_credentials(url: str) -> str:
    """The URL without a user name and password, for messages."""
    return re.sub(r"//.*@", "//", url)


def http_failure(error: httpx.HTTPError) -> str:
    """Why a request failed: the status of the response, or the reason without the number of the system's error."""
    from httpx import HTTPStatusError

    if isinstance(error, HTTPStatusError):
        return f"HTTP status {error.response.status_code} {error.response.reason_phrase}".rstrip()
    reason = connection_fault(error) or re.sub(r"^\[Errno -?\d+\] (.)", lambda found: found[1].lower(), str(error))
    return reason or type(error).__name__
