"""Runs calls one after the other in a thread that the end of the program does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from queue import SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class DaemonExecutor(Executor):
    """One thread for calls that may wait for brokers: the interpreter waits at its end for the threads of a
    ``ThreadPoolExecutor``, and librdkafka may wait a minute to abort a transaction, or without end for metadata."""

    def __init__(self, name: str) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._thread = Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def submit(self, call: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Queue a call."""
        done: Future[_T] = Future()
        self._calls.put((done, partial(call, *args, **kwargs)))
        return done

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002 - of the protocol
        """End the thread once the queued calls are done."""
        self._calls.put(None)
        if wait:
            self._thread.join()

    def _work(self) -> None:
        while (queued := self._calls.get()) is not None:
            _run(*queued)
            del queued  # a thread that waits for the next call keeps nothing alive


def _run(done: Future[_T], call: Callable[[], _T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        outcome = call()
    except BaseException as error:  # noqa: BLE001 - handed to whoever waits
        done.set_exception(error)
    else:
        done.set_result(outcome)
