"""Decode the response to a request; kafka-python makes what it takes for that at the first use, and not thread-safely.

It makes a class for each version of a response and keeps it in two places, in the second by a weak reference only. Two
threads that ask brokers at the same time make two; where each place then holds another one, the weakly held is
collected, and from then on every response of that kind ended the run with a ``ReferenceError``.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final

_FIRST_USE: Final = Lock()
# kafka-python's classes are those of the whole process too; kind of request and version
_DECODED: Final[set[tuple[int, int]]] = set()


def decode_response(request: Any, frame: memoryview) -> Any:
    """From a frame without its length to a message of kafka-python, whose request has the header that it was sent with.

    May be called by several threads. Raises what kafka-python raises on a frame that is no such response.
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
