"""Whoever only reports never changes what a watch does: a listener that fails is dropped."""

from __future__ import annotations

from collections.abc import Sequence

from kafkabal.watch.watch_events import WatchEvent, WatchListener


class IsolatedListeners:
    """Several listeners as one; what one raises reaches neither the watch nor the others."""

    def __init__(self, listeners: Sequence[WatchListener]) -> None:
        self._listeners = list(listeners)

    def on_event(self, event: WatchEvent) -> None:
        """Tell each; one that fails gets nothing more."""
        for listener in list(self._listeners):
            try:
                listener.on_event(event)
            except Exception:  # noqa: BLE001  a terminal that was closed must not end the watch
                self._listeners.remove(listener)
