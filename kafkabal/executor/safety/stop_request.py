"""How a run is told to stop: a switch that the owner of the process turns and the run looks at."""

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
        """Ask the run to stop in good order."""
        self.reason = self.reason or reason


class HardStop(BaseException):
    """Raised into a run that was told twice: it ends at once, without putting anything in order.

    Not an ``Exception``, so that nothing on the way takes it for an error that can be handled.
    """
