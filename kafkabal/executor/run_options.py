"""Options of a run; the journal keeps them, so that a resumed run continues in the same way."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

from kafkabal.units import LONGEST_DURATION_S

# bounded, because a journal may contain anything; whatever the command line accepts has to be within these bounds, or a
# run could not be read back
Rate: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=LONGEST_DURATION_S)]


class OnInterrupt(StrEnum):
    """What happens to moves in flight when a run is stopped."""

    CANCEL = "cancel"
    """Cancel them, and restore throttles."""
    FINISH = "finish"
    """Let them finish, start nothing new, and restore throttles."""
    DETACH = "detach"
    """Let them continue without us, under their throttle, which stays."""


class Throttle(msgspec.Struct, frozen=True, kw_only=True):
    """How fast copies may run; None sets no throttle of ours."""

    bytes_per_s: Rate | None = None
    """Between brokers, for each broker in each direction."""
    is_auto: bool = False
    """Start at ``bytes_per_s``, and adapt the rate to the load of the cluster."""
    behind: tuple[str, ...] = ()
    """Consumer groups that were already behind before the run: an automatic rate is not lowered for them."""
    log_dir_bytes_per_s: Rate | None = None
    """Between log dirs, for each broker."""
    is_log_dir_auto: bool = False
    """Whether an automatic throttle adapts the rate between log dirs, too: it was not given."""
    override: bool = False
    """Replace lower rates that were set before, too."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be in flight at the same time."""

    moves_in_per_broker: _Count = 10
    moves_out_per_broker: _Count = 10
    moves_per_cluster: _Count = 1000
    copies_per_log_dir: _Count = 2
    partitions_per_request: _Count = 1000
    """Most partitions in one request to the controller."""
    elections_per_s: _Count = 100
    """Clients of a partition look for its new leader: thousands at once would look like an outage."""
    one_replica_at_a_time: bool = False
    disk_fraction: float = msgspec.field(default=0.85, name="disk_share")
    """No log dir may be fuller than this fraction of its volume while both copies are on it."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Timeouts of a run, and numbers of attempts."""

    poll_s: _Seconds = 1.0
    unreachable_s: _Seconds = 300.0
    """Give up after this time without a successful call."""
    refusals: _Count = 5
    """How often in a row the cluster may refuse a whole call."""
    broker_grace_s: _Seconds = 30.0
    """How long a broker may be gone before moves to it are cancelled and postponed."""
    broker_return_s: _Seconds = 120.0
    """How long to wait once only moves that wait for brokers are left."""
    room_s: _Seconds = 30.0
    """Pause before looking for disk space again: reading every log dir of a cluster takes seconds, and space on a full
    disk is only freed when a move ends."""
    stall_s: _Seconds = 600.0
    """Give up copies in flight after this time without any byte."""
    attempts: _Count = 6
    """How often a partition is tried after an error that may pass."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of a run."""

    throttle: Throttle = Throttle()
    limits: RunLimits = RunLimits()
    timeouts: Timeouts = Timeouts()
    on_interrupt: OnInterrupt = OnInterrupt.CANCEL
    window: str | None = None
    """``HH:MM-HH:MM`` local time."""
    max_runtime_s: _Seconds | None = None
    elect_leaders: bool = True
    removes_found_throttles: bool = False
    """At the end, delete throttles that its brokers and topics had before the run and that no reassignment needs: they
    belong to the tool whose reassignments the run has taken over, not to an operator."""
    session_s: _Seconds = 30.0
    """How long the lock outlives a holder that dies."""
