"""Decodes responses with a lock around kafka-python's first use of a decoder, which is not thread-safe.

kafka-python creates a class for each version of a response and stores it in two places, one of them a weak reference.
Two threads that send requests at the same time create two classes; if each place then holds another one, the weakly
referenced class is collected, and from then on every response of that kind ended the run with a ``ReferenceError``.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

_FIRST_USE: Final = Lock()
# process-wide, like kafka-python's classes; kind of request and version
_DECODED: Final[set[tuple[int, int]]] = set()


def decode_response(request: Any, frame: memoryview) -> Any:
    """Decode a frame without its length into a kafka-python message; the request must have the header it was sent with.

    Thread-safe. Raises what kafka-python raises for a frame that is not such a response.
    """
    header = request.header
    kind = header.request_api_key, header.request_api_version
    if kind in _DECODED:
        return _decoded(header, frame)
    with _FIRST_USE:
        response = _decoded(header, frame)
    _DECODED.add(kind)
    return response


def _decoded(header: Any, frame: memoryview) -> Any:
    return header.get_response_class().decode(frame, header=True)
