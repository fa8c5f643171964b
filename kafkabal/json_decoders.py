"""Decoders of JSON into types, which several threads may create at once.

msgspec (0.22) examines a ``Struct`` when its first decoder is created, and keeps what it has found so far where other
threads see it. If one of them creates a decoder of that type meanwhile, it uses the unfinished part, and the process
crashes. Clusters of a fleet are read in threads.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, TypeVar, overload

import msgspec

T = TypeVar("T")

_EXAMINING: Final = threading.Lock()


@overload
def json_decoder(kind: type[T], dec_hook: Callable[[type, Any], Any] | None = None) -> msgspec.json.Decoder[T]: ...
@overload
def json_decoder(kind: Any, dec_hook: Callable[[type, Any], Any] | None = None) -> msgspec.json.Decoder[Any]: ...
def json_decoder(kind: Any, dec_hook: Callable[[type, Any], Any] | None = None) -> msgspec.json.Decoder[Any]:
    """A decoder of values of this type; ``dec_hook`` converts those of types that msgspec does not know."""
    with _EXAMINING:
        return msgspec.json.Decoder(kind, dec_hook=dec_hook)


def converted(value: Any, kind: type[T]) -> T:
    """A decoded value as this type.

    Raises
    ------
    msgspec.ValidationError
        If it does not match the type.
    """
    with _EXAMINING:
        return msgspec.convert(value, kind)
