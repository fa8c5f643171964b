"""A process's own clock, which can be stepped while it runs, like an operator or a time server steps a host's.

Only the time of day is stepped: the clock that measures elapsed time does not follow it, as on real hosts."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from kafkabal.clusters import SystemClock


class OwnClock(SystemClock):
    """Differs from the host's clock by the number of seconds in a file."""

    def __init__(self, steps: Path) -> None:
        self._steps = steps

    def utc_now(self) -> datetime:
        """The time of day, UTC."""
        return super().utc_now() + timedelta(seconds=float(self._steps.read_text()))

    def step_to(self, seconds: int) -> None:
        """Set the difference to the host's clock from now on."""
        aside = self._steps.with_suffix(".new")
        aside.write_text(str(seconds))
        aside.replace(self._steps)
