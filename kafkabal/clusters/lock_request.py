"""What a process asks for when it acquires a lock of the cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

IsGone: TypeAlias = Callable[[str], bool]
"""Whether the holder of a lock, by its name, is known to be dead: its lock is free before its session expires."""


def no_holder_is_gone(owner: str) -> bool:  # noqa: ARG001
    """Nothing is known about any holder: wait until its session expires."""
    return False


OnLockDelay: TypeAlias = Callable[[str, float], None]
"""Called after each failed attempt to take a lock of which no holder is known, with the reason and the longest wait in
seconds; raises to give up."""


def ignore_lock_delay(reason: str, wait_s: float) -> None:
    """Wait silently."""


@dataclass(frozen=True, slots=True)
class LockRequest:
    """A request for the lock of a cluster, or for a separate lock with another purpose than changing it."""

    owner: str
    """The holder, as named to those who are kept out."""
    session_s: float
    """After this time without a heartbeat the next process may acquire the lock."""
    purpose: str = ""
    """Empty for the lock of the cluster."""
    is_gone: IsGone = no_holder_is_gone
    on_delay: OnLockDelay = ignore_lock_delay
