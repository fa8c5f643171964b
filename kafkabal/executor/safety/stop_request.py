"""Stop requests: a switch that the process turns and the run checks."""

from __future__ import annotations

from enum import StrEnum


class StopReason(StrEnum):
    """Why a run is to stop before its end."""

    INTERRUPT = "interrupt"
    """SIGINT."""
    TERMINATE = "terminate"
    """SIGTERM."""
    CANCELLED = "cancelled"
    """Somebody cancelled the run, perhaps from another host."""
    MAX_RUNTIME = "max-runtime"
    """The time that the run was given is over."""


class StopSwitch:
    """Off until someone asks; the first reason stays."""

    def __init__(self) -> None:
        self.reason: StopReason | None = None

    def request(self, reason: StopReason) -> None:
        """Ask the run to stop gracefully."""
        self.reason = self.reason or reason


class HardStop(BaseException):
    """Raised into a run on a second request: it aborts at once, without cleaning up.

    Not an ``Exception``, so that nothing on the way takes it for an error that can be handled.
    """
