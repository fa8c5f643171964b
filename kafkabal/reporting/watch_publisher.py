"""Publishes the events of a watch while it acts, and remembers what fires while it is on standby."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from msgspec.structs import replace

from kafkabal.isolated_listeners import IsolatedListeners
from kafkabal.watch import (
    ENDS,
    NO_ALERTS,
    REPLACES,
    EventKind,
    StateFindings,
    WatchEvent,
    WatchListener,
    partition_problems,
)


class WatchPublisher:
    """Forwards events to listeners that are open only while this watch is the one that acts.

    On standby a listener that repeats alerts would repeat them without end: it is not told how they end.

    Parameters
    ----------
    open_listeners
        Opens the listeners, which are closed with the stack that it is given.
    """

    def __init__(self, open_listeners: Callable[[ExitStack], Sequence[WatchListener]]) -> None:
        self._open_listeners = open_listeners
        self._until = ExitStack()
        self._listeners: WatchListener | None = None
        self._firing: dict[tuple[EventKind, int | None, str | None], WatchEvent] = {}
        """By kind, broker and log dir: the events whose alerts have not ended."""

    def on_event(self, event: WatchEvent) -> None:
        """Forward the event, unless on standby."""
        ends = ENDS.get(event.event)
        for kind in ends or REPLACES.get(event.event, ()):
            self._firing.pop((kind, event.broker, event.log_dir), None)
        if ends is None and event.event not in NO_ALERTS:
            self._firing[event.event, event.broker, event.log_dir] = event
        if self._listeners is not None:
            self._listeners.on_event(event)

    def update(self, findings: StateFindings) -> list[WatchEvent]:
        """Bring the numbers in what fires up to date; returns the events whose text has changed."""
        updated = []
        for kind, problem in partition_problems(findings).items():
            event = self._firing.get((kind, None, None))
            if event is not None and event.message != str(problem):
                self._firing[kind, None, None] = now = replace(event, message=str(problem))
                updated.append(now)
        return updated

    def set_active(self, *, is_active: bool) -> None:
        """Begin to forward events, those that still fire first, or go on standby."""
        if is_active == (self._listeners is not None):
            return
        if not is_active:
            self.close()
            return
        self._listeners = IsolatedListeners(self._open_listeners(self._until))
        for event in self._firing.values():
            self._listeners.on_event(event)

    def close(self) -> None:
        """Close the listeners."""
        self._listeners = None
        self._until.close()
