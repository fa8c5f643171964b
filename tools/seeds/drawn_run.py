"""One drawn run: a plan is applied while things go wrong, people resume or undo it, and in the end nothing is amiss."""

from __future__ import annotations

from pathlib import Path
from random import Random

from tools.model_check.aftermath import NEXT_COMMANDS, check_in_calm, find_left, leave
from tools.model_check.disturbances import NOTHING, Disturbance
from tools.model_check.invariants import ViolationError
from tools.model_check.tool_life import Command, Life, Moment
from tools.seeds.draw_world import draw_world

_MOST_DISTURBANCES = 6
_MOST_LIVES = 4


def drawn_run(seed: int, folder: Path) -> str:
    """Run a seed; what was violated and how it came about, empty if nothing was."""
    random = Random(seed)
    world = draw_world(random, disturbances=random.randint(0, _MOST_DISTURBANCES))
    likelihood = random.choice((0.02, 0.05, 0.15))

    def choose(moment: Moment) -> Disturbance:
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
        check_in_calm(world.pack(), found, folder, trail)
    except ViolationError as violation:
        return "\n".join([*trail, f"violated: {violation}"])
    return ""
