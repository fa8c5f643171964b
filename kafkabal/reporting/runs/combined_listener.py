"""Several listeners as one."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.executor.run_events import Event, RunListener


class Listeners:
    """Passes every event on to each."""

    def __init__(self, listeners: Sequence[RunListener]) -> None:
        self._listeners = tuple(listeners)

    def on_event(self, event: Event) -> None:
        """Pass it on."""
        for listener in self._listeners:
            listener.on_event(event)
