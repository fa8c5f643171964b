"""Time as the executor sees it; tests bring their own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What a run needs to know of time, and how it waits."""

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""

    def utc_now(self) -> datetime:
        """Wall time, UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


class SystemClock:
    """The clocks of this machine."""

    def monotonic(self) -> float:
        """Seconds on the monotonic clock."""
        return time.monotonic()

    def utc_now(self) -> datetime:
        """Wall time, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
