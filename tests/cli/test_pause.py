"""A run that an operator has paused, and the commands that meet it."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from kafkabal.cli.commands.rebalance import pause
from kafkabal.clusters import LockRequest
from kafkabal.clusters.simulated.cluster_parts import SimulatedLock
from kafkabal.errors import ExitCode
from tests.cli.simulated import SLOWLY, Crash, Simulation, half_empty_cluster, simulate


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Two of four brokers are empty."""
    return simulate(half_empty_cluster(), run_cli, monkeypatch)


@pytest.mark.parametrize("words", [("--yes", "-q"), ("--dry-run",), ("rollback",)])
def test_who_meets_a_paused_run_is_told_so(simulation: Simulation, words: tuple[str, ...]) -> None:
    """Exit 75 names the paused run, when it paused, and the commands that end the pause, instead of advice to wait."""
    clock, met = simulation.memory.kafka.clock, []
    begin_s = clock.monotonic()
    clock.at(begin_s + 10, lambda: simulation.run("rebalance", "pause", "--wait", "1s"))
    clock.at(begin_s + 60, lambda: met.append(simulation.run("rebalance", *words)))
    clock.at(begin_s + 70, lambda: met.append(simulation.run("rebalance", "resume", "--yes")))
    assert simulation.run(*SLOWLY).code == ExitCode.DONE

    busy, resumed = met
    error, hint = busy.err.splitlines()
    assert (busy.code, resumed.code) == (ExitCode.BUSY, ExitCode.DONE)
    run_id = resumed.err.split()[1]
    assert error.startswith(f"kafkabal: error: run {run_id} is paused, since 2026-01-01T00:00:13Z or earlier: cluster ")
    assert "locked by " in error
    there = "--bootstrap-server simulated:9092"
    commands = [f"'kafkabal rebalance {word} {there}'" for word in ("resume", "cancel")]
    assert hint.endswith(f"continue with {commands[0]}, or end it with {commands[1]}")


