"""What a row of ``inspect`` describes; a separate module, since the command line uses it without computing anything."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Grouping(StrEnum):
    """The holder, or the thing held, that a row describes."""

    BROKER = "broker"
    LOG_DIR = "log-dir"
    RACK = "rack"
    TOPIC = "topic"
    PARTITION = "partition"


GROWTH_GROUPINGS: Final = (Grouping.BROKER, Grouping.LOG_DIR, Grouping.TOPIC)
"""Those that growth is measured by."""
