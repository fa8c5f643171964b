"""What ``watch`` reports: one event for every change."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec


class EventKind(StrEnum):
    """What happened; also the name of the alert that a notification carries."""

    BROKER_SLOW = "broker-slow"
    BROKER_UNREACHABLE = "broker-unreachable"
    BROKER_DEAD = "broker-dead"
    BROKER_BACK = "broker-back"
    LOG_DIR_OFFLINE = "log-dir-offline"
    LOG_DIR_ONLINE = "log-dir-online"
    OUT_OF_SYNC = "out-of-sync"
    IN_SYNC = "in-sync"
    IMBALANCED = "imbalanced"
    BALANCED = "balanced"
    BLIND = "blind"
    SEEING = "seeing"
    HEALING = "healing"
    HEALED = "healed"
    HEALING_FAILED = "healing-failed"
    HEALING_STOPPED = "healing-stopped"
    """Something else comes first, its window closed, or it is planned again; what was moved stays."""
    HELD_BACK = "held-back"
    UNMET = "unmet"
    """What a healing cannot bring about, and why."""
    NOT_SAVED = "not-saved"
    """What was healed cannot be written down; nothing is healed meanwhile."""
    SAVED = "saved"


ENDS = {
    EventKind.BROKER_BACK: (EventKind.BROKER_SLOW, EventKind.BROKER_UNREACHABLE, EventKind.BROKER_DEAD),
    EventKind.LOG_DIR_ONLINE: (EventKind.LOG_DIR_OFFLINE,),
    EventKind.IN_SYNC: (EventKind.OUT_OF_SYNC,),
    EventKind.BALANCED: (EventKind.IMBALANCED,),
    EventKind.SEEING: (EventKind.BLIND,),
    EventKind.HEALED: (EventKind.HEALING_FAILED,),
    EventKind.SAVED: (EventKind.NOT_SAVED,),
}
"""Which alerts an event resolves."""

REPLACES = {
    EventKind.BROKER_UNREACHABLE: (EventKind.BROKER_SLOW,),
    EventKind.BROKER_DEAD: (EventKind.BROKER_SLOW, EventKind.BROKER_UNREACHABLE),
}
"""Which alerts of the same broker are over since a worse one begins."""

NO_ALERTS = frozenset({EventKind.HEALING, EventKind.HEALING_STOPPED, EventKind.HELD_BACK, EventKind.UNMET})
"""What needs no action, or what another alert already covers."""


class WatchEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One change."""

    at: str
    """ISO 8601, UTC."""
    event: EventKind
    message: str
    broker: int | None = None
    log_dir: str | None = None
    run_id: str | None = None


class WatchListener(Protocol):
    """Called for every event; what it raises changes nothing."""

    def on_event(self, event: WatchEvent) -> None:
        """Report it."""
