"""Stop requests: a switch that the process sets and the run checks."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a run must stop early."""

    INTERRUPT = "interrupt"
    """SIGINT."""
    TERMINATE = "terminate"
    """SIGTERM."""
    CANCELLED = "cancelled"
    """An operator cancelled the run, perhaps from another host."""
    MAX_RUNTIME = "max-runtime"
    """--max-runtime is reached."""


class StopSwitch:
    """Off until a stop is requested; keeps the first reason, unless the run is then cancelled."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None

    def request(self, reason: StopReason) -> None:
        """Ask the run to stop gracefully."""
        # a run that stops for another reason may let copies finish, which takes hours: a cancel does not wait for that
        if self.reason is None or reason is StopReason.CANCELLED:
            self.reason = reason


class HardStop(BaseException):
    """Raised into a run on a second stop request: the run aborts at once, without cleaning up.

    Not an ``Exception``, so that no code on the way handles it as an ordinary error.
    """
