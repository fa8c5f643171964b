"""Checks what a process has left behind, and whether people can continue from there."""

from __future__ import annotations

from pathlib import Path

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import KafkabalError
from kafkabal.executor.reopen_run import RunClosedError
from kafkabal.executor.run_environment import RunEnvironment
from kafkabal.executor.state.find_run import FoundRun, find_run
from kafkabal.executor.state.run_states import Goal, RunOutcome
from tools.model_check.invariants import (
    ViolationError,
    check_as_before,
    check_at_rest,
    check_never_moved,
    check_planned,
    check_restored,
    check_throttles,
)
from tools.model_check.process_life import Command, Ending, Life
from tools.model_check.world import World, read_files

NEXT_COMMANDS = (
    (Command.RESUME, "one"),
    (Command.RESUME, "two"),
    (Command.ROLL_BACK, "one"),
    (Command.CANCEL, "one"),
)
"""What people do after a process has ended, on its host or on another one without a journal."""


def leave(life: Life, ending: Ending) -> None:
    """Check what a process left on the cluster, then wait until its lock has expired."""
    world = life.world
    life.trail.append(str(ending.error or ending.result or "died"))
    check_throttles(world, life.folder)
    if ending.result is not None and not ending.result.pending:
        check_restored(world)
    world.end_session()
    world.files = read_files(life.folder)
    world.is_output_gone = world.is_disk_full = False


def find_left(world: World, folder: Path) -> FoundRun | None:
    """The run as the next process finds it."""
    client = InMemoryCluster(world.kafka, name="next")
    try:
        return find_run(RunEnvironment(cluster=client, state_dir=folder / "one", clock=world.kafka.clock))
    except KafkabalError as error:
        raise ViolationError(f"what is left of the run cannot be read: {error}") from error


def check_in_calm(packed: bytes, found: FoundRun | None, folder: Path, trail: list[str]) -> None:
    """Check that, if nothing else goes wrong, the run can be resumed, rolled back and cancelled in any state."""
    for command, host in NEXT_COMMANDS:
        world = World.unpack(packed)
        world.calm()
        life = Life(world, folder, lambda moment: moment.possible[0])
        trail.append(f"in calm, {host}: {command}")
        ending = life.run(command, host)
        trail.append(str(ending.error or ending.result))
        _check_outcome(world, found, ending)
        check_restored(world)
        check_at_rest(world)
        del trail[-2:]


def _check_outcome(world: World, found: FoundRun | None, ending: Ending) -> None:
    if found is None or not found.state.has_begun:
        check_never_moved(world)
    elif isinstance(ending.error, RunClosedError):
        if found.state.outcome is RunOutcome.COMPLETE and found.state.goal is Goal.APPLY:
            check_planned(world, found.record, is_led=False)
    elif ending.error is not None:
        raise ViolationError(f"it cannot be done: {ending.error}")
    elif ending.result is not None and ending.result.goal is Goal.ROLL_BACK:
        check_as_before(world, found.record)
    elif ending.result is not None and ending.result.goal is Goal.APPLY:
        check_planned(world, found.record, is_led=True)
