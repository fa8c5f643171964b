"""How long the process has been running, the start of Python and its imports included."""

from __future__ import annotations

import os
import time
from pathlib import Path

_STAT = Path("/proc/self/stat")
_START_TICKS = 19
"""Field 22 of proc(5), counted from the third, which follows the name in parentheses."""


def process_age_s() -> float:
    """Seconds since the process was started; where that is unknown, the processor time that it has used since."""
    try:
        ticks = int(_STAT.read_bytes().rpartition(b")")[2].split()[_START_TICKS])
        age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):  # not on Linux, or without /proc
        age_s = 0.0
    return max(age_s, time.process_time())
