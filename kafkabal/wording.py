"""How messages count and list things: ``1 replica``, ``1,200 replicas``, ``a, b, c and 12 more``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

_MOST = 5
"""Nobody reads a message with more names than this to its end."""


def counted_noun(n: int, noun: str) -> str:
    """``1 replica``, ``1,200 replicas``."""
    return f"{n:,} {plural(n, noun)}"


def plural(n: int, noun: str) -> str:
    """``replica`` for one, ``replicas`` for any other number."""
    return noun if n == 1 else f"{noun}s"


def brokers_by_id(ids: Iterable[int]) -> str:
    """``broker 3``, ``brokers 3, 7``, in the order given."""
    listed = list(ids)
    return f"{plural(len(listed), 'broker')} {', '.join(map(str, listed))}"


def first_of(names: Sequence[object], most: int = _MOST, *, separator: str = ", ") -> str:
    """The first few names and the number of the others: ``a, b, c, d, e and 12 more``."""
    shown = separator.join(map(str, islice(names, most)))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown
