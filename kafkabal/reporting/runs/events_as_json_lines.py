"""A run as JSON Lines: one object an event, flushed at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

import msgspec

from kafkabal.executor import Event

EVENTS_VERSION: Final = 1
"""Raised whenever an event or a key of one is renamed or removed, or changes its type."""


class RunEventLines:
    """Listener that writes every event, with its time; the first line is the envelope, written with the first event.

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
        """Write it."""
        if not self._has_begun:
            self._has_begun = True
            self._write({"kafkabal": {"command": self._command, "version": EVENTS_VERSION}})
        at = datetime.fromtimestamp(self._wall_clock(), UTC).isoformat(timespec="milliseconds")
        self._write({"at": at, **msgspec.to_builtins(event, str_keys=True)})

    def _write(self, line: object) -> None:
        self._stream.write(msgspec.json.encode(line).decode() + "\n")
        self._stream.flush()
