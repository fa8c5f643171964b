"""Tells whether this thread holds a lock already, as when a signal's handler produces a record while one is routed."""

from __future__ import annotations

from threading import RLock


def is_reentered(lock: RLock) -> bool:
    """Whether this thread holds the lock: what it guards is being changed further up the stack."""
    # RLock says so only to threading.Condition; a flag of ours would stay set if the handler raised beside it
    held: bool = lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001
    return held
