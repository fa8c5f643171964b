"""Depth first through everything that can happen, each state once.

A process cannot be copied in the middle of what it does, so every branch is run from the beginning of its process, by
the choices that lead to it; from there on it goes straight ahead until it comes to a state that was met before. A
process that has ended has left nothing but the cluster and its files: what comes next begins from those.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from kafkabal.executor.state.find_run import FoundRun
from tools.model_check.aftermath import NEXT_COMMANDS, check_in_calm, find_left, leave
from tools.model_check.disturbances import NOTHING, Disturbance
from tools.model_check.fingerprint import fingerprint, state_of_run
from tools.model_check.tool_life import Command, Ending, Life, Moment
from tools.model_check.world import World, first_world


class _MetBefore(BaseException):
    """A state that was followed already."""


@dataclass
class Figures:
    """How far the search is."""

    states: int = 0
    lives: int = 0
    ends: int = 0
    """Different states in which a process left the cluster; each was resumed, rolled back and cancelled in calm."""
    waiting: int = 0
    is_complete: bool = False
    seconds: float = 0.0


@dataclass(slots=True)
class _Start:
    """A process that is to be started."""

    packed: bytes
    command: Command
    host: str
    trail: tuple[str, ...]
    branches: list[tuple[int, ...]] = field(default_factory=lambda: [()])


class Search:
    """Looks for a violation.

    Parameters
    ----------
    budget
        How many disturbances may happen on one path.
    folder
        Where the hosts keep their files; best in memory.
    most_states
        The search ends at this number, complete or not.
    one_in
        Follow only one in so many branches, the same ones each time: a sample of everything in seconds.
    """

    def __init__(
        self,
        budget: int,
        folder: Path,
        *,
        most_states: int | None = None,
        one_in: int = 1,
        tell: Callable[[Figures], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._most_states = most_states
        self._one_in = one_in
        self._tell = tell
        self._met: set[bytes] = set()
        self._ended: set[bytes] = set()
        self._starts = [_Start(first_world(budget).pack(), Command.APPLY, "one", ())]
        self.figures = Figures()
        self.trail: list[str] = []
        """What led to the state that is followed now."""

    def run(self) -> Figures:
        """Follow everything.

        Raises
        ------
        ViolationError
            At the first violation; ``trail`` says how it came about.
        """
        began_s = time.monotonic()
        while self._starts:
            start = self._starts[-1]
            if not start.branches:
                self._starts.pop()
                continue
            if self._most_states is not None and len(self._met) >= self._most_states:
                break
            self._follow(start, start.branches.pop())
            self._count(time.monotonic() - began_s)
        self.figures.is_complete = not self._starts and self._one_in == 1
        return self.figures

    def _count(self, seconds: float) -> None:
        figures = self.figures
        figures.lives += 1
        figures.states, figures.ends, figures.seconds = len(self._met), len(self._ended), seconds
        figures.waiting = sum(len(s.branches) for s in self._starts)
        if figures.lives % 1000 == 0:
            self._tell(figures)

    def _follow(self, start: _Start, branch: tuple[int, ...]) -> None:
        """Run a process along a branch and straight on, and note every other branch on the way."""
        taken: list[int] = []

        def choose(moment: Moment) -> Disturbance:
            at = len(taken)
            if at < len(branch):
                taken.append(branch[at])
                return moment.possible[branch[at]]
            life = moment.life
            extra = (
                start.command.value,
                tuple((p.host, p.has_read_configs, p.client.is_stopped) for p in life.processes),
                moment.method,
            )
            state = fingerprint(life.world, moment.frame, extra)
            if state in self._met:
                raise _MetBefore
            self._met.add(state)
            start.branches += [
                (*taken, i)
                for i in range(len(moment.possible) - 1, 0, -1)
                if (state[0] + 256 * state[1] + i) % self._one_in == 0
            ]
            taken.append(0)
            return NOTHING

        life = Life(World.unpack(start.packed), self._folder, choose)
        self.trail = life.trail
        life.trail += [*start.trail, f"{start.host}: {start.command}"]
        with suppress(_MetBefore):
            self._end(life, life.run(start.command, start.host))

    def _end(self, life: Life, ending: Ending) -> None:
        """Check what a process left, and begin from there."""
        world = life.world
        leave(life, ending)
        found = find_left(world, self._folder)
        state = fingerprint(world, None, (_of_run(found),))
        if state in self._ended:
            return
        self._ended.add(state)
        packed = world.pack()
        check_in_calm(packed, found, self._folder, life.trail)
        if world.budget and found is not None and found.is_open:
            self._starts += [_Start(packed, c, host, tuple(life.trail)) for c, host in NEXT_COMMANDS]


def _of_run(found: FoundRun | None) -> tuple[object, ...]:
    return () if found is None else (found.journal is None, *state_of_run(found.state))
