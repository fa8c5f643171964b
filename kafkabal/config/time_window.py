"""The daily hours in which a run may work, such as ``01:00-05:00``, in local time."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from kafkabal.errors import UsageError

_WINDOW = re.compile(r"(\d{1,2}):(\d{2})-(\d{1,2}):(\d{2})", re.ASCII)


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """From ``start`` to ``end`` every day; a window that ends before it starts spans midnight."""

    start: time
    end: time

    @classmethod
    def parse(cls, text: str) -> TimeWindow:
        """Parse ``HH:MM-HH:MM``.

        Raises
        ------
        UsageError
            If the text is not such a window, or the window is empty.
        """
        match = _WINDOW.fullmatch(text.strip())
        try:
            hours = [int(g) for g in match.groups()] if match else []
            window = cls(time(hours[0], hours[1]), time(hours[2], hours[3]))
        except (IndexError, ValueError):
            raise UsageError(f"invalid time window: {text!r}", hint="write it like 01:00-05:00") from None
        if window.start == window.end:
            raise UsageError(f"empty time window: {text!r}", hint="leave it out to work at any time")
        return window

    def contains(self, moment: datetime) -> bool:
        """Whether work is allowed at this local time."""
        now = moment.time()
        if self.start < self.end:
            return self.start <= now < self.end
        return now >= self.start or now < self.end

    def seconds_until_open(self, moment: datetime) -> float:
        """Seconds until the window opens, 0 inside it."""
        return 0.0 if self.contains(moment) else _seconds_until(self.start, moment)

    def __str__(self) -> str:
        return f"{self.start:%H:%M}-{self.end:%H:%M}"


def _seconds_until(at: time, moment: datetime) -> float:
    then = moment.replace(hour=at.hour, minute=at.minute, second=0, microsecond=0)
    if then <= moment:
        then += timedelta(days=1)
    return (then - moment).total_seconds()
