"""Logs how far the reading of a whole topic is, which has to end before the first sample."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

from kafkabal.units import format_bytes

LOG: Final = logging.getLogger("kafkabal.reader")
_SECONDS_BETWEEN_LINES: Final = 10.0
"""A reader that waits for less needs no line; one that waits for an hour gets 360."""


class LoggedCounting:
    """Warns every ten seconds, so that the line also appears where logging is not set up."""

    def __init__(self, topic: str, monotonic: Callable[[], float]) -> None:
        self._topic = topic
        self._monotonic = monotonic
        self._last_line_s = monotonic()

    def __call__(self, done_bytes: int, total_bytes: int) -> None:
        """Log how many bytes have been read, unless that was logged a moment ago."""
        now_s = self._monotonic()
        if now_s - self._last_line_s >= _SECONDS_BETWEEN_LINES:
            self._last_line_s = now_s
            LOG.warning(
                "topic %s: reading all of it to count its records: %s of %s; a manifest file saves this next time",
                self._topic,
                format_bytes(done_bytes),
                format_bytes(total_bytes),
            )
