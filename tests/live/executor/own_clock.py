"""A clock of a process's own, which can be stepped while it runs, as an operator or a time server steps that of a host.

Only the time of day is stepped: what counts how much time has passed does not follow it, on real hosts either.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from kafkabal.clusters import SystemClock


class OwnClock(SystemClock):
    """Differs from the clock of the host by what a file says."""

    def __init__(self, steps: Path) -> None:
        self._steps = steps

    def utc_now(self) -> datetime:
        """The time of day, UTC."""
        return super().utc_now() + timedelta(seconds=float(self._steps.read_text()))

    def step_to(self, seconds: int) -> None:
        """Let it differ by so much from the time of the host from now on."""
        aside = self._steps.with_suffix(".new")
        aside.write_text(str(seconds))
        aside.replace(self._steps)
