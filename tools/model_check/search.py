"""Depth-first search through everything that can happen, visiting each state once.

A process cannot be copied in the middle of its work. So every branch is replayed from the start of its process, by the
choices that lead to it, and then runs straight ahead until it reaches a known state. A process that has ended has left
only the cluster and its files: whatever comes next starts from these.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from kafkabal.executor.state.find_run import FoundRun
from tools.model_check.crash_aftermath import NEXT_COMMANDS, check_in_calm, find_left, leave
from tools.model_check.disturbances import NOTHING, Disturbance, Kind, commutes, cost
from tools.model_check.fingerprint import Fingerprint, fingerprint, state_of_run
from tools.model_check.invariants import ViolationError
from tools.model_check.process_life import Command, Ending, Life, Moment, Process
from tools.model_check.world import World, first_world


class _MetBefore(BaseException):
    """The state has been followed before."""


class LossyFingerprintError(BaseException):
    """Two states with different futures have the same fingerprint: a bug of this tool, which then misses states."""


@dataclass
class Figures:
    """The progress of the search."""

    states: int = 0
    lives: int = 0
    ends: int = 0
    """Distinct states that processes left; each was resumed, rolled back and cancelled without disturbances."""
    waiting: list[int] = field(default_factory=list)
    """Pending branches, by remaining budget."""
    is_complete: bool = False
    seconds: float = 0.0
    """Processor time."""


@dataclass(frozen=True, slots=True)
class Start:
    """A process to start."""

    packed: bytes
    command: Command
    host: str
    trail: tuple[str, ...]


@dataclass
class Progress:
    """The progress of a search, and all that is needed to resume it."""

    waiting: list[list[tuple[Start, bytes]]]
    """Pending branches by remaining budget, each with the choices that lead to it."""
    is_ordinary: bool
    """Whether only ordinary disturbances happen."""
    met: dict[bytes, int] = field(default_factory=dict)
    """The largest remaining budget with which each state was visited."""
    left: dict[bytes, int] = field(default_factory=dict)
    """The same for what a process would have left if it had died there."""
    ended: dict[bytes, int] = field(default_factory=dict)
    figures: Figures = field(default_factory=Figures)

    @classmethod
    def at_first(cls, budget: int, *, is_ordinary: bool = False) -> Progress:
        """A new search: the first run, with this many disturbances, of all kinds or only ordinary ones."""
        first = Start(first_world(budget, is_ordinary=is_ordinary).pack(), Command.APPLY, "one", ())
        return cls([*([] for _ in range(budget)), [(first, b"")]], is_ordinary)


class _Before(NamedTuple):
    """The previous call."""

    method: str
    choices: frozenset[Disturbance]
    """What could have happened instead."""
    now_s: float
    process: Process


class _Path:
    """Makes the choices along a branch, and straight ahead after it."""

    def __init__(self, search: Search, start: Start, branch: bytes) -> None:
        self._search = search
        self._start = start
        self._branch = branch
        self._taken = bytearray()
        self._own: set[bytes] = set()
        self._over: BaseException | None = None
        self._before: _Before | None = None
        self.is_audit = False
        """Whether a known state is followed again."""

    def choose(self, moment: Moment) -> Disturbance:
        """What happens now; once the path is over, further calls of the terminating tool do not count."""
        if self._over is not None:
            raise self._over
        try:
            return self._choose(moment)
        except BaseException as over:
            self._over = over
            raise

    def _choose(self, moment: Moment) -> Disturbance:
        at = len(self._taken)
        if at < len(self._branch):
            number = self._branch[at]
            self._taken.append(number)
            return moment.possible[number] if number else NOTHING
        seen = self._fingerprint(moment)
        if seen.whole in self._own:
            raise ViolationError("it comes back to where it was, and would never end")
        self._own.add(seen.whole)
        if self._search.is_followed(seen.whole, moment.life.world.budget):
            if not self._search.is_audited(seen.whole):
                raise _MetBefore
            self.is_audit = True
        elif self.is_audit:
            raise LossyFingerprintError("a state that was met before has led to one that was not")
        else:
            self._search.note_branches(self._start, bytes(self._taken), moment, seen, self._news(moment))
        self._taken.append(0)
        return NOTHING

    def _news(self, moment: Moment) -> frozenset[Disturbance]:
        """What can happen now, except what would have led to the same state before the last call."""
        life, choices, before = moment.life, moment.possible, self._before
        now_s = life.world.kafka.clock.monotonic()
        self._before = _Before(moment.method, frozenset(choices), now_s, life.processes[-1])
        touched = set(life.touched)
        life.touched.clear()
        if before is None or before.now_s != now_s or before.process is not life.processes[-1]:
            return self._before.choices
        return frozenset([c for c in choices if c not in before.choices or not commutes(c, before.method, touched)])

    def _fingerprint(self, moment: Moment) -> Fingerprint:
        life = moment.life
        processes = tuple([(p.host, p.has_read_configs, p.client.is_stopped) for p in life.processes])
        extra = (self._start.command.value, processes, moment.method)
        return fingerprint(life.world, moment.frame, life.journals, extra)


class Search:
    """Searches for a violation.

    Parameters
    ----------
    progress
        Where the search starts or continues; kept up to date.
    folder
        Folder for the files of the hosts; best in memory.
    most_states
        The search ends at this number of states, complete or not.
    most_seconds
        The search ends after this time, complete or not.
    one_in
        Follow only one in this many branches, deterministically: a sample in seconds.
    audit_one_in
        For one in this many states, follow a known state again: all that comes must be known too.
    """

    def __init__(
        self,
        progress: Progress,
        folder: Path,
        *,
        most_states: int | None = None,
        most_seconds: float = math.inf,
        one_in: int = 1,
        audit_one_in: int = 256,
        tell: Callable[[Figures], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._most_states = most_states
        self._most_seconds = most_seconds
        self._one_in = one_in
        self._audit_one_in = audit_one_in
        self._tell = tell
        self._progress = progress
        self.trail: list[str] = []
        """What led to the current state."""

    def run(self) -> Figures:
        """Follow all branches.

        Raises
        ------
        LossyFingerprintError
            If two different states have the same fingerprint.
        ViolationError
            At the first violation; ``trail`` lists what led to it.
        """
        figures, ends_at_s = self._progress.figures, time.monotonic() + self._most_seconds
        before_s = figures.seconds - time.process_time()
        while (waiting := self._next()) and not self._is_full(ends_at_s):
            self._follow(*waiting.pop())
            self._count(before_s + time.process_time())
        figures.is_complete = self._next() is None and self._one_in == 1
        return figures

    def _next(self) -> list[tuple[Start, bytes]] | None:
        """Branches with the largest budget first: states visited there need not be followed with a smaller one."""
        return next((waiting for waiting in reversed(self._progress.waiting) if waiting), None)

    def _is_full(self, ends_at_s: float) -> bool:
        is_enough = self._most_states is not None and len(self._progress.met) >= self._most_states
        return is_enough or time.monotonic() >= ends_at_s

    def _count(self, seconds: float) -> None:
        progress, figures = self._progress, self._progress.figures
        figures.lives += 1
        figures.states, figures.ends, figures.seconds = len(progress.met), len(progress.ended), seconds
        figures.waiting = [len(waiting) for waiting in progress.waiting]
        if figures.lives % 1000 == 0:
            self._tell(figures)

    def _follow(self, start: Start, branch: bytes) -> None:
        """Run a process along a branch and straight ahead, and record all other branches on the way."""
        path = _Path(self, start, branch)
        life = Life(World.unpack(start.packed), self._folder, path.choose)
        self.trail = life.trail
        life.trail += [*start.trail, f"{start.host}: {start.command}"]
        with suppress(_MetBefore):
            self._end(life, life.run(start.command, start.host), is_audit=path.is_audit)

    def is_followed(self, state: bytes, budget: int) -> bool:
        """Whether a state was visited with at least this budget; if not, record it."""
        if self._progress.met.get(state, -1) >= budget:
            return True
        self._progress.met[state] = budget
        return False

    def is_audited(self, state: bytes) -> bool:
        """Whether to continue from a known state, to check that all that comes is known too."""
        return state[2] % self._audit_one_in == 0

    def note_branches(
        self, start: Start, taken: bytes, moment: Moment, seen: Fingerprint, news: frozenset[Disturbance]
    ) -> None:
        """Record what else can happen at a new moment."""
        budget = moment.life.world.budget
        # what a dying process leaves does not depend on what it remembers
        has_died_here = len(moment.life.processes) == 1 and self._progress.left.get(seen.left, -1) >= budget
        self._progress.left.setdefault(seen.left, budget)
        for number, disturbance in enumerate(moment.possible):
            if number == 0 or disturbance not in news or (has_died_here and disturbance.kind is Kind.CRASH):
                continue
            if (seen.whole[0] + 256 * seen.whole[1] + number) % self._one_in == 0:
                self._progress.waiting[budget - cost(disturbance)].append((start, bytes((*taken, number))))

    def _end(self, life: Life, ending: Ending, *, is_audit: bool) -> None:
        """Check what a process left, and continue from there."""
        world = life.world
        leave(life, ending)
        found = find_left(world, self._folder)
        state = fingerprint(world, None, life.journals, (_of_run(found),)).whole
        if self._progress.ended.get(state, -1) >= world.budget:
            return
        if is_audit:
            raise LossyFingerprintError("a state that was met before has ended as none before")
        packed = world.pack()
        if state not in self._progress.ended:
            check_in_calm(packed, found, self._folder, life.trail)
        self._progress.ended[state] = world.budget
        if world.budget and found is not None and found.is_open:
            starts = [Start(packed, c, host, tuple(life.trail)) for c, host in NEXT_COMMANDS]
            self._progress.waiting[world.budget] += [(start, b"") for start in starts]


def _of_run(found: FoundRun | None) -> tuple[object, ...]:
    return () if found is None else (found.journal is None, *state_of_run(found.state))
