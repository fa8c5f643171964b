"""A run as JSON Lines: one object per event, flushed immediately."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

import msgspec

from kafkabal.executor import Event
from kafkabal.reporting.json_text import json_text

EVENTS_VERSION: Final = 1
"""Incremented when an event or one of its keys is renamed or removed, or changes its type."""


class RunEventLines:
    """Listener that writes every event with its time, after the envelope line; :meth:`close` writes that if none came.

    Parameters
    ----------
    wall_clock
        Seconds since the epoch.
    """

    def __init__(self, stream: TextIO, command: str, wall_clock: Callable[[], float]) -> None:
        self._stream = stream
        self._wall_clock = wall_clock
        self._command = command
        self._has_begun = False

    def on_event(self, event: Event) -> None:
        """Write the event."""
        self._begin()
        at = datetime.fromtimestamp(self._wall_clock(), UTC).isoformat(timespec="milliseconds")
        self._write({"at": at, **msgspec.to_builtins(event, str_keys=True)})

    def close(self) -> None:
        """Write the envelope if nothing happened: a reader can rely on it."""
        self._begin()

    def _begin(self) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._write({"kafkabal": {"command": self._command, "version": EVENTS_VERSION}})

    def _write(self, line: object) -> None:
        self._stream.write(json_text(line) + "\n")
        self._stream.flush()
