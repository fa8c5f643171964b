"""An HTTP client whose exchanges always end: each has one deadline, and its response is bounded."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import httpx

_MOST_BYTES: Final = 2**26
"""Ten times the current value of a metric for each of 100,000 brokers."""
_IDENTITY: Final = "identity"


class BoundedHttpClient(httpx.Client):
    """A client that raises an ``httpx.HTTPError`` for a response that is late, larger than 64 MiB, or compressed.

    Parameters
    ----------
    timeout_s
        For a whole exchange, from connecting to the last byte of the response.
    transport
        None opens connections.
    """

    def __init__(self, timeout_s: float, transport: httpx.BaseTransport | None = None) -> None:
        super().__init__(
            timeout=timeout_s,
            transport=transport,
            headers={"accept-encoding": _IDENTITY},
            limits=httpx.Limits(max_keepalive_connections=0),  # only new connections learn of a deadline
            event_hooks={"response": [_bound]},
        )
        self._timeout_s = timeout_s

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        """Send a request, and read the response."""
        with _Deadline(self._timeout_s) as deadline:
            request.extensions = {**request.extensions, "trace": deadline.follow}
            try:
                response = super().send(request, **options)
            except httpx.TransportError:
                if not deadline.is_over:
                    raise
            else:
                # a response without a length seems complete when its connection is shut down
                if not deadline.is_over:
                    return response
        raise httpx.ReadTimeout(f"the response has not ended after {self._timeout_s:g} s", request=request)


class _Deadline:
    """Shuts down the connection of an exchange when its time is over.

    The timeouts of httpx bound each read and each write: a server that sends a byte a second would hold up its client
    for hours.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timer = threading.Timer(timeout_s, self._expire)
        self._timer.daemon = True
        self._socket: socket.socket | None = None
        self.is_over = False

    def __enter__(self) -> _Deadline:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def follow(self, _: str, info: Mapping[str, Any]) -> None:
        """Note a new connection; called by httpx with every step of the exchange."""
        stream: Any = info.get("return_value")
        if hasattr(stream, "get_extra_info"):
            self._socket = stream.get_extra_info("socket")
            if self.is_over:
                self._shut_down()

    def _expire(self) -> None:
        self.is_over = True
        self._shut_down()

    def _shut_down(self) -> None:
        # closing it would not wake the thread that reads from it
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _BoundedBody(httpx.SyncByteStream):
    """The body of a response, up to a size."""

    def __init__(self, stream: httpx.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        size = 0
        for part in self._stream:
            size += len(part)
            if size > _MOST_BYTES:
                raise httpx.ReadError(f"the response exceeds {_MOST_BYTES >> 20} MiB")
            yield part

    def close(self) -> None:
        self._stream.close()


def _bound(response: httpx.Response) -> None:
    if response.headers.get("content-encoding", _IDENTITY) != _IDENTITY:
        raise httpx.DecodingError("the response is compressed")
    assert isinstance(response.stream, httpx.SyncByteStream)
    response.stream = _BoundedBody(response.stream)
