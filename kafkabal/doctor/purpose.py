"""What kafkabal is to be used for; imported for the help of the command, so it imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """What kafkabal is to be used for, by the name of the command."""

    INSPECT = "inspect"
    CREATE = "create"
    REBALANCE = "rebalance"
    WATCH = "watch"
    TELEMETRY = "telemetry"
