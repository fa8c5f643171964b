"""Threads that read from a file system or store, which may take minutes to respond."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Self, TypeAlias

_Task: TypeAlias = "tuple[Future[Any], Callable[[Any], Any], Any]"


class ReaderThreads:
    """Runs calls in order, several at once. Neither the end of the ``with`` block nor that of the program waits for a
    call that is running, as both do with a ``ThreadPoolExecutor``: a run that is interrupted has to end."""

    def __init__(self, threads: int, name: str) -> None:
        self._threads = threads
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        for _thread in range(threads):
            Thread(target=_work, args=(self._tasks,), name=name, daemon=True).start()

    def submit(self, function: Callable[[Any], Any], item: Any) -> Future[Any]:
        """Queue a call."""
        done: Future[Any] = Future()
        self._tasks.put((done, function, item))
        return done

    def __enter__(self) -> Self:
        """Start."""
        return self

    def __exit__(self, *_: object) -> None:
        """Drop queued calls, and end each thread after the call that it is running."""
        with suppress(Empty):
            while True:
                self._tasks.get_nowait()
        for _thread in range(self._threads):
            self._tasks.put(None)


def _work(tasks: SimpleQueue[_Task | None]) -> None:
    while (task := tasks.get()) is not None:
        done, function, item = task
        try:
            done.set_result(function(item))
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            done.set_exception(error)
        del task, done, item  # a thread that waits for the next call keeps no file in memory
