"""Reporters kept away from the run: what a listener does, suffers or waits for never changes what an engine does.

A terminal that is closed makes every write to it fail, a pager that is stopped makes every write wait. Were that to
reach the engine, a run would end with moves in flight and throttles set because its output could not be written.

* :class:`IsolatedListener` is put around every listener by
  :class:`~kafkabal.executor.run_environment.RunEnvironment`: a listener that raises is dropped, and the run goes on.
* :class:`BackgroundListener` moves a reporter that writes somewhere to a thread of its own behind a bounded queue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from types import TracebackType

from kafkabal.executor.run_events import Event, Progress, RunListener, Warned

_LONGEST_FLUSH_S = 2.0
"""A healthy terminal, file or pipe takes the rest of a queue in milliseconds; a blocked one may block forever."""


class IsolatedListener:
    """Passes events on until the listener raises; then drops it.

    Only :class:`Exception` is caught: :class:`~kafkabal.executor.safety.stop_request.HardStop` and a crash made by a
    test are not errors of reporting.
    """

    def __init__(self, listener: RunListener) -> None:
        self._listener: RunListener | None = listener

    def on_event(self, event: Event) -> None:
        """Pass it on, if the listener has not failed yet."""
        if self._listener is None:
            return
        try:
            self._listener.on_event(event)
        except Exception:  # noqa: BLE001 - whatever a reporter raises is no business of the run
            self._listener = None


class BackgroundListener:
    """Reports events on a thread of its own; :meth:`on_event` neither waits nor raises, and may be called by a signal.

    Where the reporter cannot keep up, progress is skipped first, then every event; once it can again, it learns how
    many it has missed. The thread is a daemon: a writer that blocks forever does not keep the process alive.

    Parameters
    ----------
    listener
        Called on the thread only.
    on_failure
        Called on the thread with what the listener raised, once; after that events are ignored.
    at_end
        Called on the thread after the last event.
    capacity
        Events that may wait; 10,000 are some megabytes and, at an event a moved partition, minutes of a fast run.
    """

    def __init__(
        self,
        listener: RunListener,
        *,
        on_failure: Callable[[Exception], None] = lambda _: None,
        at_end: Callable[[], None] = lambda: None,
        capacity: int = 10_000,
    ) -> None:
        self._listener = listener
        self._on_failure = on_failure
        self._at_end = at_end
        self._capacity = capacity
        # a SimpleQueue may be filled from a signal handler that interrupts a put; a Queue would deadlock there
        self._queue: SimpleQueue[Event | threading.Event | None] = SimpleQueue()
        self._skipped = 0
        self._has_failed = False
        self._thread: threading.Thread | None = None

    def on_event(self, event: Event) -> None:
        """Leave it for the thread."""
        if self._has_failed:
            return
        waiting = self._queue.qsize()
        if waiting >= self._capacity or (waiting and isinstance(event, Progress)):
            # the next progress says all that this one does
            self._skipped += not isinstance(event, Progress)
            return
        if self._skipped:
            skipped, self._skipped = self._skipped, 0
            self._queue.put(Warned(message=f"the output was blocked: {skipped} events were not written"))
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
        except Exception as error:  # noqa: BLE001 - whatever a reporter raises is no business of the run
            self._has_failed = True
            self._on_failure(error)


class Reporters:
    """Several background listeners as one; closed at the end of a ``with`` block."""

    def __init__(self, listeners: Sequence[BackgroundListener]) -> None:
        self._listeners = tuple(listeners)

    def on_event(self, event: Event) -> None:
        """Leave it for each."""
        for listener in self._listeners:
            listener.on_event(event)

    def flush(self) -> None:
        """Wait a little until everything so far is reported."""
        for listener in self._listeners:
            listener.flush()

    def __enter__(self) -> Reporters:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for listener in self._listeners:
            listener.close()
