"""What kafkabal will be used for; the help of ``doctor`` imports this file, so it imports nothing slow."""

from __future__ import annotations

from enum import StrEnum


class Purpose(StrEnum):
    """An intended use of kafkabal: the name of a command."""

    INSPECT = "inspect"
    CREATE = "create"
    REBALANCE = "rebalance"
    WATCH = "watch"
    TELEMETRY = "telemetry"
