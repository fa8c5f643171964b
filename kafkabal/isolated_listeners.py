"""Reporters kept away from an engine: what a listener does, suffers or waits for never changes what an engine does.

A terminal that is closed makes every write to it fail, a pager that is stopped makes every write wait. Were that to
reach a run, it would end with moves in flight and throttles set because its output could not be written; a watch would
miss the broker that dies meanwhile.

* :class:`IsolatedListener` is put around every listener of a run and of a watch: one that raises is dropped.
* :class:`BackgroundListener` moves a reporter that writes somewhere to a thread of its own behind a bounded queue.
* :class:`IsolatedListeners` and :class:`Reporters` are several of either as one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Protocol, TypeVar

_E = TypeVar("_E")
_E_contra = TypeVar("_E_contra", contravariant=True)

_LONGEST_FLUSH_S = 2.0
"""A healthy terminal, file or pipe takes the rest of a queue in milliseconds; a blocked one may block forever."""


class Listener(Protocol[_E_contra]):
    """Called for every event of an engine, in order."""

    def on_event(self, event: _E_contra) -> None:
        """Report it."""


class IsolatedListener(Generic[_E]):
    """Passes events on until the listener raises; then drops it.

    Only :class:`Exception` is caught: what ends a process at once, such as a second Ctrl-C, is no error of reporting.
    """

    def __init__(self, listener: Listener[_E]) -> None:
        self._listener: Listener[_E] | None = listener

    def on_event(self, event: _E) -> None:
        """Pass it on, if the listener has not failed yet."""
        if self._listener is None:
            return
        try:
            self._listener.on_event(event)
        except Exception:  # noqa: BLE001 - whatever a reporter raises is no business of the engine
            self._listener = None


class IsolatedListeners(Generic[_E]):
    """Several listeners as one; what one raises reaches neither the engine nor the others."""

    def __init__(self, listeners: Sequence[Listener[_E]]) -> None:
        self._listeners = tuple(IsolatedListener(listener) for listener in listeners)

    def on_event(self, event: _E) -> None:
        """Tell each that has not failed yet."""
        for listener in self._listeners:
            listener.on_event(event)


class BackgroundListener(Generic[_E]):
    """Reports events on a thread of its own; :meth:`on_event` neither waits nor raises, and may be called by a signal.

    Where the reporter cannot keep up, passing events are skipped first, then every event; once it can again, it learns
    how many it has missed. The thread is a daemon: a writer that blocks forever does not keep the process alive.

    Parameters
    ----------
    listener
        Called on the thread only.
    is_passing
        Whether the next event of its kind says all that this one does.
    missed
        The event that tells the reporter how many it has missed; none does if None.
    on_failure
        Called on the thread with what the listener raised, once; after that events are ignored.
    at_end
        Called on the thread after the last event.
    capacity
        Events that may wait; 10,000 are some megabytes and, at an event a moved partition, minutes of a fast run.
    """

    def __init__(
        self,
        listener: Listener[_E],
        *,
        is_passing: Callable[[_E], bool] = lambda _: False,
        missed: Callable[[int], _E] | None = None,
        on_failure: Callable[[Exception], None] = lambda _: None,
        at_end: Callable[[], None] = lambda: None,
        capacity: int = 10_000,
    ) -> None:
        self._listener = listener
        self._is_passing = is_passing
        self._missed = missed
        self._on_failure = on_failure
        self._at_end = at_end
        self._capacity = capacity
        # a SimpleQueue may be filled from a signal handler that interrupts a put; a Queue would deadlock there
        self._queue: SimpleQueue[_E | threading.Event | None] = SimpleQueue()
        self._skipped = 0
        self._has_failed = False
        self._thread: threading.Thread | None = None

    def on_event(self, event: _E) -> None:
        """Leave it for the thread."""
        if self._has_failed:
            return
        waiting, is_passing = self._queue.qsize(), self._is_passing(event)
        if waiting >= self._capacity or (waiting and is_passing):
            self._skipped += not is_passing
            return
        if self._skipped and self._missed is not None:
            skipped, self._skipped = self._skipped, 0
            self._queue.put(self._missed(skipped))
        self._queue.put(event)
        if self._thread is None:
            self._thread = threading.Thread(target=self._report, name="kafkabal-reporter", daemon=True)
            self._thread.start()

    def flush(self, deadline_s: float = _LONGEST_FLUSH_S) -> bool:
        """Wait until everything so far is reported, but not forever; whether it is."""
        if self._thread is None or not self._thread.is_alive():
            return True
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(deadline_s)

    def close(self, deadline_s: float = _LONGEST_FLUSH_S) -> bool:
        """Report the rest and end the thread; False where the reporter is blocked, and is left behind."""
        if self._thread is None:
            return True
        self._queue.put(None)
        self._thread.join(deadline_s)
        return not self._thread.is_alive()

    def _report(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            elif not self._has_failed:
                self._try(lambda item=item: self._listener.on_event(item))  # type: ignore[misc]
        if not self._has_failed:
            self._try(self._at_end)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever a reporter raises is no business of the engine
            self._has_failed = True
            self._on_failure(error)


class Reporters(Generic[_E]):
    """Several background listeners as one; closed at the end of a ``with`` block."""

    def __init__(self, listeners: Sequence[BackgroundListener[_E]]) -> None:
        self._listeners = tuple(listeners)

    def on_event(self, event: _E) -> None:
        """Leave it for each."""
        for listener in self._listeners:
            listener.on_event(event)

    def flush(self) -> None:
        """Wait a little until everything so far is reported."""
        for listener in self._listeners:
            listener.flush()

    def __enter__(self) -> Reporters[_E]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.close()
