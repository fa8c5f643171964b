"""Why a connection to a server failed, in words of our own: libraries wrap the cause in errors with texts of theirs."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from typing import Final

_NOT_TLS: Final = frozenset(
    {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE", "UNKNOWN_PROTOCOL"}
)
"""What versions of OpenSSL call a response that is not a TLS record."""
_CLOSED: Final = "the server closed the connection"
_NOT_HTTP: Final = "the server does not respond in HTTP"
_OF_LIBRARIES: Final = {
    "ServerDisconnectedError": _CLOSED,
    "BadStatusLine": _NOT_HTTP,
    "Server disconnected without sending a response.": _CLOSED,
    "illegal request line": _NOT_HTTP,
    "illegal status line": _NOT_HTTP,
}
"""Names of errors of aiohttp, and texts of those of httpx, that stand for no error of the system."""


def connection_fault(error: BaseException) -> str | None:
    """Why a connection failed, by the first cause of an error that says so; None if none does."""
    return next((words for cause in _causes(error) if (words := _words(cause)) is not None), None)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what has caused it, the outermost first."""
    found: BaseException | None = error
    while found is not None:
        yield found
        found = found.__cause__ or found.__context__


def _words(error: BaseException) -> str | None:
    # errors of aiohttp derive from these, without their attributes
    if isinstance(error, ssl.SSLError) and type(error).__module__ == ssl.__name__:
        return _tls_words(error)
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, ConnectionError):
        return _CLOSED
    return _OF_LIBRARIES.get(type(error).__name__) or _OF_LIBRARIES.get(str(error))


def _tls_words(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate rejected: {error.verify_message}"
    if isinstance(error, ssl.SSLEOFError):
        return _CLOSED
    reason = error.reason or "unknown reason"
    if reason in _NOT_TLS:
        return "the server does not use TLS on this port"
    what = "the server aborted the TLS handshake" if "ALERT" in reason else "TLS failed"
    return f"{what}: {reason.lower().replace('_', ' ')}"
