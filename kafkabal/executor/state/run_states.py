"""The state machine of a run.

::

    PREPARED -> RECORDED -> MOVING <-> PAUSED
                              |  \\
                              |   -> ELECTING -> RESTORING -> CLOSED
                              v
                          CANCELLING -> RESTORING -> CLOSED

Until RECORDED nothing has been changed. A crash may leave the run in any state but CLOSED; ``resume``, ``rollback``,
``cancel`` and ``repair`` start again from the actual state of the cluster, so every state leads back to MOVING,
CANCELLING or RESTORING. A closed run can be reopened too: to roll it back, or for what was left undone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from kafkabal.executor.run_options import Throttle
from kafkabal.executor.state.run_record import Original, RunRecord


class Goal(StrEnum):
    """What a run aims at."""

    APPLY = "apply"
    """Every partition as planned."""
    ROLL_BACK = "roll-back"
    """Every partition, leader and config as found."""
    CANCEL = "cancel"
    """Nothing in flight, every config as found; finished moves stay."""


class Phase(StrEnum):
    """What a run is doing."""

    PREPARED = "prepared"
    RECORDED = "recorded"
    MOVING = "moving"
    PAUSED = "paused"
    ELECTING = "electing"
    CANCELLING = "cancelling"
    RESTORING = "restoring"
    CLOSED = "closed"


class RunOutcome(StrEnum):
    """How a run was closed."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    """Some partitions failed."""
    STOPPED = "stopped"
    """Stopped on request; nothing is in flight and no throttle is left."""
    DETACHED = "detached"
    """Stopped on request; moves in flight and their throttle stay in place."""


_AGAIN = frozenset({Phase.MOVING, Phase.CANCELLING, Phase.RESTORING})
NEXT: Mapping[Phase, frozenset[Phase]] = {
    Phase.PREPARED: frozenset({Phase.RECORDED}) | _AGAIN,
    Phase.RECORDED: _AGAIN,
    Phase.MOVING: frozenset({Phase.PAUSED, Phase.ELECTING, Phase.CLOSED}) | _AGAIN,
    Phase.PAUSED: _AGAIN,
    Phase.ELECTING: frozenset({Phase.ELECTING, Phase.CLOSED}) | _AGAIN,
    Phase.CANCELLING: frozenset({Phase.PAUSED, Phase.CLOSED}) | _AGAIN,
    Phase.RESTORING: frozenset({Phase.PAUSED, Phase.CLOSED}) | _AGAIN,
    Phase.CLOSED: _AGAIN,
}


RATES_PENDING = re.compile(r"replication rates of broker (\d{1,10}): ", re.ASCII)
"""Pattern of a rate that could not be restored, in :attr:`RunState.pending`."""
MOVE_PENDING = re.compile(r"the throttle of (.+), still in flight", re.ASCII)
"""Pattern of a reassignment that could not be cancelled, in the same list."""


class RunState(msgspec.Struct, kw_only=True):
    """The state of a run, folded from its journal or read from the cluster's record of it."""

    at: str = ""
    """When it was last recorded, by the clock of the host that did."""
    openings: int = 0
    """How often the run was reopened: distinguishes older from newer states if clocks of hosts differ or are set."""
    goal: Goal = Goal.APPLY
    phase: Phase = Phase.PREPARED
    rates: set[str] = set()
    """Every rate that this run has ever set, as config text: any other value found is not ours."""
    throttle: Throttle | None = None
    """The current throttle, if it is no longer the one that the run began with."""
    asked_at: str = ""
    """The last throttle request that was taken."""
    batches: int | None = None
    """Requests that have started moves; None if an earlier version, which did not count them, worked on the run."""
    later_originals: list[Original] = []
    outcome: RunOutcome | None = None
    pending: list[str] = []
    """Throttles that could not be restored, in words for people."""

    def count_batch(self) -> None:
        """Count a request that is about to start moves."""
        if self.batches is not None:
            self.batches += 1

    def enter(self, phase: Phase) -> None:
        """Enter a phase; a transition that the state machine does not know is a bug."""
        assert phase in NEXT[self.phase], f"invalid transition: {self.phase} to {phase}"
        self.phase = phase
        if phase is not Phase.CLOSED:
            self.outcome = None

    @property
    def has_begun(self) -> bool:
        """Whether anything may have been changed."""
        return self.phase is not Phase.PREPARED

    @property
    def is_clean(self) -> bool:
        """Whether the run is closed and nothing of ours is left on the cluster."""
        return self.phase is Phase.CLOSED and not self.pending and self.outcome is not RunOutcome.DETACHED

    @property
    def not_cancelled(self) -> tuple[str, ...]:
        """Partitions of a closed run whose reassignments could not be cancelled."""
        found = (MOVE_PENDING.fullmatch(text) for text in self.pending)
        return tuple(match[1] for match in found if match is not None)

    @property
    def phase_in_words(self) -> str:
        """The phase; ``detached`` for a run that was closed while its moves were in flight."""
        return str(self.outcome if self.outcome is RunOutcome.DETACHED else self.phase)


def left_behind(record: RunRecord, state: RunState) -> str:
    """What may remain on the cluster if nothing more is done about a run, in words for people."""
    if state.is_clean or not state.has_begun:
        return f"run {record.run_id} left nothing on the cluster"
    known = (*record.originals, *state.later_originals) if state.rates else ()
    throttled = sorted({str(o.of) for o in known})
    throttles = f", and throttles on {', '.join(throttled)}" if throttled else ""
    return f"run {record.run_id} may have reassignments in flight{throttles}"
