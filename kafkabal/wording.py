"""How messages count, list and suggest things: ``1,200 replicas``, ``a, b, c and 12 more``, ``did you mean: disk``."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterable, Sequence
from itertools import islice
from typing import Final

_OF_FOLDERS = {errno.EISDIR: "is a folder", errno.ENOTDIR: "a folder on its path is a file"}
_MOST = 5
"""A message with more names than this is not read to its end."""

WITHOUT_LEADER: Final = "without a leader"
"""Like the next two, what is wrong with ``3 partitions``, whichever command reports it."""
UNDER_MIN_ISR: Final = "under min ISR: producers with acks=all cannot write"
WITH_LAGGING_REPLICAS: Final = "with live replicas out of sync"


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


def replica_list(brokers: Iterable[int]) -> str:
    """``5,6,1``: the replicas of a partition in their order, as Kafka's own tools print them."""
    return ",".join(map(str, brokers))


def first_of(names: Sequence[object], most: int = _MOST, *, separator: str = ", ") -> str:
    """The first few names and the number of the others: ``a, b, c, d, e and 12 more``."""
    shown = separator.join(map(str, islice(names, most)))
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown


def first_brokers(ids: Sequence[int], most: int = _MOST) -> str:
    """The first few brokers: ``broker 3``, ``brokers 1, 2, 3, 4, 5 and 12 more``."""
    return f"{plural(len(ids), 'broker')} {first_of(ids, most)}"


def system_fault(error: Exception) -> str:
    """Why the system refused to use a file: its own text, except that a folder is called a folder in all messages."""
    if not isinstance(error, OSError):
        return str(error)
    return _OF_FOLDERS.get(error.errno or 0) or error.strerror or str(error)


def choice_hint(name: str, known: Collection[str], *, likeness: float = 0.5) -> str:
    """The hint for an unknown name: ``did you mean: disk``, or ``choose from:`` all names if none is like it.

    Parameters
    ----------
    likeness
        How much of both names must be equal, 0 to 1.
    """
    return suggestion(name, known, likeness=likeness) or f"choose from: {', '.join(sorted(known))}"


def suggestion(name: str, known: Collection[str], *, likeness: float = 0.6, most: int = 3) -> str | None:
    """The hint for an unknown name where the known ones are too many to list: ``did you mean: disk``, or None.

    Parameters
    ----------
    likeness
        How much of both names must be equal, 0 to 1.
    most
        How many names are suggested.
    """
    from difflib import get_close_matches  # only an error needs it, and every command would wait for it

    near = get_close_matches(name, known, n=most, cutoff=likeness)
    return f"did you mean: {', '.join(near)}" if near else None
