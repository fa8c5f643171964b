"""Time as the back ends see it, so that tests need not wait."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Monotonic seconds, wall time and waiting."""

    def monotonic(self) -> float:
        """Seconds of a clock that never goes back."""

    def utc_now(self) -> datetime:
        """Wall time, UTC."""

    def sleep(self, seconds: float) -> None:
        """Wait."""


_SINCE_BOOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Unlike ``time.monotonic`` it counts while the machine is suspended: a lock that expired then must not look fresh."""


class SystemClock:
    """The clock of this machine."""

    def monotonic(self) -> float:
        """Seconds since some time in the past, including those for which the machine was suspended."""
        return time.clock_gettime(_SINCE_BOOT)

    def utc_now(self) -> datetime:
        """Wall time, UTC."""
        return datetime.now(UTC)

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Deadline:
    """A time by which something must be done."""

    def __init__(self, seconds: float, clock: Clock) -> None:
        self._clock = clock
        self._at_s = clock.monotonic() + seconds
        self.seconds = seconds
        """How far away it was when it was created."""

    def __str__(self) -> str:
        return f"{self.seconds:.3g} s"

    @property
    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._at_s - self._clock.monotonic())

    @property
    def is_over(self) -> bool:
        """Whether it has passed."""
        return self.remaining_s <= 0

    def at_most(self, seconds: float) -> Deadline:
        """The earlier of this deadline and one in that many seconds."""
        limited = Deadline(min(seconds, self.seconds), self._clock)
        limited._at_s = min(self._at_s, self._clock.monotonic() + seconds)
        return limited
