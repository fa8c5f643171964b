"""Waits for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WaitLimit:
    """How long to wait for a sandbox, and by which clock.

    Parameters
    ----------
    deadline_s
        The longest wait.
    interval_s
        Pause between two checks.
    """

    deadline_s: float = 90.0
    interval_s: float = 0.05
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep

    def until(self, condition: Callable[[], bool]) -> bool:
        """Check until the condition holds or the deadline has passed; returns whether it held."""
        end = self.clock() + self.deadline_s
        while not condition():
            if self.clock() >= end:
                return False
            self.sleep(self.interval_s)
        return True
