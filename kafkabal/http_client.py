"""HTTP requests with the proxies and certificates that the environment names, whose responses always end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkabal.config import PORTS, is_host_name
from kafkabal.connection_faults import connection_fault
from kafkabal.errors import ConfigError

if TYPE_CHECKING:
    import httpx

_SHOWN: Final = 200
"""Characters of an invalid URL in a message."""


def open_http_client(timeout_s: float, transport: httpx.BaseTransport | None = None) -> httpx.Client:
    """Open a client; use it in a ``with`` block, or close it.

    A request raises an ``httpx.HTTPError`` if its response has not ended within the timeout, exceeds 64 MiB, or is
    compressed. Otherwise a server that never ends its response would block its client forever, or fill all memory. A
    request to a port that does not exist raises an ``httpx.InvalidURL``.

    Parameters
    ----------
    timeout_s
        For a whole exchange, from connecting to the last byte of the response. Resolving the host takes as long as the
        system allows.
    transport
        None opens connections.

    Raises
    ------
    ConfigError
        If what the environment names cannot be used.
    """
    # httpx costs a tenth of a second, and few need it
    from kafkabal.bounded_http_client import BoundedHttpClient

    try:
        client = BoundedHttpClient(timeout_s, transport)
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(
            f"HTTP requests are impossible: {error}",
            hint="check HTTP_PROXY, HTTPS_PROXY, ALL_PROXY, SSL_CERT_FILE and SSL_CERT_DIR",
        ) from error
    client.event_hooks["request"].append(_check_port)
    return client


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
