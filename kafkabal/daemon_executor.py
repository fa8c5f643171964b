"""Runs calls in threads that the end of the program does not wait for."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, ParamSpec, TypeAlias, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_Call: TypeAlias = "tuple[Future[Any], Callable[[], Any]]"


class DaemonExecutor(Executor):
    """Threads for calls that may take minutes, such as those to brokers or to a store that does not respond: the
    interpreter waits at its end for the threads of a ``ThreadPoolExecutor``, but not for these.

    Parameters
    ----------
    name
        Of the threads.
    threads
        How many calls run at once; they begin in order.
    """

    def __init__(self, name: str, threads: int = 1) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._threads = [Thread(target=_work, args=(self._calls,), name=name, daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def submit(self, call: Callable[_P, _T], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_T]:
        """Queue a call."""
        done: Future[_T] = Future()
        self._calls.put((done, partial(call, *args, **kwargs)))
        return done

    def __exit__(self, *_: object) -> None:
        """Drop queued calls, and wait for none, as an interrupted run has to end."""
        self.shutdown(wait=False, cancel_futures=True)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End each thread once the queued calls are done, or dropped."""
        if cancel_futures:
            with suppress(Empty):
                while (queued := self._calls.get_nowait()) is not None:
                    queued[0].cancel()
        for _thread in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()


def _work(calls: SimpleQueue[_Call | None]) -> None:
    while (queued := calls.get()) is not None:
        _run(*queued)
        del queued  # a thread that waits for the next call keeps nothing alive


def _run(done: Future[_T], call: Callable[[], _T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        outcome = call()
    except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
        done.set_exception(error)
    else:
        done.set_result(outcome)
