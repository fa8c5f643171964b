"""Commands on runs with nothing to do, and those that another process follows: what they report, and their JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kafkabal.clusters.simulated.cluster import InMemoryCluster
from kafkabal.errors import BusyError, ExitCode
from kafkabal.executor import RunEnvironment, find_run
from kafkabal.model.kafka_configs import LEADER_RATE
from tests.cli.simulated import SLOWLY, Simulation, half_empty_cluster, simulate


@pytest.fixture
def simulation(run_cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Simulation:
    """Two of four brokers are empty."""
    return simulate(half_empty_cluster(), run_cli, monkeypatch)


def test_json_of_a_command_with_nothing_to_do_is_a_document(simulation: Simulation) -> None:
    """A script that parses it finds no run, instead of an empty output."""
    assert simulation.run(*SLOWLY).code == 0
    run_id = json.loads(simulation.run("rebalance", "status", "-o", "json").out)["run_id"]
    assert simulation.run("rebalance", "rollback", run_id, "--yes").code == 0
    for words, goal in (
        (("resume", "--yes"), "roll-back"),
        (("cancel",), "cancel"),
        (("rollback", "--yes"), "roll-back"),
        (("repair",), "apply"),
    ):
        done = simulation.run("rebalance", *words, "-o", "json")
        document = json.loads(done.out)
        assert (done.code, document["run_id"], document["goal"]) == (0, None, goal), words


@pytest.mark.parametrize("words", [("resume",), ("cancel",), ("rollback",), ("repair",), ("adopt", "--finish")])
def test_a_command_with_nothing_to_do_updates_the_textfile(
    simulation: Simulation, tmp_path: Any, words: tuple[str, ...]
) -> None:
    """An unchanged file would describe an earlier failure."""
    assert simulation.run(*SLOWLY).code == 0
    run_id = json.loads(simulation.run("rebalance", "status", "-o", "json").out)["run_id"]
    assert simulation.run("rebalance", "rollback", run_id, "--yes").code == 0
    path = tmp_path / "run.prom"
    path.write_text("kafkabal_rebalance_success 0.0\n")
    answer = () if words == ("cancel",) else ("--yes",)
    assert simulation.run("rebalance", *words, *answer, "--textfile", str(path)).code == 0
    assert 'kafkabal_rebalance_success{cluster="simulated"} 1.0' in path.read_text()


@pytest.mark.parametrize(
    ("words", "code", "left"),
    [
        ((), ExitCode.FINDINGS, ["leader.replication.throttled.rate of broker 2: 1000000"]),
        (("--remove", "--yes"), 0, []),
    ],
)
def test_repair_writes_one_document(simulation: Simulation, words: tuple[str, ...], code: int, left: list[str]) -> None:
    """Throttles of unknown origin are in the JSON as long as they are set; the list of them is not beside it."""
    clock = simulation.memory.kafka.clock
    own = simulation.memory.kafka.parts.brokers[2].own_configs
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        simulation.run(*SLOWLY)
    simulation.run("rebalance", "cancel")
    own[LEADER_RATE] = "1000000"
    for _ in range(2):
        done = simulation.run("rebalance", "repair", *words, "-o", "json")
        document = json.loads(done.out)
        assert (done.code, document["left_throttles"]) == (code, left)
        own[LEADER_RATE] = "1000000"
    events = simulation.run("rebalance", "repair", *words, "-o", "jsonl").out.splitlines()
    assert all(json.loads(line) for line in events)
    assert clock


def test_json_of_a_dry_run_that_waits_for_a_broker_is_a_document(simulation: Simulation) -> None:
    """Nothing is planned before its grace has ended, and the exit code says why."""
    simulation.memory.kafka.kill(4)
    shown = simulation.run("rebalance", "--dry-run", "-o", "json")
    document = json.loads(shown.out)
    assert (shown.code, document["requests"], document["moves"]) == (ExitCode.FINDINGS, [], [])


def _keep_out_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the next command find the lock taken."""
    take = InMemoryCluster.lock

    def refuse(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(InMemoryCluster, "lock", take)
        raise BusyError("cluster locked by another")

    monkeypatch.setattr(InMemoryCluster, "lock", refuse)


def test_a_cancelled_run_that_leaves_a_throttle_is_not_waited_for(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dead broker keeps the throttle of the run that another process cancels: that is the answer (1), not 75."""
    kafka, clock = simulation.memory.kafka, simulation.memory.kafka.clock
    began_s = clock.monotonic()
    clock.at(began_s + 10, lambda: kafka.kill(4))
    clock.at(began_s + 20, lambda: simulation.run("rebalance", "cancel", "--wait", "1s"))
    assert "still set: replication rates of broker 4" in simulation.run(*SLOWLY).err
    _keep_out_once(monkeypatch)
    asked_s = clock.monotonic()
    done = simulation.run("rebalance", "cancel", "-o", "json")
    assert (done.code, clock.monotonic() - asked_s < 30) == (ExitCode.FAILED, True), done.err
    assert "has ended: its reassignments are cancelled; still set: replication rates of broker 4" in done.err
    assert json.loads(done.out)["left_throttles"]


def test_a_cancelled_run_that_leaves_a_reassignment_is_not_called_cancelled(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With no previous replica in sync it cannot be cancelled: it is named, and a resume ends it."""
    kafka, clock = simulation.memory.kafka, simulation.memory.kafka.clock
    began_s = clock.monotonic()
    for broker in (1, 2):
        clock.at(began_s + 10, lambda broker=broker: kafka.kill(broker))
    clock.at(began_s + 20, lambda: simulation.run("rebalance", "cancel", "--wait", "1s"))
    assert "still in flight" in simulation.run(*SLOWLY).err
    _keep_out_once(monkeypatch)
    done = simulation.run("rebalance", "cancel")
    assert done.code == ExitCode.FAILED
    assert "has ended: its reassignments are cancelled, except img-0" in done.err
    assert "hint: continue with 'kafkabal rebalance resume" in done.err


def test_a_run_that_completed_before_it_was_cancelled_is_not_called_cancelled(
    simulation: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its moves are done, so the operator must not believe that they were taken back."""
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        simulation.run(*SLOWLY)

    def ask_too_late(environment: RunEnvironment, **_: Any) -> str:
        assert simulation.run("rebalance", "resume", "--yes").code == 0
        found = find_run(environment)
        assert found is not None
        return found.record.run_id

    monkeypatch.setattr("kafkabal.executor.request_cancel", ask_too_late)
    _keep_out_once(monkeypatch)
    done = simulation.run("rebalance", "cancel")
    assert done.code == 0, done.err
    assert "has ended: complete before it read the request; all throttles restored" in done.err


def test_a_cancelled_run_has_nothing_to_resume(simulation: Simulation) -> None:
    """It says so, with what to do instead; a rollback needs no name, since the run is not complete."""
    with simulation.crashing_when(lambda: simulation.memory.kafka.catch_up().moving):
        simulation.run(*SLOWLY)
    assert simulation.run("rebalance", "cancel").code == 0
    resumed = simulation.run("rebalance", "resume", "--yes", "-o", "json")
    document = json.loads(resumed.out)
    assert (resumed.code, document["goal"], document["planned_partitions"]) == (0, "cancel", 0)
    assert document["headline"].endswith(" is cancelled: nothing to resume")
    assert "nothing to resume; make a new plan with 'kafkabal rebalance " in resumed.err
    assert "cancelled" in simulation.run("rebalance", "history").out
    assert simulation.run("rebalance", "rollback", "--yes").code == 0
