"""Applies a function to items in several threads, which saves time when each call waits for a store."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from typing import Any, Final

from kafkabal.daemon_executor import DaemonExecutor

_PENDING_A_THREAD: Final = 16
"""Enough for a thread to have work while an earlier item takes long; a task for each of a million files at once would
take 1.6 GB."""


def map_in_threads(function: Callable[[Any], Any], items: Iterator[Any], threads: int) -> Iterator[Any]:
    """Results in order; up to ``threads`` at once, in the calling thread if 0."""
    if not threads:
        yield from map(function, items)
        return
    pending: deque[Future[Any]] = deque()
    with DaemonExecutor("kafkabal-list", threads) as pool:
        for item in items:
            if len(pending) == _PENDING_A_THREAD * threads:
                yield pending.popleft().result()
            pending.append(pool.submit(function, item))
        while pending:
            yield pending.popleft().result()
