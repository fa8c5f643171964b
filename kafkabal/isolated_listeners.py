"""Isolates reporters from an engine: an error or delay in a listener never changes what the engine does.

Every write to a closed terminal fails; every write to a stopped pager blocks. If that reached a run, it would end with
reassignments in flight and throttles set because its output could not be written; a watch would miss a broker that dies
meanwhile.

* :class:`IsolatedListener` wraps every listener of a run and of a watch: one that raises is dropped.
* :class:`BackgroundListener` runs a reporter that does I/O on its own thread, behind a bounded queue.
* :class:`IsolatedListeners` and :class:`Reporters` combine several of them into one.
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
"""A healthy terminal, file or pipe takes the rest of a queue within milliseconds; a blocked one may block forever."""


class Listener(Protocol[_E_contra]):
    """Called for every event of an engine, in order."""

    def on_event(self, event: _E_contra) -> None:
        """Report the event."""


class IsolatedListener(Generic[_E]):
    """Forwards events until the listener raises; then drops it.

    Only :class:`Exception` is caught: what ends the process at once, such as a second Ctrl-C, is not a reporting error.
    """

    def __init__(self, listener: Listener[_E]) -> None:
        self._listener: Listener[_E] | None = listener

    def on_event(self, event: _E) -> None:
        """Forward the event, unless the listener has failed."""
        if self._listener is None:
            return
        try:
            self._listener.on_event(event)
        except Exception:  # noqa: BLE001 - an error of a reporter must not stop the engine
            self._listener = None


class IsolatedListeners(Generic[_E]):
    """Combines several listeners; an error in one reaches neither the engine nor the others."""

    def __init__(self, listeners: Sequence[Listener[_E]]) -> None:
        self._listeners = tuple(IsolatedListener(listener) for listener in listeners)

    def on_event(self, event: _E) -> None:
        """Forward the event to each listener that has not failed."""
        for listener in self._listeners:
            listener.on_event(event)


class BackgroundListener(Generic[_E]):
    """Reports events on its own thread; :meth:`on_event` never blocks or raises, and may be called from a signal
    handler.

    If the reporter cannot keep up, passing events are skipped first, then all; once it has caught up, an event says how
    many it missed. The thread is a daemon: a writer that blocks forever does not keep the process alive.

    Parameters
    ----------
    listener
        Called on the thread only.
    is_passing
        Whether an event may be skipped because the next one of its kind supersedes it.
    missed
        Makes the event that tells the reporter how many events it missed; None to send none.
    on_failure
        Called on the thread, once, with the error that the listener raised; later events are ignored.
    at_end
        Called on the thread after the last event, even if there was none.
    capacity
        Most events that may be queued; 10,000 are some megabytes and, at one event per moved partition, minutes of a
        fast run.
    """

    def __init__(
        self,
        listener: Listener[_E],
        *,
        is_passing: Callable[[_E], bool] = lambda _: False,
        missed: Callable[[int], _E] | None = None,
        on_failure: Callable[[Exception], None] = lambda _: None,
        at_end: Callable[[], None] | None = None,
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
        self._has_ended = threading.Event()
        self._thread: threading.Thread | None = None

    def on_event(self, event: _E) -> None:
        """Queue the event for the thread."""
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
            self._thread = self._started()

    def flush(self, deadline_s: float = _LONGEST_FLUSH_S) -> bool:
        """Wait, within the deadline, until everything so far is reported; returns whether it is."""
        if self._thread is None or not self._thread.is_alive():
            return True
        reached = threading.Event()
        self._queue.put(reached)
        return reached.wait(deadline_s)

    def close(self, deadline_s: float = _LONGEST_FLUSH_S) -> bool:
        """Report the rest and end the thread; False if the reporter is blocked, and the thread is abandoned."""
        if self._thread is None:
            if self._at_end is None:
                return True
            self._thread = self._started()
        self._queue.put(None)
        # a join that a signal interrupts takes the thread for ended, at least in Python 3.11
        if not self._has_ended.wait(deadline_s):
            return False
        self._thread.join()
        return True

    def _started(self) -> threading.Thread:
        thread = threading.Thread(target=self._report, name="kafkabal-reporter", daemon=True)
        thread.start()
        return thread

    def _report(self) -> None:
        try:
            self._report_all()
        finally:
            self._has_ended.set()

    def _report_all(self) -> None:
        while (item := self._queue.get()) is not None:
            if isinstance(item, threading.Event):
                item.set()
            elif not self._has_failed:
                self._try(lambda item=item: self._listener.on_event(item))  # type: ignore[misc]
        if not self._has_failed and self._at_end is not None:
            self._try(self._at_end)

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except Exception as error:  # noqa: BLE001 - an error of a reporter must not stop the engine
            self._has_failed = True
            self._on_failure(error)


class Reporters(Generic[_E]):
    """Combines several background listeners; closes them at the end of a ``with`` block."""

    def __init__(self, listeners: Sequence[BackgroundListener[_E]]) -> None:
        self._listeners = tuple(listeners)

    def on_event(self, event: _E) -> None:
        """Queue the event for each listener."""
        for listener in self._listeners:
            listener.on_event(event)

    def flush(self) -> None:
        """Wait briefly until everything so far is reported."""
        for listener in self._listeners:
            listener.flush()

    def __enter__(self) -> Reporters[_E]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.close()
