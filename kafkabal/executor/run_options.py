"""Options of a run; kept in the journal, so that a resumed run continues in the same way."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec

# a journal may say anything
_Rate: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**60)]
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**31)]
_Seconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=10**9)]


class OnInterrupt(StrEnum):
    """What happens to moves in flight when a run is stopped."""

    CANCEL = "cancel"
    """They are cancelled, and throttles are restored."""
    FINISH = "finish"
    """They may finish, nothing new starts, and throttles are restored."""
    DETACH = "detach"
    """They continue without us, under their throttle, which stays."""


class Throttle(msgspec.Struct, frozen=True, kw_only=True):
    """How fast copies may run; a rate of None sets no throttle of ours."""

    bytes_per_s: _Rate | None = None
    """Between brokers, for each broker in each direction."""
    is_auto: bool = False
    """Raised and lowered with the load of the cluster, from ``bytes_per_s`` on."""
    behind: tuple[str, ...] = ()
    """Consumer groups that fell behind before the run: an automatic rate is not lowered for them."""
    log_dir_bytes_per_s: _Rate | None = None
    """Between log dirs, for each broker."""
    override: bool = False
    """Also replace a lower rate that was there before."""


class RunLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be in flight at a time."""

    moves_in_per_broker: _Count = 10
    moves_out_per_broker: _Count = 10
    moves_per_cluster: _Count = 1000
    copies_per_log_dir: _Count = 2
    partitions_per_request: _Count = 1000
    """What is asked of the controller in one request."""
    elections_per_s: _Count = 100
    """Clients of a partition look for its new leader: thousands at once would be felt as an outage."""
    one_replica_at_a_time: bool = False
    disk_fraction: float = msgspec.field(default=0.85, name="disk_share")
    """No log dir may be fuller than this fraction of its volume, with both copies on it."""


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """How long a run waits for what."""

    poll_s: _Seconds = 1.0
    unreachable_s: _Seconds = 300.0
    """No call gets through."""
    refusals: _Count = 5
    """How often in a row the cluster may refuse a whole call."""
    broker_grace_s: _Seconds = 30.0
    """A broker may be gone this long before moves to it are cancelled and put aside."""
    broker_return_s: _Seconds = 120.0
    """Once nothing but moves that wait for brokers is left."""
    room_s: _Seconds = 30.0
    """Before room for a copy is looked for again: reading every log dir of a cluster takes seconds, and room on a full
    disk comes with the end of a move, not sooner."""
    stall_s: _Seconds = 600.0
    """Nothing in flight gets any bytes."""
    attempts: _Count = 6
    """How often a partition is tried again after an error that may pass."""


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that shapes a run."""

    throttle: Throttle = Throttle()
    limits: RunLimits = RunLimits()
    timeouts: Timeouts = Timeouts()
    on_interrupt: OnInterrupt = OnInterrupt.CANCEL
    window: str | None = None
    """``HH:MM-HH:MM`` local time."""
    max_runtime_s: _Seconds | None = None
    elect_leaders: bool = True
    removes_found_throttles: bool = False
    """At the end, throttles that its brokers and topics had before it and that no reassignment needs are deleted, not
    kept as an operator's: they are of the tool whose reassignments it has taken over."""
    session_s: _Seconds = 30.0
    """How long the lock outlives its holder."""
