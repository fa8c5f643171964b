"""What makes a replica leave its broker."""

from __future__ import annotations

from enum import IntEnum


class MoveCause(IntEnum):
    """What made a replica leave its broker; the weightiest reason of a partition is shown."""

    NOTHING = 0
    BALANCE = 1
    TOPIC = 2
    RACK = 3
    NEW = 4
    LEAVES = 5
