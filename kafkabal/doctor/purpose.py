"""What kafkabal will be used for; the help of ``doctor`` imports this file, so it imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """What kafkabal will be used for: the name of a command."""

    INSPECT = "inspect"
    CREATE = "create"
    REBALANCE = "rebalance"
    WATCH = "watch"
    TELEMETRY = "telemetry"
