"""Splits long streams into lists that are processed one at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

_T = TypeVar("_T")


def chunked(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield lists of ``size`` items; the last one may be shorter."""
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk
