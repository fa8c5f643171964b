"""One random run: a plan is applied with disturbances, people resume or undo it, and in the end all is well."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tools.model_check.crash_aftermath import NEXT_COMMANDS, check_in_calm, find_left, leave
from tools.model_check.disturbances import NOTHING, Disturbance
from tools.model_check.invariants import ViolationError
from tools.model_check.process_life import Command, Life, Moment
from tools.seeds.draw_world import draw_world

_MOST_DISTURBANCES = 6
_MOST_LIVES = 4
FIRST_WITH_CLOCKS = 10_001
"""Smaller seeds draw no clock steps: seeds that have failed before must stay the same."""
FIRST_WITH_LATE_REQUESTS = 700_001
"""The same for requests that a suspended process sends late, and for a rollback by another host meanwhile."""
_HOSTS = ("one", "two")
_CLOCKS_OFF_S = (-86_400.0, -3_600.0, -1.0, 0.0, 1.0, 3_600.0, 86_400.0)


class _Clocks:
    """Steps the clocks of hosts now and then, and lets people use either host; separate from a seed's other draws."""

    def __init__(self, seed: int) -> None:
        self._random = Random(f"clocks of {seed}")
        self._likelihood = self._random.choice((0.0, 0.01, 0.05)) if seed >= FIRST_WITH_CLOCKS else 0.0

    def step(self, life: Life) -> None:
        """Step a clock, perhaps."""
        if self._likelihood and self._random.random() < self._likelihood:
            host, seconds = self._random.choice(_HOSTS), self._random.choice(_CLOCKS_OFF_S)
            life.world.clocks_off_s[host] = seconds
            life.trail.append(f"{host}: clock is wrong by {seconds:+.0f} s")

    def host(self, host: str) -> str:
        """The host on which the next command runs."""
        return self._random.choice(_HOSTS) if self._likelihood else host


def drawn_run(seed: int, folder: Path) -> str:
    """Run a seed; returns what was violated and what led to it, or an empty text."""
    random = Random(seed)
    world = draw_world(random, disturbances=random.randint(0, _MOST_DISTURBANCES))
    world.has_late_requests = seed >= FIRST_WITH_LATE_REQUESTS
    likelihood = random.choice((0.02, 0.05, 0.15))
    clocks = _Clocks(seed)

    def choose(moment: Moment) -> Disturbance:
        clocks.step(moment.life)
        others = moment.possible[1:]
        return random.choice(others) if others and random.random() < likelihood else NOTHING

    command, host, trail = Command.APPLY, "one", [f"seed {seed}"]
    try:
        for _ in range(_MOST_LIVES):
            life = Life(world, folder, choose)
            life.trail = trail
            trail.append(f"{host}: {command}")
            leave(life, life.run(command, host))
            found = find_left(world, folder)
            if found is None or not found.is_open:
                break
            command, host = random.choice(NEXT_COMMANDS)
            host = clocks.host(host)
        check_in_calm(world.pack(), found, folder, trail)
    except ViolationError as violation:
        return "\n".join([*trail, f"violated: {violation}"])
    return ""
