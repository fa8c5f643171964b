"""The events that ``watch`` reports, one for every change."""

from __future__ import annotations

from enum import StrEnum
from typing import Protocol

import msgspec


class EventKind(StrEnum):
    """Kind of event; also the name of the alert in a notification."""

    BROKER_SLOW = "broker-slow"
    BROKER_UNREACHABLE = "broker-unreachable"
    BROKER_DEAD = "broker-dead"
    BROKER_BACK = "broker-back"
    BROKER_REMOVED = "broker-removed"
    """A dead broker holds no replica any more: nothing of it is missing."""
    LOG_DIR_OFFLINE = "log-dir-offline"
    LOG_DIR_ONLINE = "log-dir-online"
    DISK_NEARLY_FULL = "disk-nearly-full"
    DISK_HAS_ROOM = "disk-has-room"
    PARTITION_OFFLINE = "partition-offline"
    """It has no leader, so it can be neither written nor read."""
    PARTITION_ONLINE = "partition-online"
    UNDER_MIN_ISR = "under-min-isr"
    """Fewer replicas are in sync than min.insync.replicas, so producers with acks=all cannot write."""
    MIN_ISR_MET = "min-isr-met"
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
    """Something else takes precedence, its window closed, or it is planned again; what was moved stays."""
    NOTHING_TO_HEAL = "nothing-to-heal"
    """The finding that a failed healing was for is gone."""
    HELD_BACK = "held-back"
    UNMET = "unmet"
    """What a healing cannot achieve, and why."""
    NOT_SAVED = "not-saved"
    """The ledger cannot be read or written; nothing is healed meanwhile."""
    SAVED = "saved"


ENDS = {
    EventKind.BROKER_BACK: (EventKind.BROKER_SLOW, EventKind.BROKER_UNREACHABLE, EventKind.BROKER_DEAD),
    EventKind.BROKER_REMOVED: (EventKind.BROKER_DEAD,),
    EventKind.LOG_DIR_ONLINE: (EventKind.LOG_DIR_OFFLINE,),
    EventKind.DISK_HAS_ROOM: (EventKind.DISK_NEARLY_FULL,),
    EventKind.PARTITION_ONLINE: (EventKind.PARTITION_OFFLINE,),
    EventKind.MIN_ISR_MET: (EventKind.UNDER_MIN_ISR,),
    EventKind.IN_SYNC: (EventKind.OUT_OF_SYNC,),
    EventKind.BALANCED: (EventKind.IMBALANCED,),
    EventKind.SEEING: (EventKind.BLIND,),
    EventKind.HEALED: (EventKind.HEALING_FAILED,),
    EventKind.NOTHING_TO_HEAL: (EventKind.HEALING_FAILED,),
    EventKind.SAVED: (EventKind.NOT_SAVED,),
}
"""Which alerts an event resolves."""

REPLACES = {
    EventKind.BROKER_UNREACHABLE: (EventKind.BROKER_SLOW,),
    EventKind.BROKER_DEAD: (EventKind.BROKER_SLOW, EventKind.BROKER_UNREACHABLE),
}
"""Alerts of the same broker that end because a worse one begins."""

NO_ALERTS = frozenset({EventKind.HEALING, EventKind.HEALING_STOPPED, EventKind.HELD_BACK, EventKind.UNMET})
"""Events that need no action, or that another alert already covers."""


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
    """Receives every event; errors that it raises have no effect."""

    def on_event(self, event: WatchEvent) -> None:
        """Report it."""
