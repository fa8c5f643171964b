"""What makes a replica leave its broker."""

from __future__ import annotations

from enum import IntEnum


class MoveCause(IntEnum):
    """What made a replica leave its broker; the weightiest reason of a partition is shown."""

    NOTHING = 0
    BALANCE = 1
    FULL_LOG_DIR = 2
    TOPIC = 3
    RACK = 4
    NEW = 5
    LEAVES = 6
