"""A cluster followed for a live view, cheaply: what changes often is asked for often, the rest seldom.

::

    every 5 s                which brokers are registered, which reassignments run, how far their copies are
    every 30 s or less often sizes, leaders and replicas of everything -> shares, what is out of sync, what is offline
    at once                  the same if a broker has come or gone, or the last reassignment has ended

Reading 600,000 replicas takes 6 s of processor time, too much to spend on a screen every 30 s: the pause grows with the
time of the last reading, so that following a cluster of any size takes less than 3% of a core.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from kafkabal.clusters import Clock, Cluster, InFlight, ReadRequest, UnderMinIsrCounter
from kafkabal.errors import KafkabalError, UnreachableError
from kafkabal.inspection import Inspection
from kafkabal.model import ClusterState
from kafkabal.watch.finding_changes import FindingChanges
from kafkabal.watch.live_moves import MoveMeter, MovesInFlight
from kafkabal.watch.state_findings import NOTHING_FOUND, findings_of
from kafkabal.watch.watch_events import ENDS, NO_ALERTS, EventKind
from kafkabal.wording import counted_noun

_STATE_EVERY_S = 30.0
"""Sizes change little within this time; on large clusters the limit below makes it longer."""
_LARGEST_PART = 0.02
"""Fraction of a core spent on whole readings: the rest of the 3% is for observations and drawing."""
_SOONEST_AGAIN_S = 4.0
"""After a change, in multiples of the time of the last reading: a restarting cluster must not be read all the time."""
_KEPT_EVENTS = 100
"""More than any screen shows."""


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """A change that occurred while the cluster was watched."""

    at_s: float
    """Seconds since the epoch."""
    message: str
    is_good: bool | None
    """None if it is neither good nor bad."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LiveReading:
    """Everything that a frame of the live view shows."""

    at_s: float | None = None
    """Time of the observation, in seconds since the epoch; None before the first one."""
    inspection: Inspection | None = None
    """None until the first reading."""
    read_at_s: float = 0.0
    """When sizes were read, in seconds since the epoch."""
    registered: frozenset[int] = frozenset()
    moves: MovesInFlight = field(default_factory=MovesInFlight)
    events: tuple[LiveEvent, ...] = ()
    """Newest last."""
    problem: str = ""
    """Why the latest observation failed, or could not tell the moves in flight; what it concerns is then older."""


class LiveCluster:
    """Follows one cluster.

    Parameters
    ----------
    request
        What to read.
    inspect
        Evaluates a state, completed by what the profile says about the disks.
    processor_s
        Processor time of this process so far, in seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        clock: Clock,
        request: ReadRequest,
        inspect: Callable[[ClusterState], Inspection],
        processor_s: Callable[[], float],
    ) -> None:
        self._cluster, self._clock, self._request = cluster, clock, request
        self._inspect, self._processor_s = inspect, processor_s
        self._meter = MoveMeter(cluster)
        self._events: deque[LiveEvent] = deque(maxlen=_KEPT_EVENTS)
        self._inspection: Inspection | None = None
        self._findings = NOTHING_FOUND
        self._changes = FindingChanges()
        self._under_min_isr = UnderMinIsrCounter(cluster, clock)
        self._registered: frozenset[int] | None = None
        self._moves = MovesInFlight()
        self._problem = ""
        self._read_at_s = 0.0
        self._read_s = float("-inf")
        self._cost_s = 0.0
        self._has_changed = False

    def observe(self) -> LiveReading:
        """Observe the cluster; if it does not respond, the reading names the problem next to what is known."""
        try:
            self._ask_for_brokers()
            problem = self._problem_of_moves()
            if self._is_time_to_read():
                self._read(knows_moves=not problem)
        except KafkabalError as error:
            problem = f"the cluster cannot be read: {error.message}"
        self._note_problem(problem)
        return LiveReading(
            at_s=self._now_s(),
            inspection=self._inspection,
            read_at_s=self._read_at_s,
            registered=self._registered or frozenset(),
            moves=self._moves,
            events=tuple(self._events),
            problem=self._problem,
        )

    def _ask_for_brokers(self) -> None:
        registered = self._cluster.broker_ids()
        if self._registered is not None and registered != self._registered:
            self._has_changed = True
            for broker in sorted(self._registered - registered):
                self._note(f"broker {broker} is not registered any more", is_good=False)
            for broker in sorted(registered - self._registered):
                self._note(f"broker {broker} has registered", is_good=True)
        self._registered = registered

    def _problem_of_moves(self) -> str:
        """Measure the moves in flight; why that failed if the controller does not respond, but brokers do."""
        try:
            moves = self._meter.measure(self._clock.monotonic())
        except UnreachableError as error:
            return f"reassignments in flight are unknown: {error.message}"
        begun, ended = moves.partitions - self._moves.partitions, self._moves.partitions - moves.partitions
        if ended:
            self._note(f"{counted_noun(len(ended), 'reassignment')} ended, {len(moves.partitions)} in flight", None)
        if begun:
            self._note(f"{counted_noun(len(begun), 'reassignment')} in flight", None)
        self._has_changed |= bool(ended) and not moves.partitions
        self._moves = moves
        return ""

    def _is_time_to_read(self) -> bool:
        age_s = self._clock.monotonic() - self._read_s
        if self._has_changed:
            return age_s >= _SOONEST_AGAIN_S * self._cost_s
        return age_s >= max(_STATE_EVERY_S, self._cost_s / _LARGEST_PART)

    def _read(self, *, knows_moves: bool) -> None:
        begin_s = self._processor_s()
        # a controller that has just not responded is not waited for again
        request = replace(self._request, in_flight=InFlight.IF_KNOWN if knows_moves else InFlight.OMITTED)
        inspection = self._inspect(self._cluster.read(request).state)
        under_min_isr = self._under_min_isr.count(inspection.state)
        found = replace(findings_of(inspection), under_min_isr=under_min_isr).remembering(self._findings)
        for change in self._changes.between(self._findings, found, inspection.tolerance):
            self._note(change.message, _is_good(change.event))
        # only now: after a reading that fails, as it often does when a broker dies, the next one is due at once
        self._has_changed = False
        self._findings, self._inspection = found, inspection
        self._read_s, self._read_at_s = self._clock.monotonic(), self._now_s()
        self._cost_s = self._processor_s() - begin_s

    def _note_problem(self, problem: str) -> None:
        if bool(problem) != bool(self._problem):
            self._note(problem or "the cluster responds again", is_good=not problem)
        self._problem = problem

    def _note(self, message: str, is_good: bool | None) -> None:
        self._events.append(LiveEvent(self._now_s(), message, is_good))

    def _now_s(self) -> float:
        return self._clock.utc_now().timestamp()


def _is_good(kind: EventKind) -> bool | None:
    return None if kind in NO_ALERTS else kind in ENDS