def test_a_pause_that_comes_too_late_says_so(simulation: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that ends before it reads the request is not paused: the message does not read as if it were."""
    clock, met = simulation.memory.kafka.clock, []
    monkeypatch.setattr(pause, "poll_run", lambda *_: iter([None]))
    clock.at(clock.monotonic() + 10, lambda: met.append(simulation.run("rebalance", "pause")))
    simulation.run(*SLOWLY, "--max-runtime", "20s")

    late = met[0]
    assert (late.code, late.err.splitlines()[-1].split(" ", 2)[2]) == (ExitCode.DONE, "ended before it paused")


def test_a_run_that_moves_is_waited_for(simulation: Simulation) -> None:
    """As long as nothing is paused, only the holder of the lock is named."""
    clock, met = simulation.memory.kafka.clock, []
    clock.at(clock.monotonic() + 60, lambda: met.append(simulation.run("rebalance", "--yes", "-q")))
    assert simulation.run(*SLOWLY).code == ExitCode.DONE
    assert (met[0].code, "paused" in met[0].err) == (ExitCode.BUSY, False)
    assert met[0].err.startswith("kafkabal: error: cluster locked by ")


def _while_paused(simulation: Simulation, *commands: tuple[str, ...]) -> list[Any]:
    """Results of commands, and how long each took, while a run is paused; the last one must resume it."""
    clock, found = simulation.memory.kafka.clock, []

    def run_all() -> None:
        for words in commands:
            began_s = clock.monotonic()
            found.append((simulation.run("rebalance", *words), clock.monotonic() - began_s))

    began_s = clock.monotonic()
    clock.at(began_s + 10, lambda: simulation.run("rebalance", "pause", "--wait", "1s"))
    clock.at(began_s + 60, run_all)
    assert simulation.run(*SLOWLY).code == ExitCode.DONE
    return found


def test_a_paused_run_is_asked_to_resume_before_it_is_waited_for(simulation: Simulation) -> None:
    """It keeps its lock as long as it is paused. With --wait the command ends with 75 unless the run has resumed."""
    (waiting, _), (cron, _), (resumed, _) = _while_paused(
        simulation, ("resume", "--yes", "--wait", "5s"), ("--yes", "-q"), ("resume", "--yes", "-o", "json")
    )
    assert (waiting.code, "is still paused; it resumes as soon as" in waiting.err) == (ExitCode.BUSY, True)
    assert (cron.code, "is paused" in cron.err) == (ExitCode.BUSY, False)  # the pause is over, the run not yet
    assert (resumed.code, resumed.out) == (ExitCode.BUSY, "")


def test_json_of_a_resume_that_another_process_follows(simulation: Simulation) -> None:
    """It is a document that says so."""
    ((resumed, _),) = _while_paused(simulation, ("resume", "--yes", "-o", "json"))
    assert resumed.code == ExitCode.DONE, resumed.err
    assert "was paused: asked it to resume" in json.loads(resumed.out)["headline"]


def _die_while_paused(simulation: Simulation) -> None:
    """Let a run be paused, and its process be killed a minute later."""
    clock = simulation.memory.kafka.clock
    began_s = clock.monotonic()
    clock.at(began_s + 10, lambda: simulation.run("rebalance", "pause", "--wait", "1s"))
    with simulation.crashing_when(lambda: clock.monotonic() > began_s + 60):
        simulation.run(*SLOWLY)


def test_a_paused_run_whose_process_has_just_died_is_resumed_here(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lock outlives it by a session: a command that may wait gets no answer, and then takes the lock over."""
    _die_while_paused(simulation)
    session = iter([True, True, False])
    monkeypatch.setattr("kafkabal.cli.commands.rebalance.resume._is_held", lambda _: next(session))
    resumed = simulation.run("rebalance", "resume", "--yes", "--wait", "2m")
    assert (resumed.code, "asked it to resume" in resumed.err) == (ExitCode.DONE, True), resumed.err
    assert "partitions moved" in resumed.out


@pytest.mark.parametrize("options", [("--throttle", "1MB"), ("--throttle", "1MB", "--max-runtime", "2s")])
def test_options_for_a_run_that_resumes_in_its_own_process_are_refused(
    simulation: Simulation, options: tuple[str, ...]
) -> None:
    """That process keeps its options: the pause goes on until the command is given without them."""
    (refused, _), (still, _), (resumed, _) = _while_paused(
        simulation, ("resume", "--yes", *options), ("--yes", "-q"), ("resume", "--yes")
    )
    assert (refused.code, still.code, resumed.code) == (ExitCode.USAGE, ExitCode.BUSY, ExitCode.DONE)
    assert "--throttle would have no effect" in refused.err
    assert "is paused" in still.err


@pytest.mark.parametrize(("answer", "code"), [({"stdin": "n\n"}, ExitCode.FAILED), ({}, ExitCode.USAGE)])
def test_a_resume_that_is_not_confirmed_does_not_end_the_pause(
    simulation: Simulation, answer: dict[str, str], code: ExitCode
) -> None:
    """Nothing has changed, as the command says: the next cron job still leaves the paused run alone."""
    _die_while_paused(simulation)
    assert simulation.run("rebalance", "resume", **answer).code == code
    cron = simulation.run("rebalance", "--yes", "-q")
    assert (cron.code, "is paused, and its process has ended" in cron.err) == (ExitCode.BUSY, True), cron.err
    assert simulation.run("rebalance", "resume", "--yes").code == ExitCode.DONE
    assert simulation.run("rebalance", "--yes", "-q").code == ExitCode.DONE


def _killed_run(simulation: Simulation) -> None:
    """A run whose process has just been killed: to others it seems to hold the lock until its session expires."""
    clock = simulation.memory.kafka.clock
    sleep = clock.sleep

    def die(seconds: float) -> None:
        sleep(seconds)
        if simulation.memory.kafka.catch_up().moving:
            raise Crash

    clock.sleep = die  # type: ignore[method-assign]
    assert simulation.run(*SLOWLY).code == ExitCode.FAILED
    clock.sleep = sleep  # type: ignore[method-assign]
    dead: Any = SimpleNamespace(is_stopped=True)
    locks = simulation.memory.kafka.parts.locks
    locks[""] = SimulatedLock("kafkabal on another host (process 1)", dead, clock.monotonic(), 30.0, "")


def test_a_cancel_takes_over_from_a_process_that_has_died(simulation: Simulation) -> None:
    """Its request is not read: once the session of the dead process has expired, it cancels the run itself."""
    _killed_run(simulation)
    clock = simulation.memory.kafka.clock
    began_s = clock.monotonic()
    done = simulation.run("rebalance", "cancel")
    assert (done.code, clock.monotonic() - began_s < 40.0) == (ExitCode.DONE, True), done.err
    assert "asked it to cancel" in done.err
    assert "all its reassignments are cancelled; all throttles restored" in done.out
    assert not simulation.memory.kafka.catch_up().moving


def test_a_pause_of_a_run_whose_process_has_died_is_refused(simulation: Simulation) -> None:
    """Once the session of the dead process has expired, no process is left that could pause."""
    _killed_run(simulation)
    refused = simulation.run("rebalance", "pause")
    assert (refused.code, "no active run to pause" in refused.err) == (ExitCode.USAGE, True), refused.err


@pytest.mark.parametrize("request_", ["cancel", "pause"])
def test_a_request_before_the_run_has_begun(simulation: Simulation, request_: str) -> None:
    """A process that holds the lock and is still planning will begin a run: the command ends with 75."""
    simulation.memory.connect("other").lock(LockRequest("kafkabal on two (process 7)", 30.0))
    refused = simulation.run("rebalance", request_)
    assert refused.code == ExitCode.BUSY, refused.err
    assert "kafkabal on two (process 7); it has not begun a run yet" in refused.err
    assert "hint: run the same command again in a few seconds" in refused.err
